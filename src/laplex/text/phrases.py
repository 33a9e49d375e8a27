"""Which multiword expressions of a corpus are words: those of a list, those that are found in the text, or both."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from laplex.errors import InputError, check_int, quote
from laplex.text.files import open_text
from laplex.text.spelling import compose
from laplex.text.tokenizer import Tokenizer
from laplex.text.vocabulary import Vocabulary

MAX_WORDS = 4  # of a phrase that is found
SHOWN = 5  # phrases in a message
VERSION = 1  # of how phrases are found, a part of the key of the cache

Listed = str | tuple[str, ...]
Words = tuple[str, ...]


class Phrases:
    """Settings of the phrases that `lx.read` makes words of.

    Found are sequences of words that stand together far more often than by chance, by their normalized pointwise mutual
    information (NPMI; 0 for words that are independent, 1 for those that never occur without each other). They neither
    begin nor end with a function word, and up to two prepositions or articles may stand within them (department of
    defense). Punctuation is not seen, but no phrase reaches from one document into the next.

    Args:
        listed: Phrases to join wherever they occur, besides those that are found: strings, tuples of words, or a text
            file with one phrase per line.
        find: Whether to find phrases in the text.
        min_count: How often a phrase must occur to be found. It must also occur often enough for the vocabulary.
        threshold: The smallest NPMI of a phrase that is found; more phrases are found with a lower one.
        longest: The largest number of words of a phrase that is found, 2 to 4.
        function_words: The words that may stand within a phrase, but not at its ends. By default the package's lists
            of German, English, Spanish, French, Italian, Dutch and Portuguese; no words in other languages.

    Example:
        >>> import laplex as lx
        >>> rows = [{"text": "Human rights, human-rights law and the\\nHuman   Rights Act"}]
        >>> corpus = lx.read(rows, phrases=lx.Phrases(["human rights"], find=False))
        >>> lx.Tokens.of(corpus, min_count=1, quiet=True).vocabularies[0].words
        ('human_rights', 'act', 'and', 'law', 'the')
    """

    def __init__(
        self,
        listed: str | os.PathLike[str] | Iterable[Listed] = (),
        *,
        find: bool = True,
        min_count: int = 10,
        threshold: float = 0.5,
        longest: int = MAX_WORDS,
        function_words: Iterable[str] | None = None,
    ) -> None:
        if isinstance(function_words, str):
            raise InputError(f'function_words is a list of words: write function_words=["{function_words}"]')
        self.listed, self.find = _listed(listed), find
        self.min_count, self.longest = check_int("min_count", min_count, 2), check_int("longest", longest, 2)
        if self.longest > MAX_WORDS:
            raise InputError(f"longest={longest}: phrases of up to {MAX_WORDS} words are found; list longer ones")
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not -1 <= threshold <= 1:
            raise InputError(f"threshold={threshold!r} is no NPMI: write a number from −1 to 1, such as 0.5")
        self.threshold = float(threshold)
        self.function_words = None if function_words is None else tuple(sorted(map(compose, function_words)))
        if not (self.listed or find):
            raise InputError("the list of phrases is empty: write phrases=True to find phrases in the text")

    @classmethod
    def of(cls, value: Any) -> Phrases | None:
        """The settings that a user passed as `phrases`."""
        if value is None or value is False:
            return None
        if isinstance(value, cls):
            return value
        return cls() if value is True else cls(value, find=False)

    @property
    def identity(self) -> str:
        """A string that is equal for settings with the same phrases."""
        found = [self.min_count, self.threshold, self.longest, self.function_words] if self.find else None
        return json.dumps([VERSION, self.listed, found])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Phrases) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def __repr__(self) -> str:
        listed = [f"{len(self.listed):,} listed"] if self.listed else []
        settings = [f"min_count={self.min_count}, threshold={self.threshold:g}, longest={self.longest}"]
        return f"Phrases({', '.join([*listed, *(settings if self.find else ['find=False'])])})"


def _listed(source: Any) -> tuple[Listed, ...]:
    """The phrases of a list or a file, each once."""
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if not path.exists() and " " in path.name.strip():
            raise InputError(f'phrases is a list, or a file with one phrase per line: write phrases=["{source}"]')
        with open_text(path, "utf-8-sig") as (file, _):
            source = [line.strip() for line in file]
    if not isinstance(source, Iterable):
        raise InputError(
            f"phrases={source!r}: write True, a list of phrases, a file with one per line, or lx.Phrases(...)"
        )
    phrases: dict[Listed, None] = {}
    for phrase in source:
        words: list[Any] = (
            [phrase] if isinstance(phrase, str) else list(phrase) if isinstance(phrase, (list, tuple)) else [None]
        )
        if not words or not all(isinstance(word, str) for word in words):
            raise InputError(f"phrases= holds {phrase!r}, which is neither text nor a tuple of words")
        if any(word.strip() for word in words):
            phrases[compose(phrase) if isinstance(phrase, str) else tuple(map(compose, words))] = None
    return tuple(phrases)


def words_of_phrases(listed: Iterable[Listed], tokenizers: Iterable[Tokenizer], *, lists: bool) -> list[set[Words]]:
    """The words of each phrase as the text may have them: split by its tokenizers, and as written if it is `lists`."""
    phrases = list(listed)
    words: list[set[Words]] = [set() if isinstance(phrase, str) else {phrase} for phrase in phrases]
    texts = [phrase.replace("_", " ") if isinstance(phrase, str) else "" for phrase in phrases]
    for tokenizer in tokenizers:
        for known, split in zip(words, tokenizer.split(pl.Series(texts, dtype=pl.String)).to_list()):
            known |= {tuple(split)}
    if lists:
        for known, text in zip(words, texts):
            known |= {tuple(text.split())}
    return [{each for each in known if len(each) > 1} for known in words]


def phrases_in_words(facts: Mapping[str, Any], vocabularies: Sequence[Vocabulary]) -> list[str]:
    """What became of the phrases of a text, as lines for the user.

    Args:
        facts: What tokens keep about them in their settings.
        vocabularies: Those of the text.

    Returns:
        A line about the phrases that were found, and one about those that were listed, if any were.
    """
    lines = []
    frequent = [
        f"{name} ({known.counts[known[name]]:,})" for known in vocabularies for name in [*known.phrases][:SHOWN]
    ]
    if facts.get("found"):
        lines.append(f"{facts['found']:,} phrases found, such as {quote(frequent, SHOWN)}")
    elif "found" in facts:
        lines.append(
            f"no phrase found by {facts.get('sought')}: there may be too little text. Lower min_count= or threshold= "
            "in lx.Phrases(...), or list phrases"
        )
    if listed := int(facts.get("listed", 0)):
        absent, rare = (int(facts.get(f"number_{name}", 0)) for name in ("absent", "rare"))
        line = f"{listed - absent - rare:,} of {listed:,} listed phrases are words"
        for name, number, reason in (("absent", absent, "not in the text"), ("rare", rare, "too rare to be words")):
            if number:
                line += f"; {reason}: {quote(facts.get(name, []), SHOWN)}" + (" …" if number > SHOWN else "")
        lines.append(line)
    return lines
