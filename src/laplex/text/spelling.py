"""One spelling for one word: Unicode in its composed form, and what apostrophes and commas within words mean.

The default tokenizer matches CANDIDATES, runs of letters and digits that may hold apostrophes, and commas between
digits. `words_of` turns each different candidate into words, once, so that none of this costs time per token.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from laplex.runtime import lazy

if TYPE_CHECKING:
    import polars as pl
else:
    pl = lazy.module("polars")


# With marks, which belong to letters in many scripts (Hindi vowel signs) and are the accents of decomposed Unicode.
LETTER = r"[\p{L}\p{M}\p{N}]"
CANDIDATES = rf"[0-9]+(?:,[0-9]+)+{LETTER}*(?:['’]{LETTER}+)*|{LETTER}+(?:['’]{LETTER}+)*"
UNUSUAL = "['’,]"  # in candidates that are not simply words
# English words before 's where it is short for "is", "has" or "us"; after others it is the possessive
_BEFORE_S = "he here how it let she that there what when where who why"
CONTRACTED = frozenset(_BEFORE_S.split())
# French, Italian and Catalan words that lose their vowel before another word
_BEFORE_VOWELS = (
    "c d j jusqu l lorsqu m n puisqu qu quoiqu s t v "
    "all anch coll com cos dall dell dov mezz nell nessun nient quell quest sant senz sull tutt un"
)
ELIDED = frozenset(_BEFORE_VOWELS.split())
# A superset of the characters that another one can combine with or that have another composed form
MAYBE_DECOMPOSED = (
    r"[\p{M}\u{0340}-\u{0387}\u{0900}-\u{0FFF}\u{1100}-\u{11FF}\u{1F00}-\u{2001}\u{2126}-\u{212B}\u{2329}\u{232A}"
    r"\u{2ADC}\u{F900}-\u{FB4F}\u{11000}-\u{1D1FF}\u{2F800}-\u{2FA1F}]"
)

NOUNS = frozenset(["NOUN", "PROPN"])  # no function word has these tags: the noun of "a will" is none
# The universal parts of speech, as in attack_NOUN
_TAGS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SPACE SYM VERB X"
_TAGGED = re.compile(rf"(.+)_({_TAGS.replace(' ', '|')})", re.DOTALL)
_NUMBER = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])")
_VOWELS = frozenset("aeiouyhæœ")


def compose(text: str) -> str:
    """A text in the composed form of Unicode (NFC), in which é is one character.

    >>> len("e\\u0301"), len(compose("e\\u0301"))
    (2, 1)
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def composed(texts: pl.Series) -> pl.Series:
    """Texts in the composed form of Unicode. Only those that may be in another are rewritten, since that is slow."""
    doubtful = (texts.str.len_bytes() != texts.str.len_chars()).arg_true()
    if len(doubtful):
        some = texts.gather(doubtful)
        changing = some.str.contains(MAYBE_DECOMPOSED)
        if changing.any():
            texts = texts.clone().scatter(doubtful.filter(changing), some.filter(changing).str.normalize("NFC"))
    return texts


def composed_lists(words: pl.Series) -> pl.Series:
    """Lists of words in the composed form of Unicode."""
    each = words.explode()
    if each.str.len_bytes().sum() == each.str.len_chars().sum() or not each.str.contains(MAYBE_DECOMPOSED).any():
        return words
    return words.list.eval(pl.element().str.normalize("NFC"))


def words_of(candidate: str) -> list[str]:
    """The words of a match of CANDIDATES, all but a few of which are one word.

    "1,000" is 1000, "1,2" two numbers; "people's" is people, but "it's" stays; "l'homme" is l and homme.
    """
    if "," in candidate:
        number = _NUMBER.match(candidate)
        if number is None:
            return [word for part in candidate.split(",") for word in words_of(part)]
        candidate = number[0].replace(",", "") + candidate[number.end() :]
    word = candidate.replace("’", "'")
    before, apostrophe, rest = word.partition("'")
    if not apostrophe:
        return [word]
    if before.casefold() in ELIDED and unicodedata.normalize("NFD", rest)[0].casefold() in _VOWELS:
        return [before, *words_of(rest)]
    stem, _, ending = word.rpartition("'")
    if ending.casefold() != "s" or stem.casefold() in CONTRACTED:
        return [word]
    return [stem + ending] if stem[-1].isdecimal() else words_of(stem)


def split_tag(word: str) -> tuple[str, str]:
    """A word without its part of speech, and the part of speech, empty if it has none.

    >>> split_tag("attack_NOUN"), split_tag("human_rights")
    (('attack', 'NOUN'), ('human_rights', ''))
    """
    tagged = _TAGGED.fullmatch(word)
    return (tagged[1], tagged[2]) if tagged else (word, "")
