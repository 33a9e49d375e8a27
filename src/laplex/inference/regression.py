"""Regressions: how words differ with several columns at once, by a formula.

Every coefficient of the formula is tested given all others (`partial_scores.py`). The size of a factor's level is how
different the word is from the first level, that of a number how much it changes over one standard deviation, and that
of several columns together how different two units typically are by them; all in the units of a contrast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from laplex.errors import InputError, quote
from laplex.inference.coefficients import CoefficientQuestion, formula_questions
from laplex.inference.covariates import Covariates
from laplex.inference.design import Design
from laplex.inference.findings import COLUMNS
from laplex.inference.formulas import formula_columns
from laplex.inference.units import Options, Units, check_unit, design_units, documents_at
from laplex.text.tokens import Tokens

REGRESSION_COLUMNS = [
    *COLUMNS[:4],
    "standard_error",
    *COLUMNS[4:],
]  # of a table; "value" is the term, "against" the level


def regression(
    tokens: Tokens,
    formula: str,
    terms: Sequence[str] | None,
    options: Options,
    language: int,
    at: Mapping[str, Any],
) -> tuple[Options, Units, list[CoefficientQuestion]]:
    """The options with the unit in force, the units, and a question for every coefficient of the terms of a formula."""
    documents = documents_at(tokens, language, at)
    columns = formula_columns(formula.strip(), tokens)
    if options.unit is None and tokens.unit in columns:
        raise InputError(
            f'"{tokens.unit}" is the unit of this text, which cannot explain how its words differ: leave it out of the '
            'formula, or name another unit, as fitted.inference(unit="documents") does'
        )
    options = options.with_unit(tokens, columns)
    for column in columns:
        check_unit(options.unit, column)
    design = Design.of(Covariates(tokens, documents), formula)
    units = design_units(tokens, documents, design.cell, len(design.matrix), options.unit)
    known = list(dict.fromkeys(coefficient.term for coefficient in design.coefficients))
    if unknown := [term for term in terms or () if term not in known]:
        raise InputError(f'the formula "{formula}" has no term "{unknown[0]}"; it has {quote(known, 12)}')
    return options, units, formula_questions(design, units, tokens, options.unit, terms or known)
