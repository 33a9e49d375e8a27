"""Files of word vectors: what gensim writes is read and the other way around, and what is broken says where."""

from __future__ import annotations

import gzip
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from gensim.models import KeyedVectors
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import laplex as lx
from laplex.runtime import atomic
from laplex.text import word2vec

WORDS = [
    "the",
    "größe",
    "東京",
    "naïve_café",
    '"',
    "'s",
    "-5",
    "0.5",
    "a b".replace(" ", "\u00a0"),
    "🙂",
    "\u2028",
    "#",
]
some = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])

finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
matrices = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=finite)
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\v\f"), min_size=1)


@pytest.fixture
def vectors():
    return np.random.default_rng(0).standard_normal((len(WORDS), 5)).astype(np.float32)


def keyed(words, vectors):
    made = KeyedVectors(vectors.shape[1])
    made.add_vectors(words, vectors)
    return made


# What is written comes back


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_reads_what_is_written(binary, vectors, tmp_path):
    word2vec.write(tmp_path / "v", WORDS, vectors, binary)
    read = KeyedVectors.load_word2vec_format(tmp_path / "v", binary=binary)
    assert read.index_to_key == WORDS
    np.testing.assert_array_equal(read.vectors, vectors)


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("binary", [False, True])
def test_what_gensim_writes_is_read(binary, explicit, vectors, tmp_path):
    keyed(WORDS, vectors).save_word2vec_format(str(tmp_path / "v"), binary=binary)
    read, matrix = word2vec.read(tmp_path / "v", binary=binary if explicit else None)
    assert read == WORDS
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix, vectors)


@some
@given(matrices, st.data(), st.booleans(), st.sampled_from(["v.txt", "v.gz"]))
def test_any_words_and_numbers_come_back(tmp_path, vectors, data, binary, name):
    names = data.draw(st.lists(words, min_size=len(vectors), max_size=len(vectors), unique=True))
    word2vec.write(tmp_path / name, names, vectors, binary)
    read, matrix = word2vec.read(tmp_path / name, binary=binary)
    assert read == names
    np.testing.assert_array_equal(matrix, vectors)


