"""How a text becomes a list of words.

By default as in the paper: lower case, runs of letters and digits, accents kept, all else dropped. Scripts that
write no spaces between words (Chinese, Japanese, Thai, ...) are not split here: tokenise them first with a tool
for that language and pass the column of lists as `text`.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import sysconfig
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any

import polars as pl

from laplex.errors import InputError

# Marks belong to letters in many scripts (Hindi vowel signs), and in decomposed Unicode accents are marks.
WORDS = r"[\p{L}\p{M}\p{N}]+"

Rule = str | Callable[[str], Iterable[str]] | None


class Tokenizer:
    """`rule` is a regular expression whose matches are the words, or a function from a text to its words."""

    def __init__(self, rule: Rule = None, lowercase: bool = True) -> None:
        if isinstance(rule, str):
            try:
                pl.Series([""]).str.extract_all(rule)
            except pl.exceptions.PolarsError as error:
                raise InputError(f"the tokenizer {rule!r} is not a regular expression: {error}") from None
        elif rule is not None and not callable(rule):
            raise InputError(f"a tokenizer is a regular expression or a function, not {type(rule).__name__}")
        self.lowercase = lowercase
        self._pattern = rule if isinstance(rule, str) else WORDS
        self._function = rule if callable(rule) else None
        self.identity = f"{lowercase} {_identity(rule) if callable(rule) else self._pattern}"

    def split(self, texts: pl.Series) -> pl.Series:
        """One list of words for each text. Texts that are lists of words already are only rid of empty ones."""
        if isinstance(texts.dtype, pl.List):
            return _without_empty(texts)
        if self.lowercase:
            texts = texts.str.to_lowercase()
        if self._function is not None:
            return pl.Series([self._call(text) for text in texts], dtype=pl.List(pl.String))
        words = texts.str.extract_all(self._pattern)
        return words if self._pattern == WORDS else _without_empty(words)

    def counts(self, texts: pl.Series) -> pl.Series:
        """How many words each text has."""
        if self._function is None and self._pattern == WORDS and texts.dtype == pl.String:
            return (texts.str.to_lowercase() if self.lowercase else texts).str.count_matches(WORDS)
        return self.split(texts).list.len()

    def _call(self, text: str) -> list[str]:
        assert self._function is not None
        given = self._function(text)
        words = [] if isinstance(given, str) else list(given)
        if isinstance(given, str) or not all(isinstance(word, str) for word in words):
            raise InputError(f"the tokenizer must give a list of strings; for {text[:40]!r} it gave {repr(given)[:80]}")
        return [word for word in words if word]


def _without_empty(words: pl.Series) -> pl.Series:
    return words.list.eval(pl.element().filter(pl.element().is_not_null() & (pl.element() != "")))


def _identity(function: object) -> str:
    """What tells two functions apart from one run to the next: their code and the values of the names in it.

    What closes over other values, uses an object that cannot be written down, or is no function, cannot be
    recognised: it gets a new identity each time, so that nothing stale is ever reused.
    """
    if isinstance(function, FunctionType) and function.__closure__ is None:
        try:
            text = repr(_written(function, function.__module__, ()))
        except (TypeError, RecursionError):
            return secrets.token_hex(16)
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
        return f"{function.__module__}.{function.__qualname__} {digest.hexdigest()}"
    return secrets.token_hex(16)


def _written(value: Any, home: str, inside: tuple[object, ...]) -> Any:
    """A value as plain data, the same in every run. TypeError if it has no such form.

    Functions of the module `home` are written out, those of others named; `inside` are the ones being written.
    """
    if value is None or isinstance(value, (str, bytes, int, float)):
        return value
    if isinstance(value, re.Pattern):
        return [value.pattern, value.flags]
    if isinstance(value, (list, tuple)):
        return [_written(item, home, inside) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(repr(_written(item, home, inside)) for item in value)
    if isinstance(value, dict):
        return [_written(item, home, inside) for item in value.items()]
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, CodeType):
        return [value.co_code, value.co_names, _written(value.co_consts, home, inside)]
    if isinstance(value, (FunctionType, type)) and (value.__module__ != home or value in inside):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, FunctionType) and value.__closure__ is None:
        used = {name: value.__globals__[name] for name in _names(value.__code__) if name in value.__globals__}
        if value.__code__.co_filename.startswith(sysconfig.get_path("purelib")):
            used = {}  # an installed library keeps its values
        parts = [value.__code__, value.__defaults__, value.__kwdefaults__, used]
        return _written(parts, home, (*inside, value))
    raise TypeError(f"{type(value).__name__} has no written form")


def _names(code: CodeType) -> list[str]:
    """Every name in a piece of code and in those inside it, in order."""
    inner = [name for constant in code.co_consts if isinstance(constant, CodeType) for name in _names(constant)]
    return sorted({*code.co_names, *inner})
