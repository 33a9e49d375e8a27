"""Vectors in other programs' hands: the same numbers go out as are inside, and those of others come in."""

from __future__ import annotations

import csv
import gzip
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st

import laplex as lx
from laplex.embeddings import from_gensim, load_word2vec
from laplex.questions.export import escape_formulas
from laplex.text import word2vec
from laplex.text.slices import Slices

WORDS = ["tax", "größe", "=1+1", '"', "a,b"]
KEYS = (("D", "2000"), ("D", "2001"), ("R", "2001"))


def made(keys=KEYS, columns=("party", "year"), contexts=True, languages=("",), words=WORDS):
    """Vectors with counts, the same for each language but for their numbers."""
    random = np.random.default_rng(0)
    slices = Slices(columns, keys, np.empty(0, np.int32))
    counts = [np.sort(random.integers(1, 50, (len(keys), len(words))))[:, ::-1] for _ in languages]
    return lx.Embeddings.of(
        [lx.Vocabulary(words, count.sum(0), name) for count, name in zip(counts, languages)],
        [random.standard_normal((len(keys), len(words), 4)).astype(np.float32) for _ in languages],
        slices=slices,
        counts=counts,
        contexts=[random.standard_normal((len(words), 4)).astype(np.float32) for _ in languages] if contexts else None,
    )


@pytest.fixture
def vectors():
    return made()


@pytest.fixture
def plain():
    return made(keys=((),), columns=())


# NumPy, gensim, pandas


def test_gensim_gets_a_copy_of_its_own(vectors):
    keyed = vectors.to_gensim(at={"party": "D", "year": 2001})
    np.testing.assert_array_equal(keyed.vectors, vectors.matrix(at={"party": "D", "year": 2001}))
    keyed.vectors[:] = 0
    assert vectors.matrix(at={"party": "D", "year": 2001}).all()


def test_gensim_gets_words_vectors_and_counts(vectors):
    keyed = vectors.to_gensim(at={"party": "R"})
    assert keyed.index_to_key == WORDS
    np.testing.assert_array_equal(keyed["tax"], vectors.vector("tax", at={"party": "R"}))
    assert [keyed.get_vecattr(word, "count") for word in WORDS] == [
        vectors.count(word, at={"party": "R"}) for word in WORDS
    ]
    matrix = vectors.matrix(at={"party": "R"}).astype(np.float64)
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    assert keyed.similarity("tax", "a,b") == pytest.approx(unit[0] @ unit[4], abs=1e-6)


def test_contexts_go_to_gensim_with_the_counts_of_all_slices(vectors):
    keyed = vectors.to_gensim(contexts=True)
    np.testing.assert_array_equal(keyed.vectors, vectors.contexts())
    assert keyed.get_vecattr("tax", "count") == vectors.count("tax")


def test_without_gensim_one_is_told_how_to_get_it(vectors, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(lx.InputError, match=r'pip install "laplex\[gensim\]"'):
        vectors.to_gensim(at={"party": "R"})


def test_the_frame_has_a_row_for_each_word_of_each_slice(vectors):
    frame = vectors.to_frame()
    assert list(frame.columns) == ["party", "year", "word", "count", "d0", "d1", "d2", "d3"]
    assert len(frame) == len(KEYS) * len(WORDS)
    for row in frame.itertuples():
        expected = vectors.vector(row.word, at={"party": row.party, "year": row.year})
        np.testing.assert_array_equal([row.d0, row.d1, row.d2, row.d3], expected)
    counts = [
        vectors.count(row["word"], at={"party": row["party"], "year": row["year"]}) for _, row in frame.iterrows()
    ]
    assert frame["count"].to_list() == counts


def test_the_frame_may_hold_some_slices_only(vectors):
    frame = vectors.to_frame(at={"party": "D"})
    assert set(zip(frame["party"], frame["year"])) == set(KEYS[:2])
    assert len(frame) == 2 * len(WORDS)


def test_the_frame_names_the_language_if_there_are_several():
    both = made(languages=("en", "it"))
    frame = both.to_frame()
    assert frame["language"].value_counts().to_dict() == {"en": 15, "it": 15}
    row = frame[(frame["language"] == "it") & (frame["word"] == "tax") & (frame["party"] == "R")].iloc[0]
    assert row["d2"] == both.vector("tax", language="it", at={"party": "R"})[2]
    assert set(both.to_frame(language="en")["language"]) == {"en"}


# Files


@pytest.mark.parametrize(("name", "binary"), [("v.txt", False), ("v.vec", False), ("v.bin", True), ("v.txt.gz", False)])
def test_word2vec_files_hold_one_slice(vectors, name, binary, tmp_path):
    vectors.export(tmp_path / name, at={"party": "D", "year": "2000"})
    if name.endswith("gz"):
        assert gzip.decompress((tmp_path / name).read_bytes()).startswith(b"5 4\n")
    read = KeyedVectors.load_word2vec_format(tmp_path / name, binary=binary)
    assert read.index_to_key == WORDS
    np.testing.assert_array_equal(read.vectors, vectors.matrix(at={"party": "D", "year": "2000"}))


def test_contexts_can_be_written_as_word2vec_does(vectors, tmp_path):
    word2vec.write(tmp_path / "c.bin", vectors.words(), vectors.contexts(), True)
    np.testing.assert_array_equal(word2vec.read(tmp_path / "c.bin")[1], vectors.contexts())


def test_parquet_holds_all_slices(vectors, tmp_path):
    vectors.export(tmp_path / "v.parquet")
    expected = vectors.to_frame()
    read = pl.read_parquet(tmp_path / "v.parquet")
    assert read.columns == list(expected.columns)
    assert read["d0"].dtype == pl.Float32
    for column in expected:
        assert read[column].to_list() == expected[column].to_list()
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "v.parquet"), expected, check_dtype=False)