@pytest.mark.parametrize("binary", [False, True])
def test_files_of_many_blocks_come_back(binary, tmp_path, monkeypatch):
    monkeypatch.setattr(word2vec, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(word2vec, "ROWS_PER_WRITE", 7)
    vectors = np.random.default_rng(1).standard_normal((300, 11)).astype(np.float32)
    names = [f"wört{i}" for i in range(300)]
    word2vec.write(tmp_path / "v", names, vectors, binary)
    read, matrix = word2vec.read(tmp_path / "v")
    assert read == names
    np.testing.assert_array_equal(matrix, vectors)


@pytest.mark.parametrize(
    "text",
    [
        "2 3\nthe 1 -2.5 3e-2\ncat 0 .5 +1\n",
        "the 1 -2.5 3e-2\ncat 0 .5 +1\n",  # GloVe
        "2 3\nthe 1 -2.5 3e-2 \ncat 0 .5 +1 \n",  # fastText
        "2 3\r\nthe 1 -2.5 3e-2\r\ncat 0 .5 +1\r\n\r\n",
        "\ufeff2 3\nthe 1 -2.5 3e-2\ncat 0 .5 +1",
        "2\t3\nthe\t1\t-2.5\t3e-2\ncat  0  .5  +1\n\n\n",
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_text_is_read_however_it_is_written(text, compressed, write):
    data = text.encode()
    read, matrix = word2vec.read(write("v", gzip.compress(data) if compressed else data))
    assert read == ["the", "cat"]
    np.testing.assert_array_equal(matrix, np.array([[1, -2.5, 0.03], [0, 0.5, 1]], np.float32))


def test_a_word_may_have_spaces_as_some_of_glove_have(write):
    read, matrix = word2vec.read(write("v", "the 1 2\n. . . 3 4\nat name@domain.com 5 6\n"))
    assert read == ["the", ". . .", "at name@domain.com"]
    np.testing.assert_array_equal(matrix, [[1, 2], [3, 4], [5, 6]])


def test_binary_with_newlines_between_vectors_is_read_like_one_without(write):
    one, two = np.float32([0.25, 3]).tobytes(), np.float32([-1, 7]).tobytes()
    for data in (b"2 2\na " + one + b"b " + two, b"2 2\na " + one + b"\nb " + two + b"\n"):
        read, matrix = word2vec.read(write("v.bin", data))
        assert read == ["a", "b"]
        np.testing.assert_array_equal(matrix, [[0.25, 3], [-1, 7]])


def test_what_is_there_is_replaced_whole_or_not_at_all(vectors, tmp_path):
    path = tmp_path / "v.txt"
    word2vec.write(path, WORDS, vectors)
    before = path.read_bytes()
    with suppress(KeyboardInterrupt), atomic.replacing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_bytes() == before
    assert list(tmp_path.glob(".part*")) == []
    word2vec.write(path, WORDS[:3], 2 * vectors[:3])
    assert word2vec.read(path)[0] == WORDS[:3]
    assert list(tmp_path.glob(".part*")) == []


def test_writing_changes_nothing_that_comes_in(vectors, tmp_path):
    before = vectors.copy()
    vectors.flags.writeable = False
    word2vec.write(tmp_path / "v", WORDS, vectors.astype(np.float64)[:, ::-1], True)
    np.testing.assert_array_equal(vectors, before)
    np.testing.assert_array_equal(word2vec.read(tmp_path / "v")[1], vectors[:, ::-1])


# What is broken says so


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("hello\n", "line 1: b'hello' is neither a header"),
        ("0 3\n", "line 1"),
        ("3 0\n", "line 1"),
        ("1 999999999999\na 1\n", "dimensions from 1 to 100,000"),
        ("2 2\na 1 2\n", "holds 1 vectors, its header says 2"),
        ("1 2\na 1 2\nb 1 2\n", "holds 2 vectors, its header says 1"),
        ("2 3\na 1 2\nb 1 2\n", "line 2: b'a 1 2' is not a word and 3 numbers"),
        ("2 1\na 1 2\nb 1 2\n", "line 2: 2 numbers where there should be 1"),
        ("2 2\na 1 2\nb 1\n", "line 3"),
        ("2 2\na 1 2\nb 1 2 3\n", "line 3: 3 numbers"),
        ("a 1 2\n\nb 1 2\n", "line 2: an empty line"),
        ("2 2\na 1 2\nb 1 x\n", "line 3: b'x' is not a number"),
        ("2 2\na 1 2\nb 1_0 2\n", "line 3: b'1_0' is not a number"),
        ("2 2\na 1 2\nb nan 2\n", "line 3: b'nan' is not a number"),
        ("2 2\na 1 2\nb 1 -inf\n", "line 3"),
        ("2 2\na 1 2\nb 1 1e39\n", "line 3: b'1e39' is not a number"),
        ("2 2\na 1 2\na 1 3\n", 'vector 2: the word "a" is there a second time'),
        ("2 2\na 1 2\n 1 3\n", "line 3"),
        ("2 2\na 1 2\n  1 3\n", "line 3"),
        (b"2 2\na 1 2\nb\xe9 1 3\n", r"line 3: the word b'b\xe9' is not utf-8"),
        (b"2 2\nb\xe9 1 3\na 1 2\n", r"line 2: the word b'b\xe9' is not utf-8"),
        (b"\xba\x16\x4f\x2f\x0c\0\0\0", "complete fastText model"),
        (b"PK\x03\x04\0\0\0\0", "line 1"),
        (gzip.compress(b"2 2\na 1 2\nb 1 3\n", mtime=0)[:-9], "cannot be decompressed"),
        (b"\x1f\x8bnonsense", "cannot be decompressed"),
    ],
)
def test_text_that_is_broken_says_where(content, message, write):
    path = write("broken.vec", content)
    with pytest.raises(lx.InputError) as raised:
        word2vec.read(path)
    assert message in str(raised.value)
    assert "broken.vec" in str(raised.value)


def records(*pairs):
    return b"".join(word + b" " + np.float32(values).tobytes() for word, values in pairs)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"2 2\n" + records((b"a", [0.1, 2])), "holds 1 vectors, its header says 2"),
        (b"2 2\n" + records((b"a", [0.1, 2]), (b"b", [0.1, 2]))[:-3], "ends within vector 2, at byte 21"),
        (b"1 2\n" + records((b"a", [0.1, 2]), (b"b", [0.1, 2])), "byte 14: more follows"),
        (b"1 2\n" + records((b"a", [0.1, np.nan])), "vector 1"),
        (b"2 2\n" + records((b"a", [0.1, 1]), (b"b", [np.inf, 1])), "vector 2 (after byte 4): b'b' has values"),
        (b"2 2\n" + records((b"a", [0.1, 1]), (b"a", [0.1, 1])), 'vector 2: the word "a" is there a second time'),
        (b"2 2\n" + records((b"a", [0.1, 1]), (b"\xff", [0.1, 1])), "is not utf-8"),
        (b"2 2\n" + records((b"a", [0.1, 1]), (b"", [0.1, 1])), "where a word should be"),
        (b"2 2\n" + records((b"a", [0.1, 1]), (b"b\nc", [0.1, 1])), "where a word should be"),
        (b"2 2\na\0" + bytes(100_000), "no word begins here"),
    ],
)
def test_binary_that_is_broken_says_where(content, message, write):
    with pytest.raises(lx.InputError) as raised:
        word2vec.read(write("broken.bin", content))
    assert message in str(raised.value)
    assert "broken.bin" in str(raised.value)


def test_binary_without_a_header_and_missing_files_say_so(write, tmp_path):
    with pytest.raises(lx.InputError, match="header"):
        word2vec.read(write("v.bin", "a 1 2\n"), binary=True)
    with pytest.raises(lx.InputError, match="there is no file"):
        word2vec.read(tmp_path / "nowhere.txt")
    with pytest.raises(lx.InputError, match="cannot read"):
        word2vec.read(tmp_path)


