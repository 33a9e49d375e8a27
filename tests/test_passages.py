"""Passages: occurrences of words as they stand in the original text."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import laplex as lx
from laplex.runtime import storage
from laplex.text.originals import folder_of
from laplex.text.passages import passages_at
from laplex.text.spelling import words_of

TEXT = (
    "Fellow-Citizens, a PREVIOUS sentence.  Here it's the People's War,\n he said: not L'homme, nor 1,000 men! "
    "It won’t end."
)


def tokens_of(text=TEXT, **arguments):
    options = {name: arguments.pop(name) for name in ("min_count", "originals") if name in arguments}
    rows = [{"text": each} for each in ([text] if isinstance(text, str) else text)]
    return lx.Tokens.of(lx.read(rows, **arguments), quiet=True, **{"min_count": 1} | options)


def shown(tokens, word, document=0, **options):
    """The passages of a word in a document, as (before, word, after)."""
    places = np.flatnonzero(tokens.document(document) == tokens.vocabularies[0][word])
    frame = passages_at(tokens, [document] * len(places), places, **options)
    return list(zip(frame["before"], frame["word"], frame["after"], strict=True))


def test_a_passage_has_case_and_punctuation_and_single_spaces():
    assert shown(tokens_of(), "war", words=3) == [("it's the People's ", "War", ", he said: not")]


@pytest.mark.parametrize(
    ("word", "as_written", "before"),
    [
        ("people", "People's", "it's the "),
        ("it's", "it's", "Here "),
        ("homme", "homme", "not L'"),
        ("l", "L", "said: not "),
        ("1000", "1,000", "L'homme, nor "),
        ("won't", "won’t", "It "),
    ],
)
def test_a_word_is_shown_as_it_stands(word, as_written, before):
    assert shown(tokens_of(), word, words=2)[0][:2] == (before, as_written)


def test_before_word_and_after_are_the_text():
    frame = passages_at(tokens_of(), [0], [5], words=100)
    assert "".join(frame[["before", "word", "after"]].iloc[0]) == re.sub(r"\s+", " ", TEXT)


def test_words_outside_the_vocabulary_are_shown_but_not_counted():
    tokens = tokens_of(["Rare Tax unknown TAX! tax?", "tax"], min_count=2)
    assert tokens.document(0).tolist() == [0, 0, 0]
    assert [word for _, word, _ in shown(tokens, "tax")] == ["Tax", "TAX", "tax"]
    assert shown(tokens, "tax")[1] == ("Rare Tax unknown ", "TAX", "! tax?")


def test_passages_are_in_the_order_asked():
    tokens = tokens_of([f"First{m} second{m} Third{m}" for m in range(5)])
    frame = passages_at(tokens, [3, 0, 3, 4], [2, 0, 0, 1])
    assert frame["word"].tolist() == ["Third3", "First0", "First3", "second4"]
    assert frame["document"].tolist() == [3, 0, 3, 4]
    assert frame["position"].tolist() == [2, 0, 0, 1]
    assert len(passages_at(tokens, [], [])) == 0


@pytest.mark.parametrize(("document", "position"), [(0, 99), (0, -1), (1, 0), (-1, 0)])
def test_a_place_that_is_not_there_is_named(document, position):
    with pytest.raises(lx.InputError, match=r"no (word|document) "):
        passages_at(tokens_of(), [document], [position])


def test_a_passage_rather_begins_and_ends_with_a_sentence():
    text = "Zero. This was before. Then Mr. Smith saw the war begin again. Later nobody spoke of anything"
    assert shown(tokens_of(text), "war", words=8)[0][0] == "Then Mr. Smith saw the "
    assert shown(tokens_of(text), "then", words=9)[0][2] == " Mr. Smith saw the war begin again."
    assert shown(tokens_of(text), "war", words=6)[0][2] == " begin again. Later nobody spoke of"  # too short otherwise
    assert shown(tokens_of(text), "war", words=9)[0][0] == "Zero. This was before. Then Mr. Smith saw the "  # all of it


def test_text_without_spaces_is_cut_after_some_characters():
    before, word, after = shown(tokens_of("x" * 900 + "-war-" + "y" * 900), "war")[0]
    assert (len(before), word, len(after)) == (180, "war", 180)


@pytest.mark.parametrize("rule", [None, "paper", r"[\w'’-]+", str.split], ids=["default", "paper", "regex", "function"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_every_tokenizer_is_followed(rule, lowercase):
    tokens = tokens_of("Not the WAR: not that war, not The-war of", tokenizer=rule, lowercase=lowercase)
    words = tokens.vocabularies[0].words
    for place, number in enumerate(tokens.document(0).tolist()):
        word = passages_at(tokens, [0], [place])["word"].item()
        assert (word.lower() if lowercase else word) == words[number]


def stems(text):
    return [word[:3] + "~" for word in text.split()]


def test_words_that_are_not_in_the_text_stand_alone():
    tokens = tokens_of("Taxing Wars", tokenizer=stems)
    assert shown(tokens, "war~") == [("tax~ ", "war~", "")]


def test_lists_of_words_stand_alone():
    tokens = lx.Tokens.of(lx.read([{"text": ["New York", "is", "Big"]}]), min_count=1, quiet=True)
    assert shown(tokens, "is") == [("New York ", "is", " Big")]


def test_text_whose_length_changes_in_lower_case_is_shown_in_lower_case():
    assert shown(tokens_of("İİ The WAR, now"), "war") == [("i̇i̇ the ", "war", ", now")]


def test_without_originals_there_are_no_passages():
    with pytest.raises(lx.InputError, match="was not kept"):
        passages_at(tokens_of(originals=False), [0], [0])


@pytest.mark.parametrize(
    "tokenizers",
    [None, 5, [5], [{}], [{"rule": "[", "lowercase": True, "documents": 1}], [{"rule": 5, "documents": "x"}]],
)
def test_settings_of_someone_else_are_not_trusted(tokenizers, tmp_path):
    tokens = tokens_of("The WAR, now")
    saved, texts = storage.load(tokens.folder), storage.load(folder_of(tokens.folder))
    storage.save(tmp_path / "tokens-x", "tokens", saved.settings | {"tokenizers": tokenizers}, saved.arrays)
    storage.save(tmp_path / "originals-x", "originals", texts.settings, texts.arrays)
    other = lx.Tokens(storage.load(tmp_path / "tokens-x"))
    assert shown(other, "war") == [("The ", "WAR", ", now")]


def test_two_corpora_may_have_two_tokenizers_and_languages():
    english = lx.read([{"text": "Don't Go"}], language="en")
    italian = lx.read([{"text": "Dell'Arte E'"}], language="it", tokenizer="paper")
    tokens = lx.Tokens.of(english + italian, min_count=1, quiet=True)
    assert passages_at(tokens, [0, 1, 1], [0, 1, 2])["word"].tolist() == ["Don't", "Arte", "E"]


def test_every_word_of_some_addresses_is_found():
    tokens = lx.Tokens.of(lx.demo().where(president=["Abraham Lincoln", "Barack Obama"]), min_count=3, quiet=True)
    documents = np.arange(0, tokens.documents, 7)
    lengths = np.diff(tokens.offsets)[documents]
    where, places = np.repeat(documents, lengths), np.concatenate([np.arange(n) for n in lengths])
    words = [tokens.vocabularies[0].words[tokens.document(m)[i]] for m, i in zip(where, places, strict=True)]
    frame = passages_at(tokens, where, places)
    assert len(frame) > 5000
    assert all(word in words_of(seen.lower()) for seen, word in zip(frame["word"], words, strict=True))


@given(st.text(st.sampled_from("aAeE'’s1,23 .-İß\u0301") | st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_word_of_any_text_has_a_passage(text):
    try:
        tokens = tokens_of(text)
    except lx.InputError:  # no word
        assume(False)
    frame = passages_at(tokens, [0] * len(tokens), range(len(tokens)))
    for number, seen in zip(tokens.document(0).tolist(), frame["word"], strict=True):
        assert seen
        assert not seen.isspace()
        word = tokens.vocabularies[0].words[number]
        assert word.replace("'", "").isdecimal() or word[0] in seen.lower() or word[0] in seen.casefold()
