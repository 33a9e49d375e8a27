"""How a text is split into words.

The default is for text in any language that is written with spaces: runs of letters and digits, in lower case, with
accents. An apostrophe within a word stays ("don't"), the possessive is taken off ("people's" is "people", "senators'"
is "senators"), French and Italian articles are words of their own ("l'homme" is "l homme"), and the thousands of a
number are joined ("1,000" is "1000"). The rule of the paper, by the name "paper", knows no apostrophes and no commas:
"don't" is "don t". Under every rule the text is first put into the composed form of Unicode (NFC). `lemmas.py` has the
tokenizers that give lemmas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import polars as pl

from laplex.errors import InputError, quote
from laplex.text.identity import function_identity
from laplex.text.lemmas import SIMPLEMMA, SPACY, Lemmatizer, Pipeline, is_pipeline
from laplex.text.spelling import CANDIDATES, CONTRACTED, ELIDED, LETTER, UNUSUAL, composed, composed_lists, words_of

PAPER = rf"{LETTER}+"
NAMED_RULES = {"paper": PAPER}

FUNCTION, LISTS = "a function", "lists of words"  # what settings say of text that no regular expression splits

Rule = str | Callable[[str], Iterable[str]] | None


class Tokenizer:
    """Splits texts into words: by the default rule, a regular expression, a function, or with lemmas.

    Attributes:
        rule: What was given: None for the default, "paper", a regular expression whose matches are the words, a
            function, "simplemma:en" for the lemmas of the default rule's words, or a pipeline of spaCy or its name.
        lowercase: Whether words are made lower case.
        identity: A string that is equal for tokenizers that give the same words.
        finishes: Whether matches become words by `words_of`; otherwise they are words as they are.
        pipeline: The pipeline of spaCy that splits the text, if there is one.
        reads_lower_case: Whether text is made lower case before it is split.
    """

    def __init__(self, rule: Rule = None, lowercase: bool = True, tags: bool = False) -> None:
        self.rule, self.lowercase = rule, lowercase
        self._lemmatizer: Lemmatizer | None = None
        self.pipeline: Pipeline | None = None
        name = rule if isinstance(rule, str) else ""
        if name.startswith(SPACY) or is_pipeline(rule):
            self.pipeline = Pipeline(name.removeprefix(SPACY) or rule, tags)
        elif tags:
            raise InputError('tags=True (--tags) needs spaCy, such as tokenizer="spacy:en_core_web_sm"')
        if name.startswith(SIMPLEMMA):
            self._lemmatizer = Lemmatizer(name.removeprefix(SIMPLEMMA))
        self.finishes = rule is None or self._lemmatizer is not None
        self._rule = CANDIDATES if self.finishes else NAMED_RULES.get(name, rule)
        self._check_rule()
        self.reads_lower_case = lowercase and self._lemmatizer is None and self.pipeline is None
        self.identity = f"{lowercase} {self._describe()}"

    def _check_rule(self) -> None:
        if self.rule in (SIMPLEMMA.rstrip(":"), SPACY.rstrip(":")):
            example = "simplemma:en" if self.rule in SIMPLEMMA else "spacy:en_core_web_sm"
            raise InputError(f'tokenizer="{self.rule}" does not say which language: write "{example}", for example')
        if isinstance(self._rule, str) and self.pipeline is None:
            try:
                pl.Series([""]).str.extract_all(self._rule)
            except pl.exceptions.PolarsError as error:
                names = quote([*NAMED_RULES, SIMPLEMMA + "en", SPACY + "en_core_web_sm"])
                raise InputError(
                    f"the tokenizer {self.rule!r} is neither a name ({names}) nor a regular expression: {error}"
                ) from None
        elif not callable(self.rule) and self.pipeline is None:
            raise InputError(f"a tokenizer is a regular expression or a function, not {type(self.rule).__name__}")

    def _describe(self) -> str:
        if self.pipeline is not None:
            return self.pipeline.identity
        described = function_identity(self._rule) if callable(self._rule) else str(self._rule)
        described += f" {sorted(CONTRACTED)} {sorted(ELIDED)}" if self.finishes else ""
        return described if self._lemmatizer is None else f"{described} {self._lemmatizer.identity}"

    @property
    def described(self) -> str | None:
        """What settings say of the rule, from which it can be made again unless it begins with FUNCTION."""
        if self.pipeline is not None:
            return f"{FUNCTION}: {self.pipeline.name}"
        return FUNCTION if callable(self.rule) else self.rule

    def words_of(self, match: str) -> list[str]:
        """The words of a match, as many as `spelling.words_of` gives."""
        words = words_of(match)
        if self._lemmatizer is not None:
            words = [self._lemmatizer(word) for word in words]
            words = [word.lower() for word in words] if self.lowercase else words
        return words

    def unusual(self, texts: pl.Series) -> pl.Series:
        """Which texts or matches may have words that are not simply matches."""
        return texts.str.contains(UNUSUAL if self._lemmatizer is None else "")

    def split(self, texts: pl.Series) -> pl.Series:
        """A list of words for each text."""
        words = self.matches(texts)
        if not self.finishes or isinstance(texts.dtype, pl.List):
            return words
        unusual = self.unusual(texts).arg_true()
        if len(unusual):
            known: dict[str, list[str]] = {}
            finished = [
                [word for match in row for word in known.get(match) or known.setdefault(match, self.words_of(match))]
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
        if self.pipeline is not None:
            return self.located(texts)[0]
        texts = composed(texts.str.to_lowercase() if self.reads_lower_case else texts)
        if not isinstance(self._rule, str):
            assert callable(self._rule)
            words = pl.Series([_words_by(self._rule, text) for text in texts], dtype=pl.List(pl.String))
            return composed_lists(words)
        words = texts.str.extract_all(self._rule)
        return words if self.rule is None or self.rule == "paper" else _without_empty(words)

    def located(self, texts: pl.Series) -> tuple[pl.Series, pl.Series]:
        """A list of words for each text, and where they stand in it for `lemmas.word_places`; by a pipeline only."""
        assert self.pipeline is not None
        return self.pipeline.words(composed(texts), self.lowercase)

    def counts(self, texts: pl.Series) -> pl.Series:
        """The number of words of each text."""
        if self._rule not in (CANDIDATES, PAPER) or texts.dtype != pl.String:
            return self.split(texts).list.len()
        if self._lemmatizer is not None:  # a lemma for each word
            return Tokenizer(None, self.lowercase).counts(texts)
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
