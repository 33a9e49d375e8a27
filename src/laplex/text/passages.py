"""Passages: what stands around an occurrence of a word in the original text, with case and punctuation.

An occurrence is known by its document and its position among the words of the vocabulary, which are all that tokens
keep. The original is split into words once more, by the rule that the tokens were made with, and the words of the
vocabulary are counted off until the position is reached. A pipeline of spaCy has said where its words stand. Where the
rule is another function, which is not saved, the words are searched for in the text in their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray

from laplex.errors import InputError, check_int
from laplex.text.lemmas import SPACY, word_places
from laplex.text.spelling import composed, words_of
from laplex.text.tokenizer import FUNCTION, LISTS, Tokenizer
from laplex.text.tokens import Tokens
from laplex.text.vocabulary import Vocabulary

CHARACTERS_PER_WORD = 15  # that a passage has at most, for scripts without spaces
_WORD = re.compile(r"\S+")
_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"\S{3,}[.!?…][\"'”’»)\]]*")  # with three characters before, since "Mr." ends none

Ints = NDArray[np.int64]
Spans = list[tuple[int, int]]  # where the words of the vocabulary begin and end, in characters
_Piece = tuple[str, int, int]  # a word, and where it begins and ends
_Pieces = list[_Piece]  # of a match


def passages_at(
    tokens: Tokens, documents: Sequence[int] | Ints, positions: Sequence[int] | Ints, *, words: int = 12
) -> pd.DataFrame:
    """Show occurrences of words in the original text.

    Args:
        tokens: The tokens of the corpus, made with their originals.
        documents: (n) The number of the document of each occurrence.
        positions: (n) Its index into `tokens.document(d)`, that is, among the words of the vocabulary.
        words: About how many words to show on each side; a passage rather begins or ends with a sentence.

    Returns:
        A frame with the columns document, position, before, word and after, in the order given. `before + word + after`
        is the passage: `word` as it stands there, white space collapsed. If the words of a document cannot be found in
        its text, the passage has the words of the vocabulary instead, with spaces between them.

    Example:
        >>> import laplex as lx
        >>> tokens = lx.Tokens.of(lx.read([{"text": "The War, he said, was over."}]), min_count=1, quiet=True)
        >>> passages_at(tokens, [0], [1])[["before", "word", "after"]].values.tolist()
        [['The ', 'War', ', he said, was over.']]
    """
    words = check_int("words", words)
    rows = []
    for document, place, (text, start, end) in zip(documents, positions, spans_at(tokens, documents, positions)):
        rows.append((int(document), int(place), *_cut(text, start, end, words)))
    return pd.DataFrame(rows, columns=["document", "position", "before", "word", "after"])


def spans_at(
    tokens: Tokens, documents: Sequence[int] | Ints, positions: Sequence[int] | Ints
) -> Iterator[tuple[str, int, int]]:
    """The text of the document of each occurrence, and the characters from which and to which the word stands there."""
    where, places = np.asarray(documents, np.int64), np.asarray(positions, np.int64)
    unique, index = np.unique(where, return_inverse=True)
    texts = tokens.texts_and_places(unique)  # checks the documents
    wrong = (places < 0) | (places >= np.diff(tokens.offsets)[where]) if len(where) else np.zeros(0, bool)
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise InputError(f"document {where[first]} has no word {places[first]} of the vocabulary")
    last = np.zeros(len(unique), np.int64)
    np.maximum.at(last, index, places)
    found = _find(tokens, unique, texts, last)
    for place, number in zip(places.tolist(), index.tolist(), strict=True):
        text, spans = found[number]
        yield (text, *spans[place])


def _find(tokens: Tokens, documents: Ints, texts: list[tuple[str | None, str]], last: Ints) -> list[tuple[str, Spans]]:
    """For each document a text to show, and where its words up to the position `last` stand in it."""
    found: list[tuple[str, Spans] | None] = [None] * len(documents)
    for tokenizer, language, numbers in _alike(tokens, documents):
        vocabulary = tokens.vocabularies[language]
        pieces = _PiecesOfMatches(vocabulary, tokenizer)
        originals = pl.Series([texts[i][0] or "" for i in numbers], dtype=pl.String)
        shown, read, matches = _split(originals, tokenizer)
        for i, original, text, each in zip(numbers, shown, read, matches, strict=True):
            if texts[i][0] is None:
                continue
            ids = tokens.document(int(documents[i]))[: last[i] + 1].tolist()
            words = [vocabulary.words[k] for k in ids]
            said = word_places(texts[i][1]) if texts[i][1] else None
            if said is not None and (spans := _spans_said(original, said, words, pieces)) is not None:
                found[i] = (original, spans)
                continue
            spans = None if each is None else _spans(pieces.located(text, each), words, vocabulary)
            spans = spans or _search(text, words, vocabulary)
            if spans is not None:
                found[i] = (original if len(original) == len(text) else text, spans)
    return [each or _words_alone(tokens, int(document)) for each, document in zip(found, documents, strict=True)]


def _alike(tokens: Tokens, documents: Ints) -> Iterator[tuple[Tokenizer | None, int, list[int]]]:
    """Indices of documents with one tokenizer and one language; None if it is a function, or is not known."""
    rules = tokens.settings.get("tokenizers", [])
    try:
        ends = np.cumsum([int(rule["documents"]) for rule in rules], dtype=np.int64)
        made = [_tokenizer_of(rule) for rule in rules]
    except (TypeError, KeyError, ValueError, OverflowError):  # of someone else's tokens
        ends, made = np.zeros(0, np.int64), []
    kinds = np.searchsorted(ends, documents, "right")
    cells = kinds * len(tokens.vocabularies) + tokens.languages[documents]
    for cell in np.unique(cells).tolist():
        kind, language = divmod(cell, len(tokens.vocabularies))
        yield made[kind] if kind < len(made) else None, language, np.flatnonzero(cells == cell).tolist()


def _tokenizer_of(settings: Mapping[str, Any]) -> Tokenizer | None:
    rule = settings["rule"]
    if isinstance(rule, str) and rule.startswith((FUNCTION, LISTS, SPACY)):
        return None
    try:
        return Tokenizer(rule, bool(settings["lowercase"]))
    except InputError:  # simplemma is not installed here
        return None


def _split(texts: pl.Series, tokenizer: Tokenizer | None) -> tuple[list[str], list[str], list[list[str] | None]]:
    """The texts to show, as they are read, and their matches; a function's words are searched for in lower case."""
    shown, lower = composed(texts), composed(texts.str.to_lowercase())
    if tokenizer is None:
        return shown.to_list(), lower.to_list(), [None] * len(texts)
    read = lower if tokenizer.reads_lower_case else shown
    return shown.to_list(), read.to_list(), tokenizer.matches(texts).to_list()


