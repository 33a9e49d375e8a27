"""Words: how a text is split into them, and the vocabulary of a language.

By default a text is split as in the paper: lower case, runs of letters and digits, accents kept, all else dropped.
Word ids run from the most frequent word down, ties by the alphabet, so that the same text always gives the same ids.
V words.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from itertools import repeat
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from laplex.errors import InputError

# With marks, which belong to letters in many scripts (Hindi vowel signs) and are the accents of decomposed Unicode.
WORDS = r"[\p{L}\p{M}\p{N}]+"

Rule = str | Callable[[str], Iterable[str]] | None


class Tokenizer:
    """Splits texts into words, by a regular expression whose matches are the words or by a function."""

    def __init__(self, rule: Rule = None, lowercase: bool = True) -> None:
        if isinstance(rule, str):
            try:
                pl.Series([""]).str.extract_all(rule)
            except pl.exceptions.PolarsError as error:
                raise InputError(f"the tokenizer {rule!r} is not a regular expression: {error}") from None
        elif rule is not None and not callable(rule):
            raise InputError(f"a tokenizer is a regular expression or a function, not {type(rule).__name__}")
        self.lowercase = lowercase
        self._rule = WORDS if rule is None else rule
        self.identity = f"{lowercase} {_function_identity(rule) if callable(rule) else self._rule}"

    def split(self, texts: pl.Series) -> pl.Series:
        """A list of words for each text. Of texts that are lists of words already, only empty words are dropped."""
        if isinstance(texts.dtype, pl.List):
            return _without_empty(texts)
        if self.lowercase:
            texts = texts.str.to_lowercase()
        if not isinstance(self._rule, str):
            return pl.Series([_words_by(self._rule, text) for text in texts], dtype=pl.List(pl.String))
        words = texts.str.extract_all(self._rule)
        return words if self._rule == WORDS else _without_empty(words)

    def counts(self, texts: pl.Series) -> pl.Series:
        """The number of words of each text."""
        if self._rule == WORDS and texts.dtype == pl.String:
            return (texts.str.to_lowercase() if self.lowercase else texts).str.count_matches(WORDS)
        return self.split(texts).list.len()


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


class Vocabulary:
    """The words of one language: word ↔ id, and how often each occurs.

    `vocabulary["tax"]` is the id of a word; `"tax" in vocabulary`, `len(vocabulary)` and iteration work as for a list.

    Args:
        words: Each word once; its place is its id.
        counts: (V) How often each word occurs.
        language: The name of the language, empty if there is only one.

    Example:
        >>> Vocabulary(["tax", "war"], np.array([3, 2]))["war"]
        1
    """

    def __init__(self, words: Sequence[str], counts: NDArray[np.int64], language: str = "") -> None:
        if len(words) != len(counts):
            raise ValueError(f"{len(words)} words, {len(counts)} counts")
        self.words = tuple(words)
        try:
            "".join(words).encode()
        except UnicodeEncodeError as error:  # half characters (surrogates), which no table, file or terminal can hold
            word = next(word for word in words if error.object[error.start] in word)
            raise InputError(f"the word {word!r} holds half a character (a surrogate): leave it out") from None
        if len(set(self.words)) < len(self.words):
            repeated = next(word for word, count in Counter(self.words).items() if count > 1)
            raise InputError(f'the word "{repeated}" is there more than once: a vocabulary has each word once')
        self.counts = counts
        self.language = language

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def __getitem__(self, word: str) -> int:
        """The id of a word."""
        try:
            return self._ids[word]
        except KeyError:
            close = self.close(word)
            instead = f"; close to it are {', '.join(close)}" if close else ""
            raise InputError(f'"{word}" is not in the vocabulary ({len(self):,} words){instead}') from None

    def ids(self, words: Sequence[str]) -> NDArray[np.int64]:
        """The ids of several words.

        Args:
            words: The words, known or not.

        Returns:
            Their ids, −1 for words that are not in the vocabulary.

        Example:
            tokens.vocabularies[0].ids(["health", "care"])
        """
        return np.fromiter(map(self._ids.get, words, repeat(-1)), np.int64, len(words))

    def close(self, word: str, most: int = 3) -> list[str]:
        """Find words with a similar spelling, for a message about an unknown word.

        Args:
            word: The unknown word.
            most: The largest number of words to return.

        Returns:
            The words, most similar first.

        Example:
            tokens.vocabularies[0].close("helth")
        """
        folded = {known.casefold(): known for known in reversed(self.words)}  # of equal ones the more frequent
        return [folded[match] for match in get_close_matches(word.casefold(), folded, most, 0.7)]

    def __repr__(self) -> str:
        of = f" of {self.language}" if self.language else ""
        return f"Vocabulary{of}: {len(self):,} words, {self.counts.sum():,} tokens, from {' '.join(self.words[:5])} …"

    def subsampling(self, threshold: float = 1e-3) -> NDArray[np.float32]:
        """The probability that an occurrence of a word is kept: min(1, √(t/f) + t/f), f its share of the tokens.

        This is the formula of word2vec's code, which differs from that of its paper.

        Args:
            threshold: The t of the formula; 0 keeps everything.

        Returns:
            (V) The probabilities.

        Example:
            tokens.vocabularies[0].subsampling(1e-4)
        """
        if threshold < 0:
            raise InputError(f"a subsampling threshold of {threshold} is negative: give 0 (keep all) to 1")
        if threshold == 0:
            return np.ones(len(self), np.float32)
        ratio = threshold * self.counts.sum() / np.maximum(self.counts, 1)
        kept: NDArray[np.float32] = np.minimum(1.0, np.sqrt(ratio) + ratio).astype(np.float32)
        return kept

    def noise(self, power: float = 0.75) -> NDArray[np.float64]:
        """The distribution of negative samples (paper, Eq. 6).

        Args:
            power: The exponent of the counts.

        Returns:
            (V) The probabilities.

        Example:
            tokens.vocabularies[0].noise()
        """
        weights: NDArray[np.float64] = self.counts.astype(np.float64) ** power
        weights /= weights.sum()
        return weights
