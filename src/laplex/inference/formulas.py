"""Formulas: which columns they name, and that they have nothing else.

A formula is evaluated as Python by formulaic, so it may have columns, numbers, operators and a few functions only.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from laplex.errors import InputError, quote
from laplex.text.tokens import Tokens

FUNCTIONS = ("C", "s", "log")  # that a formula may have
_QUOTED_NAME = re.compile("`([^`]*)`")


def formula_of(columns: str | Sequence[str]) -> str:
    """A formula, or a list of columns as one."""
    if isinstance(columns, str):
        if not columns.strip().startswith("~"):
            raise InputError(f'the formula "{columns}" does not begin with "~": write "~ party + year", or a list')
        return columns
    return "~ " + " + ".join(f"`{name}`" for name in columns)


def formula_columns(text: str, tokens: Tokens) -> list[str]:
    """The columns that a formula names, in the order of the text's columns."""
    from formulaic import Formula
    from formulaic.errors import FormulaicError
    from formulaic.parser.types import Factor

    try:
        formula = Formula(text)
        terms = list(formula)
    except (FormulaicError, SyntaxError) as error:
        raise InputError(f'the formula "{text}" cannot be read: {str(error).splitlines()[0]}') from None
    if not all(hasattr(term, "factors") for term in terms):
        raise InputError(f'the formula "{text}" has a left side: what is explained is always the word')
    names: set[str] = set()
    for factor in {factor for term in terms for factor in term.factors}:
        expression, is_name = str(factor.expr), factor.eval_method is Factor.EvalMethod.LOOKUP
        found = [expression] if is_name else names_in(expression)
        if found is None or (not is_name and expression in found):  # "{party}" is Python as well
            raise InputError(
                f'"{expression}" is not allowed in a formula: it may have columns, +, *, :, and {quote(FUNCTIONS)}'
            )
        names.update(found)
    if unknown := sorted(names - set(tokens.columns)):
        known = quote(tokens.columns, 12)
        raise InputError(f'the formula "{text}" names "{unknown[0]}", which is no column; there are {known}')
    if not names:
        raise InputError(f'the formula "{text}" names no column; there are {quote(tokens.columns, 12)}')
    return [name for name in tokens.columns if name in names]


def names_in(expression: str) -> list[str] | None:
    """The columns of an expression in a formula; None if it has anything else but numbers and known functions."""
    quoted = _QUOTED_NAME.findall(expression)
    plain = _QUOTED_NAME.sub(lambda match: f"column_{quoted.index(match[1])}_", expression)
    try:
        tree = ast.parse(plain, mode="eval").body
    except SyntaxError:
        return None
    if isinstance(tree, ast.Constant):
        return []
    inner: list[ast.expr] = [tree]
    if isinstance(tree, ast.Call):
        allowed = isinstance(tree.func, ast.Name) and tree.func.id in FUNCTIONS and len(tree.args) in (1, 2)
        if not allowed or not all(isinstance(k.value, ast.Constant) for k in tree.keywords):
            return None
        if not all(isinstance(argument, ast.Constant) for argument in tree.args[1:]):
            return None
        inner = tree.args[:1]
    if not isinstance(inner[0], ast.Name):
        return None
    name = inner[0].id
    return [quoted[int(name.split("_")[1])] if plain != expression and name.startswith("column_") else name]