class _PiecesOfMatches(dict[str, _Pieces]):
    """The words of each match that are in the vocabulary or in a phrase, and where in it they stand.

    A word that is alone in its match is all of it.
    """

    def __init__(self, vocabulary: Vocabulary, tokenizer: Tokenizer | None) -> None:
        super().__init__()
        self.vocabulary, self._tokenizer = vocabulary, tokenizer
        self._parts = {part for phrase in vocabulary.phrases.values() for part in phrase}

    def __missing__(self, match: str) -> _Pieces:
        forms, words = [match], [match]
        if self._tokenizer is not None and self._tokenizer.finishes:
            forms, words = words_of(match), self._tokenizer.words_of(match)
        plain = match.replace("’", "'")
        pieces, end = [], 0
        for form, word in zip(forms, words, strict=True):
            start = plain.find(form, end)
            alone = len(words) == 1 or start < 0
            end = end if alone else start + len(form)
            if self.counts(word):
                pieces.append((word, 0, len(match)) if alone else (word, start, end))
        self[match] = pieces
        return pieces

    def counts(self, word: str) -> bool:
        """Whether a word is in the vocabulary or in a phrase."""
        return word in self.vocabulary or word in self._parts

    def located(self, text: str, matches: list[str]) -> Iterator[_Piece]:
        """The pieces of consecutive matches, and where in the text they stand, up to a match that is not there."""
        end = 0
        for match in matches:
            start = text.find(match, end)
            if start < 0:
                return
            end = start + len(match)
            for word, first, last in self[match]:
                yield word, start + first, start + last


