"""Lemmas and parts of speech by simplemma and spaCy, which are extras.

simplemma looks each different word up in a dictionary, without its context. spaCy reads the whole text and says where
each of its tokens stands. Both are given the text as it was written, since capitals tell nouns from verbs.
"""

from __future__ import annotations

import json
import sys
import threading
from hashlib import blake2b
from importlib.metadata import version
from typing import Any

import polars as pl

from laplex.errors import InputError, quote
from laplex.text.identity import function_identity

SIMPLEMMA, SPACY = "simplemma:", "spacy:"  # before a language, and before the name or the folder of a pipeline
_LETTERS_IN_CAPITALS = 4  # at least; shorter words in capitals only are abbreviations, such as US


class Lemmatizer:
    """The lemmas of simplemma's dictionary for a language.

    Attributes:
        identity: A string that changes when lemmas may change.
    """

    def __init__(self, language: str) -> None:
        try:
            import simplemma
        except ImportError:
            needed = f'tokenizer="{SIMPLEMMA}{language}" needs simplemma'
            raise InputError(f'{needed}: pip install "laplex[lemmas]"') from None
        self._language, self._lemmatize = language, simplemma.lemmatize
        try:
            simplemma.lemmatize("word", language)
        except ValueError:
            raise InputError(
                f'tokenizer="{SIMPLEMMA}{language}": simplemma has no dictionary of "{language}"; write a code such as '
                '"en" or "de"'
            ) from None
        self.identity = f"{SIMPLEMMA}{language} {version('simplemma')}"

    def __call__(self, word: str) -> str:
        """The lemma of a word. A longer word in capitals is looked up as if it began a sentence."""
        written = word.capitalize() if word.isupper() and len(word) >= _LETTERS_IN_CAPITALS else word
        lemma: str = self._lemmatize(written, self._language)
        return word if lemma == written else lemma


class Pipeline:
    """A pipeline of spaCy: its tokens with a letter or a digit are words, by their lemma or as they are written.

    Attributes:
        name: The name and the version of the pipeline.
        identity: A string that changes when words may change.
    """

    def __init__(self, source: Any, tags: bool) -> None:
        self._nlp = _loaded(source) if isinstance(source, str) else source
        self._tags, self._lock = tags, threading.Lock()  # pipelines are not made for several threads
        meta = self._nlp.meta
        self.name = f"spaCy {version('spacy')}, {meta['lang']}_{meta['name']} {meta['version']}"
        self.identity = f"{self.name} {_content(self._nlp)} {tags}"

    def words(self, texts: pl.Series, lowercase: bool) -> tuple[pl.Series, pl.Series]:
        """The words of each text, and the same as JSON with where they stand, for `word_places`."""
        rows = texts.to_list()
        longest = max(map(len, rows), default=0)
        if longest > self._nlp.max_length:
            raise InputError(
                f"a document has {longest:,} characters, and the spaCy pipeline takes {self._nlp.max_length:,}: cut "
                "documents into shorter ones, or raise nlp.max_length and give nlp itself as the tokenizer"
            )
        words, places = [], []
        try:
            with self._lock:
                for document in self._nlp.pipe(rows):
                    tokens = [token for token in document if any(map(str.isalnum, token.text))]
                    words.append([self._word(token, lowercase) for token in tokens])
                    spans = [token.idx for token in tokens], [len(token.text) for token in tokens]
                    places.append(json.dumps([words[-1], *spans], separators=(",", ":")))
        except (ValueError, KeyError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{self.name} cannot read a document: {error}") from error
        return pl.Series(words, dtype=pl.List(pl.String)), pl.Series(places, dtype=pl.String)

    def _word(self, token: Any, lowercase: bool) -> str:
        """The lemma of a token, or its text if the pipeline has none, perhaps with the part of speech."""
        word = "_".join((token.lemma_ or token.text).split())  # merged tokens have spaces
        word = word.lower() if lowercase else word
        if not self._tags:
            return word
        if not token.pos_:
            known = quote(self._nlp.pipe_names) or "no component"
            raise InputError(
                f'tags=True: {self.name} gives "{token.text}" no part of speech; it has {known}. Take a pipeline with '
                "a tagger, such as en_core_web_sm"
            )
        return f"{word}_{token.pos_}"


def word_places(text: str) -> list[tuple[str, int, int]] | None:
    """Each word of a document with where it begins and ends in characters, from the JSON that `words` gave."""
    try:
        words, starts, lengths = json.loads(text)
        spans = [(int(start), int(start) + int(length)) for start, length in zip(starts, lengths, strict=True)]
        return [(str(word), *span) for word, span in zip(words, spans, strict=True)]
    except (TypeError, ValueError, OverflowError):  # of someone else's tokens
        return None


def is_pipeline(rule: object) -> bool:
    """Whether something is a pipeline of spaCy, which is not imported for this."""
    module = sys.modules.get("spacy.language")
    return module is not None and isinstance(rule, module.Language)


def _loaded(name: str) -> Any:
    try:
        import spacy
    except ImportError:
        raise InputError(f'tokenizer="{SPACY}{name}" needs spaCy: pip install "laplex[spacy]"') from None
    try:
        # names of people and places take time and change neither lemmas nor parts of speech
        return spacy.load(name, exclude=["ner"] if spacy.util.is_package(name) else [])
    except OSError:
        raise InputError(
            f'there is no spaCy pipeline "{name}", installed or as a folder: python -m spacy download {name}'
        ) from None
    except (ImportError, ValueError, KeyError) as error:
        raise InputError(f'spaCy cannot load "{name}": {error}') from error


def _content(nlp: Any) -> str:
    """A hash of what a pipeline consists of. Functions in it count by their code."""
    parts = [function_identity(part) for _, part in nlp.pipeline if not hasattr(part, "to_bytes")]
    digest = blake2b(nlp.to_bytes(exclude=["vocab"]), digest_size=16)
    return " ".join([digest.hexdigest(), *parts])