@pytest.mark.parametrize("sizes", [b"1000000000000 100", b"1000000000000 100000", b"999999999999999999 1"])
@pytest.mark.parametrize("binary", [False, True])
def test_a_header_cannot_make_memory_grow(sizes, binary, write):
    path = write("v", sizes + b"\n" + (records((b"a", [0.1])) if binary else b"a 0.1\n"))
    tracemalloc.start()
    with pytest.raises(lx.InputError):
        word2vec.read(path, binary=binary)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6


def test_a_line_without_an_end_is_given_up_early(write):
    with pytest.raises(lx.InputError, match=r"line 1: longer than"):
        word2vec.read(write("v", b"a" * 5_000_000))
    with pytest.raises(lx.InputError, match=r"line 3: longer than"):
        word2vec.read(write("v", b"2 2\na 1 2\n" + b"1 " * 9_000_000))


GOOD = [
    b"3 2\nthe 0.5 1\nw\xc3\xb6rt -2 3e-4\nx 1 1\n",
    b"the 0.5 1\nw\xc3\xb6rt -2 3e-4\nx 1 1\n",
    b"3 2\n" + records((b"the", [0.5, 1]), (b"w\xc3\xb6rt", [-2, 0.003]), (b"x", [1, 1])),
    gzip.compress(b"3 2\nthe 0.5 1\nw\xc3\xb6rt -2 3e-4\nx 1 1\n"),
]


def read_or_refuse(path, binary):
    """Reading gives sound vectors or an InputError with the path, whatever the file holds."""
    try:
        names, matrix = word2vec.read(path, binary=binary)
    except lx.InputError as error:
        refused = str(error)
    else:
        refused = None
    if refused is not None:
        assert str(path) in refused
        return
    assert len(names) == len(set(names)) == len(matrix) > 0
    assert all(names)
    assert np.isfinite(matrix).all()


@some
@given(st.sampled_from(GOOD), st.data(), st.sampled_from([None, False, True]))
def test_damaged_files_are_read_or_refused(tmp_path, good, data, binary):
    damaged = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(damaged)))
        end = place + data.draw(st.integers(0, 6))
        damaged[place:end] = data.draw(st.binary(max_size=6))
    path = tmp_path / "v"
    path.write_bytes(bytes(damaged))
    read_or_refuse(path, binary)


@some
@given(
    st.binary(max_size=60), st.sampled_from([b"", b"1 1\n", b"2 3\n", b"99 7\n"]), st.sampled_from([None, False, True])
)
@example(b"", b"1 1\n", True)
@example(b"\x00 \xff\xff", b"1 1\n", None)
def test_any_bytes_are_read_or_refused(tmp_path, content, header, binary):
    path = tmp_path / "v"
    path.write_bytes(header + content)
    read_or_refuse(path, binary)


@some
@given(st.text("ab01 .-+eEnif_x\t\n\"',é", max_size=60), st.sampled_from(["", "1 1\n", "2 3\n"]))
def test_text_close_to_numbers_is_read_or_refused(tmp_path, content, header):
    path = tmp_path / "v"
    path.write_text(header + content)
    read_or_refuse(path, False)


def test_a_name_with_braces_is_only_a_name(write):
    path = write("v{x}.bin", b"1 2\na " + np.array([1, np.nan], "<f4").tobytes())
    with pytest.raises(lx.InputError, match=r"v\{x\}.bin.*vector 1 .*not finite"):
        word2vec.read(path)


@pytest.mark.parametrize(
    ("names", "matrix", "message"),
    [
        (["a"], np.zeros((2, 3)), "1 words and vectors of shape"),
        (["a"], np.zeros(3), "1 words and vectors of shape"),
        ([], np.zeros((0, 3)), "0 words"),
        (["a"], np.zeros((1, 0)), "1 words"),
        (["a", "b"], np.array([[1.0, 2], [np.nan, 3]]), 'vector of "b"'),
        (["a", "new york"], np.zeros((2, 2)), "'new york'"),
        (["a", "b\n"], np.zeros((2, 2)), r"'b\n'"),
        (["a", ""], np.zeros((2, 2)), "''"),
        (["a", "a"], np.zeros((2, 2)), '"a" is there more than once'),
        (["a", "\ud800"], np.zeros((2, 2)), "surrogate"),
    ],
)
def test_what_a_file_cannot_hold_is_not_written(names, matrix, message, tmp_path):
    with pytest.raises(lx.InputError) as raised:
        word2vec.write(tmp_path / "v", names, matrix)
    assert message in str(raised.value)
    assert list(tmp_path.glob("*v*")) == []


def test_a_place_that_cannot_be_written_to_says_so(tmp_path):
    with pytest.raises(lx.StorageError, match="cannot write"):
        word2vec.write(tmp_path / "nowhere" / "v", ["a"], np.zeros((1, 2)))
    (tmp_path / "folder").mkdir()
    with pytest.raises(lx.StorageError, match="is a folder"):
        word2vec.write(tmp_path / "folder", ["a"], np.zeros((1, 2)))
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