def _spans(located: Iterator[_Piece], words: list[str], vocabulary: Vocabulary) -> Spans | None:
    """Where the words stand that are made of pieces; None if these are not the words."""
    spans: Spans = []
    ahead: list[_Piece] = []
    for word in words:
        parts = vocabulary.phrases.get(word, (word,))
        while True:
            ahead += islice(located, max(len(parts) - len(ahead), 0))
            found = [piece for piece, _, _ in ahead[: len(parts)]]
            if not found:
                return None
            if found == [*parts] or found[0] == word:
                break
            if found[0] in vocabulary:
                return None
            del ahead[0]  # a word that is too rare, except within phrases
        used = 1 if found[0] == word else len(parts)
        spans.append((ahead[0][1], ahead[used - 1][2]))
        del ahead[:used]
    return spans


def _spans_said(text: str, said: list[_Piece], words: list[str], pieces: _PiecesOfMatches) -> Spans | None:
    """Where the words stand by what the tokenizer said; None if these are not the words."""
    spans = _spans((piece for piece in said if pieces.counts(piece[0])), words, pieces.vocabulary)
    return spans if spans is not None and all(0 <= start < end <= len(text) for start, end in spans) else None


def _search(text: str, words: list[str], vocabulary: Vocabulary) -> Spans | None:
    """Where words stand in a text in their order, as whole words; None if one of them is not there."""
    spans: Spans = []
    end = 0
    for word in words:
        phrase = vocabulary.phrases.get(word)
        pattern = r"[\W_]+".join(map(re.escape, phrase)) if phrase else re.escape(word)
        found = next((m for m in re.compile(pattern).finditer(text, end) if _is_whole(text, *m.span())), None)
        if found is None:
            return None
        end = found.end()
        spans.append(found.span())
    return spans


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether no letter or digit on either side continues a word; letters without case need no spaces between them."""
    before, after = text[start - 1 : start] + text[start], text[end - 1] + text[end : end + 1]
    return not any(len(pair) == 2 and pair.isalnum() and pair.upper() != pair.lower() for pair in (before, after))


def _words_alone(tokens: Tokens, document: int) -> tuple[str, Spans]:
    """The words of the vocabulary in place of a text."""
    text = tokens.joined_words(document)
    words = tokens.vocabularies[tokens.languages[document]].words
    lengths = np.array([len(words[i]) for i in tokens.document(document).tolist()])
    ends = np.cumsum(lengths + 1) - 1
    return text, list(zip((ends - lengths).tolist(), ends.tolist(), strict=True))


def _cut(text: str, start: int, end: int, words: int) -> tuple[str, str, str]:
    """The word at a span, and what stands before and after it."""
    before, word, after = _before(text, start, words), text[start:end], _after(text, end, words)
    return _SPACE.sub(" ", before), _SPACE.sub(" ", word), _SPACE.sub(" ", after)


def _before(text: str, start: int, words: int) -> str:
    """About the last `words` words before a place; if they are cut, then rather where a sentence begins."""
    low = max(0, start - words * CHARACTERS_PER_WORD)
    piece = text[low:start]
    parts = [part.span() for part in _WORD.finditer(piece)]
    if low > 0 and len(parts) > 1 and parts[0][0] == 0 and not text[low - 1].isspace():
        parts = parts[1:]  # the end of a word
    is_cut, parts = low > 0 or len(parts) > words, parts[-words:]
    ends = [i for i in range(-(-len(parts) // 3)) if is_cut and _SENTENCE_END.fullmatch(piece, *parts[i])]
    parts = parts[ends[-1] + 1 :] if ends else parts
    return piece[parts[0][0] :] if parts else ""


def _after(text: str, end: int, words: int) -> str:
    """About the first `words` words after a place; if they are cut, then rather where a sentence ends."""
    high = min(len(text), end + words * CHARACTERS_PER_WORD)
    piece = text[end:high]
    parts = [part.span() for part in _WORD.finditer(piece)]
    if high < len(text) and len(parts) > 1 and parts[-1][1] == len(piece) and not text[high].isspace():
        parts = parts[:-1]  # the beginning of a word
    most = words + int(bool(parts) and parts[0][0] == 0)  # with the punctuation that is attached to the word
    is_cut, parts = high < len(text) or len(parts) > most, parts[:most]
    last_third = range(len(parts) * 2 // 3, len(parts))
    ends = [i for i in last_third if is_cut and _SENTENCE_END.fullmatch(piece, *parts[i])]
    parts = parts[: ends[0] + 1] if ends else parts
    return piece[: parts[-1][1]] if parts else ""
