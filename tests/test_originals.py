"""The original text of documents, kept beside the tokens, and what happens if it is not there or damaged."""

from __future__ import annotations

import contextlib

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import laplex as lx
from laplex.runtime import storage
from laplex.text import formats, originals
from laplex.text.originals import Originals, folder_of

TEXTS = ["Hello, World!", "", "The end: naïve 東京\n\n- really?  ", "x" * 5000, "one\0two", "E\u0301tat"]


def tokens_of(texts=TEXTS, **options):
    return lx.Tokens.of(lx.read([{"text": text} for text in texts]), min_count=1, quiet=True, **options)


def test_a_document_comes_back_as_it_was_written():
    tokens = tokens_of()
    assert [tokens.text(m) for m in range(tokens.documents)] == TEXTS


@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=12),
    rows=st.integers(1, 5),
    size=st.integers(1, 40),
    asked=st.randoms(),
)
def test_any_documents_come_back_in_any_order(texts, rows, size, asked):
    assume(any(text.isalpha() for text in texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formats, "MAX_BATCH_ROWS", rows)
        patch.setattr(originals, "BLOCK_BYTES", size)
        tokens = tokens_of(texts)
    order = [asked.randrange(len(texts)) for _ in range(20)]
    assert tokens.texts(order) == [texts[m] for m in order]


def test_one_document_is_read_without_the_others(monkeypatch):
    monkeypatch.setattr(originals, "BLOCK_BYTES", 100)
    tokens = tokens_of([f"document {m} of many, many" for m in range(200)])
    sizes = []
    decompress = Originals._decompress
    monkeypatch.setattr(
        Originals, "_decompress", lambda self, *given: sizes.append(given[1]) or decompress(self, *given)
    )
    assert tokens.text(117) == "document 117 of many, many"
    assert sizes == [78]  # three documents


def test_documents_that_lack_metadata_are_in_neither():
    rows = [{"text": f"Text {m}", "party": "D" if m % 2 else None} for m in range(6)]
    corpus = lx.read(rows, metadata=["party"], missing="drop")
    tokens = lx.Tokens.of(corpus, min_count=1, quiet=True)
    assert tokens.texts(range(3)) == ["Text 1", "Text 3", "Text 5"]


def test_lists_of_words_are_shown_as_words():
    text, lists = lx.read([{"text": "To be, or not."}]), lx.read([{"text": ["To", "be", "rare"]}, {"text": []}])
    for corpus, order in ((text + lists, [0, 1, 2]), (lists + text, [2, 0, 1])):
        tokens = lx.Tokens.of(corpus, min_count=1, quiet=True)
        assert [tokens.text(m) for m in order] == ["To be, or not.", "To be rare", ""]
        assert tokens.texts(order) == ["To be, or not.", None, None]


@pytest.mark.parametrize("document", [-1, 6, 10**9])
def test_a_document_that_is_not_there_is_named(document):
    with pytest.raises(lx.InputError, match=f"no document {document}: they are numbered from 0 to 5"):
        tokens_of().text(document)


def test_without_originals_the_error_says_what_to_do():
    tokens = tokens_of(originals=False)
    assert not folder_of(tokens.folder).exists()
    with pytest.raises(lx.InputError, match=r"was not kept .*without originals=False or --no-originals"):
        tokens.text(0)


def test_originals_are_added_to_tokens_without_them():
    without, with_them, again = tokens_of(originals=False), tokens_of(), tokens_of(originals=False)
    assert without.folder == with_them.folder
    assert without.digest == with_them.digest == again.digest
    assert without.text(0) == again.text(0) == TEXTS[0]


def test_a_fit_can_leave_them_out(cache):
    corpus = lx.read([{"text": "a b c d " * 5}] * 20)
    lx.fit(lx.Model(dimensions=4), corpus, epochs=1, threads=1, originals=False, quiet=True)
    assert list(cache.glob("originals-*")) == []


def test_damaged_originals_are_read_again(capsys):
    tokens = tokens_of()
    arrays = next(folder_of(tokens.folder).glob("*.safetensors"))
    arrays.write_bytes(arrays.read_bytes()[:-4])
    corpus = lx.read([{"text": text} for text in TEXTS])
    assert lx.Tokens.of(corpus, min_count=1).text(0) == TEXTS[0]
    assert "damaged" in capsys.readouterr().err


def changed(tokens, **arrays):
    """Tokens whose originals have other arrays."""
    folder = folder_of(tokens.folder)
    saved = storage.load(folder)
    kept = {name: np.array(array) for name, array in saved.arrays.items()} | arrays
    storage.save(folder, "originals", saved.settings, {name: each for name, each in kept.items() if each is not None})
    return lx.Tokens(storage.load(tokens.folder))


@pytest.mark.parametrize(
    "arrays",
    [
        {"data": None},
        {"starts": np.array([0, 10**6])},
        {"starts": np.array([0.0, 1.0])},
        {"starts": np.zeros(0, np.int64)},
        {"first": np.array([0, 5])},
        {"first": np.array([[0, 6]])},
        {"first": np.array([0, 3, 6])},
        {"lengths": np.full(6, -2)},
        {"lengths": np.full(6, 2**62)},
        {"lengths": np.full(6, 1 << 27)},
        {"lengths": np.zeros(5, np.int64)},
        {"lengths": np.array([13, 0, 30, 5000, 7, 9])},
        {"data": np.zeros(4, np.uint8), "starts": np.array([0, 4])},
    ],
    ids=str,
)
def test_arrays_that_do_not_fit_are_refused(arrays):
    tokens = changed(tokens_of(), **arrays)
    with pytest.raises(lx.StorageError, match="is damaged"):
        tokens.text(0)


def test_every_changed_byte_is_noticed():
    tokens = tokens_of(["The quick brown fox, jumping."])
    data = np.array(storage.load(folder_of(tokens.folder)).arrays["data"])
    for place in range(len(data)):
        other = data.copy()
        other[place] ^= 0x10
        damaged = changed(tokens, data=other)
        with contextlib.suppress(lx.StorageError):  # some bytes of a frame's header do not matter
            assert damaged.text(0) == "The quick brown fox, jumping."


def test_a_block_does_not_become_larger_than_it_says():
    bomb = originals.compress(pl.Series(["a" * 50_000_000]))[0][0]
    data = np.frombuffer(bomb, np.uint8)
    tokens = changed(tokens_of(["short"]), data=data, starts=np.array([0, len(data)]))
    with pytest.raises(lx.StorageError, match="does not have 5 bytes"):
        tokens.text(0)
