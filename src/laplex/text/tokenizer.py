"""How a text is split into words.

The default is for text in any language that is written with spaces: runs of letters and digits, in lower case, with
accents. An apostrophe within a word stays ("don't"), the possessive is taken off ("people's" is "people", "senators'"
is "senators"), French and Italian articles are words of their own ("l'homme" is "l homme"), and the thousands of a
number are joined ("1,000" is "1000"). The rule of the paper, by the name "paper", knows no apostrophes and no commas:
"don't" is "don t". Under every rule the text is first put into the composed form of Unicode (NFC).
"""

from __future__ import annotations

import hashlib
import re
import secrets
import sysconfig
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import polars as pl

from laplex.errors import InputError, quote
from laplex.text.spelling import CANDIDATES, CONTRACTED, ELIDED, LETTER, UNUSUAL, composed, composed_lists, words_of

PAPER = rf"{LETTER}+"
NAMED_RULES = {"paper": PAPER}

FUNCTION, LISTS = "a function", "lists of words"  # what settings say of text that no regular expression splits

Rule = str | Callable[[str], Iterable[str]] | None


class Tokenizer:
    """Splits texts into words, by the default rule, a regular expression whose matches are the words, or a function.

    Attributes:
        rule: What was given: None for the default, "paper", a regular expression or a function.
        lowercase: Whether text is made lower case first.
        identity: A string that is equal for tokenizers that give the same words.
        finishes: Whether matches become words by `words_of`; otherwise they are words as they are.
    """

    def __init__(self, rule: Rule = None, lowercase: bool = True) -> None:
        self._rule = CANDIDATES if rule is None else NAMED_RULES.get(rule, rule) if isinstance(rule, str) else rule
        if isinstance(self._rule, str):
            try:
                pl.Series([""]).str.extract_all(self._rule)
            except pl.exceptions.PolarsError as error:
                names = quote(NAMED_RULES)
                raise InputError(
                    f"the tokenizer {rule!r} is neither a name ({names}) nor a regular expression: {error}"
                ) from None
        elif not callable(rule):
            raise InputError(f"a tokenizer is a regular expression or a function, not {type(rule).__name__}")
        self.rule, self.lowercase, self.finishes = rule, lowercase, rule is None
        described = _function_identity(rule) if callable(rule) else self._rule
        lists = f" {sorted(CONTRACTED)} {sorted(ELIDED)}" if self.finishes else ""
        self.identity = f"{lowercase} {described}{lists}"

    def split(self, texts: pl.Series) -> pl.Series:
        """A list of words for each text."""
        words = self.matches(texts)
        if not self.finishes or isinstance(texts.dtype, pl.List):
            return words
        unusual = texts.str.contains(UNUSUAL).arg_true()
        if len(unusual):
            known: dict[str, list[str]] = {}
            finished = [
                [word for match in row for word in known.get(match) or known.setdefault(match, words_of(match))]
                for row in words.gather(unusual).to_list()
            ]
            rows = np.arange(len(words))
            rows[unusual] = len(words) + np.arange(len(unusual))
            words = pl.concat([words, pl.Series(finished, dtype=words.dtype)]).gather(rows)
        return words

    def matches(self, texts: pl.Series) -> pl.Series:
        """A list of matches for each text, which are the words unless `finishes`.

        Of texts that are lists of words already, empty words are dropped.
        """
        if isinstance(texts.dtype, pl.List):
            return _without_empty(composed_lists(texts))
        texts = composed(texts.str.to_lowercase() if self.lowercase else texts)
        if not isinstance(self._rule, str):
            words = pl.Series([_words_by(self._rule, text) for text in texts], dtype=pl.List(pl.String))
            return composed_lists(words)
        words = texts.str.extract_all(self._rule)
        return words if self.rule is None or self.rule == "paper" else _without_empty(words)

    def counts(self, texts: pl.Series) -> pl.Series:
        """The number of words of each text."""
        if self._rule not in (CANDIDATES, PAPER) or texts.dtype != pl.String:
            return self.split(texts).list.len()
        counts = composed(texts.str.to_lowercase() if self.lowercase else texts).str.count_matches(self._rule)
        if self.finishes:  # only matches with an apostrophe or a comma can be several words
            unusual = texts.str.contains(UNUSUAL).arg_true()
            counts = counts.scatter(unusual, self.split(texts.gather(unusual)).list.len())
        return counts


def _words_by(function: Callable[[str], Iterable[str]], text: str) -> list[str]:
    result = function(text)
    words = [] if isinstance(result, str) else list(result)
    if isinstance(result, str) or not all(isinstance(word, str) for word in words):
        raise InputError(
            f"the tokenizer must return a list of strings; for {text[:40]!r} it returned {repr(result)[:80]}"
        )
    return [word for word in words if word]


def _without_empty(words: pl.Series) -> pl.Series:
    return words.list.eval(pl.element().filter(pl.element().is_not_null() & (pl.element() != "")))


def _function_identity(function: object) -> str:
    """A string that is the same for the same function in every run: its code and the values of the names in it.

    A callable without such a form (a closure, say) gets a new identity each time, so that no stale cache is reused.
    """
    if not isinstance(function, FunctionType):
        return secrets.token_hex(16)
    try:
        text = repr(_as_data(function, function.__module__, ()))
    except (TypeError, RecursionError):
        return secrets.token_hex(16)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
    return f"{function.__module__}.{function.__qualname__} {digest.hexdigest()}"


def _as_data(value: Any, module: str, outer: tuple[object, ...]) -> Any:
    """A value as plain data, the same in every run; TypeError if it has no such form.

    Functions of `module` are written out, those of others are named; `outer` are those that are being written out.
    """
    if value is None or isinstance(value, (str, bytes, int, float)):
        return value
    if isinstance(value, re.Pattern):
        return [value.pattern, value.flags]
    if isinstance(value, (list, tuple, dict)):
        return [_as_data(item, module, outer) for item in (value.items() if isinstance(value, dict) else value)]
    if isinstance(value, (set, frozenset)):
        return sorted(repr(_as_data(item, module, outer)) for item in value)
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, CodeType):
        return [value.co_code, value.co_names, _as_data(value.co_consts, module, outer)]
    if isinstance(value, (FunctionType, type)) and (value.__module__ != module or value in outer):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, FunctionType) and value.__closure__ is None:
        used = {name: value.__globals__[name] for name in _names(value.__code__) if name in value.__globals__}
        if value.__code__.co_filename.startswith(sysconfig.get_path("purelib")):
            used = {}  # the values of an installed library do not change
        parts = [value.__code__, value.__defaults__, value.__kwdefaults__, used]
        return _as_data(parts, module, (*outer, value))
    raise TypeError(f"{type(value).__name__} has no plain form")


def _names(code: CodeType) -> list[str]:
    """Every name in a piece of code and in the functions within it, sorted."""
    inner = [name for constant in code.co_consts if isinstance(constant, CodeType) for name in _names(constant)]
    return sorted({*code.co_names, *inner})