@pytest.mark.parametrize("name", ["v.csv", "v.csv.gz"])
def test_csv_holds_all_slices_and_no_formulas(vectors, name, tmp_path):
    vectors.export(tmp_path / name)
    read = pd.read_csv(tmp_path / name, dtype={"year": str}, na_filter=False)
    expected = vectors.to_frame()
    assert read["word"].to_list() == ["'=1+1" if word == "=1+1" else word for word in expected["word"]]
    np.testing.assert_array_equal(read[["d0", "d3"]].astype(np.float32), expected[["d0", "d3"]])
    assert (read[["d0", "d3"]] < 0).any().all()  # numbers stay numbers
    pd.testing.assert_frame_equal(
        read[["party", "year", "count"]], expected[["party", "year", "count"]], check_dtype=False
    )


def test_slices_that_look_like_formulas_are_made_harmless_too(tmp_path):
    vectors = made(keys=(("@D",), ("R",)), columns=("=party",))
    vectors.export(tmp_path / "v.csv")
    with open(tmp_path / "v.csv", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert {"'=party", "'@D", "'=1+1", "R"} <= set(cells)
    assert not [cell for cell in cells if cell[:1] in set("=+@")]


def test_npz_of_all_slices(vectors, tmp_path):
    vectors.export(tmp_path / "v.npz")
    with np.load(tmp_path / "v.npz", allow_pickle=False) as read:
        assert read["words"].tolist() == WORDS
        assert read["columns"].tolist() == ["party", "year"]
        assert [tuple(key) for key in read["slices"]] == list(KEYS)
        np.testing.assert_array_equal(read["vectors"][2], vectors.matrix(at={"party": "R"}))
        np.testing.assert_array_equal(read["counts"], vectors.counts[0])
        np.testing.assert_array_equal(read["contexts"], vectors.contexts())


def test_npz_of_one_slice_is_one_matrix(vectors, plain, tmp_path):
    vectors.export(tmp_path / "v.npz", at={"party": "R"})
    with np.load(tmp_path / "v.npz", allow_pickle=False) as read:
        np.testing.assert_array_equal(read["vectors"], vectors.matrix(at={"party": "R"}))
        assert read["counts"].tolist() == [vectors.count(word, at={"party": "R"}) for word in WORDS]
        assert read["slices"].tolist() == [["R", "2001"]]
    made(keys=((),), columns=(), contexts=False).export(tmp_path / "v.npz")
    with np.load(tmp_path / "v.npz", allow_pickle=False) as read:
        np.testing.assert_array_equal(read["vectors"], plain.matrix())
        assert "contexts" not in read


def test_what_cannot_be_exported_says_why(vectors, tmp_path):
    for name in ("v.xlsx", "v", "v.parquet.gz", "v.npz.gz"):
        with pytest.raises(lx.InputError, match="no ending that vectors can be written to"):
            vectors.export(tmp_path / name)
    for name in ("v.txt", "v.bin"):
        with pytest.raises(lx.InputError, match="say which slice"):
            vectors.export(tmp_path / name, at={"party": "D"})
    with pytest.raises(lx.InputError, match='"party" has no value'):
        vectors.export(tmp_path / "v.csv", at={"party": "X"})
    with pytest.raises(lx.InputError, match="vectors do not vary by"):
        vectors.to_frame(at={"chamber": "senate"})
    with pytest.raises(lx.InputError, match="say which language"):
        made(languages=("en", "it")).export(tmp_path / "v.npz")
    with pytest.raises(lx.InputError, match="the name of another column"):
        made(keys=(("D",),), columns=("word",)).to_frame()
    with pytest.raises(lx.InputError, match="leave out party"):
        vectors.to_gensim(contexts=True, at={"party": "D"})
    with pytest.raises(lx.InputError, match="without context vectors"):
        made(contexts=False).to_gensim(contexts=True)
    with pytest.raises(lx.StorageError, match="cannot write"):
        vectors.export(tmp_path / "nowhere" / "v.csv")
    assert [path for path in tmp_path.iterdir() if path.name != "cache"] == []


# Spreadsheets


@given(st.lists(st.text(max_size=5)), st.text(min_size=1, max_size=3))
def test_no_text_of_a_neutral_table_is_a_formula(texts, name):
    frame = pd.DataFrame({name: texts}, dtype=object)
    safe = escape_formulas(frame)
    for before, after in zip([name, *texts], [*safe.columns, *safe.iloc[:, 0]]):
        assert after[:1] not in {*"=+-@\t\r\n＝＋－＠"}
        assert after in (before, "'" + before)
        assert (after == before) == (before.lstrip("'")[:1] not in {*"=+-@\t\r\n＝＋－＠"})
    assert frame.iloc[:, 0].to_list() == texts


def test_a_neutral_table_keeps_what_is_not_text():
    frame = pd.DataFrame({"n": [-1.5, 2.0], "i": [-1, 2], "mixed": ["-a", None], "kind": pd.Categorical(["+", "x"])})
    safe = escape_formulas(frame)
    pd.testing.assert_frame_equal(safe[["n", "i"]], frame[["n", "i"]])
    assert safe["mixed"][0] == "'-a"
    assert pd.isna(safe["mixed"][1])
    assert list(safe["kind"]) == ["'+", "x"]


# Vectors of others


@pytest.mark.parametrize("binary", [False, True])
def test_word_vectors_of_gensim_become_embeddings(plain, binary, tmp_path):
    plain.to_gensim().save_word2vec_format(str(tmp_path / "v"), binary=binary)
    read = load_word2vec(tmp_path / "v", language="de")
    assert read.languages == ["de"]
    assert read.words() == WORDS
    assert [read.count(word) for word in WORDS] == [0] * len(WORDS)
    np.testing.assert_array_equal(read.matrix(), plain.matrix())
    with pytest.raises(lx.InputError, match="without context vectors"):
        read.contexts()


def test_embeddings_from_a_file_can_be_saved_and_loaded(plain, tmp_path):
    plain.export(tmp_path / "v.bin")
    load_word2vec(tmp_path / "v.bin").save(tmp_path / "saved")
    loaded = lx.load(tmp_path / "saved")
    assert loaded.words() == WORDS
    np.testing.assert_array_equal(loaded.matrix(), plain.matrix())


def test_unknown_counts_are_not_told_to_gensim(plain, tmp_path):
    plain.export(tmp_path / "v.bin")
    keyed = load_word2vec(tmp_path / "v.bin").to_gensim()
    assert "count" not in keyed.expandos


def test_gensims_keyed_vectors_come_back_with_their_counts(plain):
    back = from_gensim(plain.to_gensim())
    assert back.words() == WORDS
    assert [back.count(word) for word in WORDS] == [plain.count(word) for word in WORDS]
    np.testing.assert_array_equal(back.matrix(), plain.matrix())


def test_what_is_not_keyed_vectors_is_refused():
    with pytest.raises(lx.InputError, match=r"model\.wv"):
        from_gensim({"tax": [1.0]})
    with pytest.raises(lx.InputError, match="0 words"):
        from_gensim(KeyedVectors(3))
