"""Bad files, some thousands of them: each gives a result that is right, or an error of laplex's own.

The readers and their oracles are in fuzz/, which goes on for as long as one wants (fuzz/run.py); here each gets a few,
and what was found there stays.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from polars.selectors import by_name

import laplex as lx
from laplex import lexicons
from laplex.evaluation.datasets import read_rated_pairs
from laplex.fitting.race import Results
from laplex.runtime import storage
from laplex.runtime.checkpoint import Checkpoint, Position
from laplex.text import files, word2vec
from laplex.text.slices import Slices
from laplex.text.vocabulary import Vocabulary

FUZZ = Path(__file__).parents[1] / "fuzz"
sys.path.insert(0, str(FUZZ))

from mutation import mutate  # noqa: E402
from targets import TARGETS, Target  # noqa: E402

INPUTS = 30  # for each reader


@pytest.fixture(scope="module", params=[name for name in TARGETS if "parquet" not in name])
def reader(request, tmp_path_factory):
    """A reader and a folder for its files."""
    target: Target = TARGETS[request.param]
    folder = tmp_path_factory.mktemp("fuzz")
    target.prepare(folder)
    return target, folder


@settings(max_examples=INPUTS, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(number=st.integers(0, 2**32))
@example(number=-1)
def test_a_bad_file_gives_a_result_that_is_right_or_an_error(number, reader):
    target, folder = reader
    random = Random(number)
    seed = random.choice(target.seeds)
    data = seed if number < 0 else mutate(seed, random, target.seeds)
    message = "nothing"
    try:
        target.read(folder, data)
    except lx.LaplexError as error:
        message = str(error).strip()
    assert message
    assert number >= 0 or message == "nothing", "a good file was refused"


# What was found


@pytest.mark.parametrize(("place", "bit"), [(-394, 16), (-297, 1), (-293, 1), (-289, 1), (-278, 16)])
def test_a_parquet_file_that_polars_panics_at(place, bit, write):
    """A panic is no Exception in Python, so it passed through every handler."""
    path = write("a.parquet", b"")
    pl.DataFrame({"text": ["a b", "c"]}).write_parquet(path, compression="uncompressed", statistics=False)
    data = bytearray(path.read_bytes())
    data[place] ^= bit
    path.write_bytes(data)
    with suppress(lx.InputError):  # or it is no longer damaged, if Polars writes it in another way
        list(lx.read(path).complete_documents())


def test_a_parquet_file_whose_page_holds_fewer_than_no_values(write):
    """Polars asked for 2⁶¹ bytes and ended the process."""
    path = write("a.parquet", b"")
    pl.DataFrame({"text": ["a b", "c"]}).write_parquet(path, compression="uncompressed", statistics=False)
    good = path.read_bytes()
    two, less = b"\x2c\x15\x04", b"\x2c\x15\x03"  # field 5, a struct, whose field 1 is 2, or −2
    assert two in good
    path.write_bytes(good.replace(two, less, 1))
    with pytest.raises(
        lx.InputError, match=f'"{path}" is damaged: the page at byte .* cannot hold what its header says'
    ):
        lx.read(path)


def test_a_parquet_file_of_more_rows_than_its_bytes_can_be(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"text": ["a"] * 2_000_000}).write_parquet(path)
    assert len(list(lx.read(path).complete_documents())) > 0
    monkeypatch.setattr(files, "MAX_VALUES_PER_BYTE", 1)
    monkeypatch.setattr(files, "MIN_VALUES_ALLOWED", 1000)
    with pytest.raises(lx.InputError, match=r"is damaged, or no corpus: .* rows in .* bytes"):
        lx.read(path)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_good_parquet_files_of_others(version, compression, dictionary, tmp_path, monkeypatch):
    """Every page of them is looked at, and none refused."""
    checked = []
    check = files._check_column
    monkeypatch.setattr(files, "_check_column", lambda *given: checked.append(given) or check(*given))
    table = pa.table({"text": [["a", "b"], [], None, ["ä" * 300]] * 500, "party": ["D", None, "R", ""] * 500})
    arguments = {"data_page_version": version, "compression": compression, "use_dictionary": dictionary}
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=700, data_page_size=512, **arguments)
    corpus = lx.read(tmp_path / "a.parquet", metadata=["party"])
    assert sum(len(batch.frame) for _, batch in corpus.documents()) == 2000
    assert len(checked) == 2 * 3 * 2  # columns, groups of rows, and times it was opened


def test_a_parquet_footer_of_nested_lists_is_refused(tmp_path):
    footer = b"\x19" * 5000
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(lx.InputError, match="cannot read"):
        lx.read(path)


@pytest.mark.slow
def test_damaged_parquet_files(tmp_path):
    """In a process of their own, since Polars may end it."""
    command = [sys.executable, FUZZ / "run.py", "--engine=own", "--target=parquet", "--runs=300", f"--out={tmp_path}"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert report["tried"] == 300
    assert report["failures"] == []
    assert report["deaths"] == 0


@pytest.mark.parametrize(
    ("line", "vector"), [(b"5 \xef\xbb\xbf2", None), (b"c\x0b\x0b 4 5", [4, 5]), (b"c\t4 5", [4, 5])]
)
def test_a_line_of_vectors_means_the_same_read_fast_or_slowly(line, vector, write):
    """Polars passed over a mark at the start of the numbers; other white space was part of words, or was not."""
    for more in (b"", b"\nb c 1 2" if vector else b"\nb c 1"):  # with a space in a word all lines are read slowly
        path = write("a.vec", line + more)
        if vector is None:
            with pytest.raises(lx.InputError, match="is not a number"):
                word2vec.read(path)
        else:
            words, vectors = word2vec.read(path)
            assert words[0] == "c"
            assert vectors[0].tolist() == vector


@pytest.mark.parametrize("weight", ["1_0", "\u0663", "+-1", "1e400", "nan"])
@pytest.mark.parametrize("header", ["", "word1,word2,weight\n"])
def test_a_weight_that_only_python_takes_for_a_number(weight, header, write):
    """Polars made it null, Python did not mind, and the weight was not a number."""
    path = write("a.csv", f"{header}dog,hound,0.5\nhot,cold,1\na,b,{weight}\n")
    try:
        loaded = lexicons.read_pairs(path).weight.tolist()
    except lx.InputError as error:
        assert f"line {4 if header else 3}" in str(error)  # noqa: PT017, either is right
    else:
        assert loaded == [0.5, 1.0, float(weight)]


def test_a_score_that_only_python_takes_for_a_number(write):
    with pytest.raises(lx.InputError, match=r"line 2: .* is not a word, a word and a score"):
        read_rated_pairs(write("a.csv", "dog,cat,1\na,b,1_0\n"))


@pytest.mark.slow
def test_a_line_of_rated_pairs_that_is_too_long(write):
    with pytest.raises(lx.InputError, match="line 2: field larger than field limit"):
        read_rated_pairs(write("a.csv", f"dog,cat,1\na,b,{'1' * csv.field_size_limit()}1\n"))


NAMES = ["", "*", "^a", "a$", " a", "a/text", "literal", "len"]


@pytest.mark.parametrize("way", ["csv", "jsonl", "parquet", "pandas", "polars", "arrow", "dicts"])
@pytest.mark.parametrize("name", NAMES)
def test_a_column_of_any_name(name, way, tmp_path):
    """pandas writes its index as a column without a name, for which Polars made up another."""
    columns = {"text": ["x", "y", "z"], "a": ["1", "2", "3"], name: ["4", None, "6"]}
    frame = pd.DataFrame(columns)
    source = tmp_path / f"a.{way}"
    if way == "csv":
        frame.to_csv(source, index=False)
        name = name.strip()
        if name == "a":
            return  # two of them
    elif way == "jsonl":
        frame.to_json(source, orient="records", lines=True)
    elif way == "parquet":
        pl.DataFrame(columns).write_parquet(source)
    else:
        ways = {"pandas": frame, "polars": pl.DataFrame(columns), "arrow": pa.table(columns)}
        source = ways.get(way, frame.to_dict("records"))
    corpus = lx.read(source, metadata="all", missing="drop")
    documents = [
        row for _, batch in corpus.complete_documents() for row in batch.frame.select(by_name("a", name)).rows()
    ]
    assert documents == [("1", "4"), ("3", "6")]
    loaded = lx.Tokens.of(corpus.where(**{name: "6"}), min_count=1, quiet=True)
    assert (loaded.values("a"), loaded.values(name), len(loaded)) == (["3"], ["6"], 1)


@pytest.mark.parametrize("way", ["pandas", "polars", "dicts"])
def test_a_name_that_is_a_pattern(way):
    """Polars gave the columns that it matches."""
    frame = pd.DataFrame({"text": ["x"], "a": ["1"], "^a$": ["4"]})
    source = {"pandas": frame, "polars": pl.DataFrame(frame.to_dict("list"))}.get(way, frame.to_dict("records"))
    assert len(list(lx.read(source, metadata=["a"]).documents())) == 1
    with pytest.raises(lx.InputError, match=r"a column named .* which Polars takes for a pattern: rename it"):
        list(lx.read(source, metadata="all").documents())
    with pytest.raises(lx.InputError, match="which Polars takes for a pattern"):
        lexicons.read_pairs(pl.DataFrame({"^a$": ["x"], "b": ["y"]}))


def test_a_name_that_laplex_uses_itself():
    with pytest.raises(lx.InputError, match="a column with a NUL character in its name"):
        lx.read([{"text": "a", "\0text": "b"}], metadata="all")


@pytest.fixture
def tokens(tmp_path):
    rows = [{"text": "a b c a b", "party": "D"}, {"text": "a c d", "party": "R"}]
    return storage.load(lx.Tokens.of(lx.read(rows, metadata=["party"]), min_count=1, quiet=True).folder)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("ids", lambda ids: ids + 1, "the id of a word"),
        ("ids", lambda ids: ids - 1, "the id of a word"),
        ("ids", lambda ids: ids.astype(np.int64), "the type of the ids"),
        ("offsets", lambda offsets: offsets * 10**12, "where a document begins"),
        ("offsets", lambda offsets: offsets[::-1].copy(), "where a document begins"),
        ("offsets", lambda offsets: offsets[:0], "where a document begins"),
        ("languages", lambda languages: languages + 1, "the language of a document"),
        ("languages", lambda languages: languages[:1], "the language of a document"),
        ("codes/party", lambda codes: codes - 1, 'the "party" of a document'),
    ],
)
def test_tokens_whose_arrays_do_not_fit_together(name, change, message, tokens, tmp_path):
    """Ids beyond the vocabulary went to kernels that do not look; offsets could ask for all memory."""
    arrays = dict(tokens.arrays)
    arrays[name] = change(np.array(arrays[name]))
    storage.save(tmp_path / "bad", "tokens", tokens.settings, arrays)
    with pytest.raises(lx.StorageError, match=message):
        lx.Tokens(storage.load(tmp_path / "bad", "tokens"))


def test_a_damaged_cache_is_read_anew(tokens, tmp_path):
    """The text is still there, so nobody need be told to delete anything."""
    arrays = dict(tokens.arrays) | {"ids": np.array(tokens.arrays["ids"]) + 1}
    storage.save(tokens.folder, "tokens", tokens.settings, arrays)
    rows = [{"text": "a b c a b", "party": "D"}, {"text": "a c d", "party": "R"}]
    again = lx.Tokens.of(lx.read(rows, metadata=["party"]), min_count=1, quiet=True)
    assert again.digest == tokens.digest


def change_settings(folder, name, value):
    path = folder / storage.MANIFEST
    manifest = json.loads(path.read_text())
    manifest["settings"][name] = value
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize("what", ["columns", "languages"])
@pytest.mark.parametrize("names", [[2**63], "a", [["a"]], ["a", "a"], {"a": 1}, None])
def test_a_model_whose_columns_or_languages_have_no_names(what, names, tmp_path):
    """A number for a name came as far as printing the model."""
    lx.Embeddings.of([Vocabulary(["a"], np.ones(1, np.int64))], [np.ones((1, 2))]).save(tmp_path / "m")
    change_settings(tmp_path / "m", what, names)
    with pytest.raises(lx.StorageError, match=f"is damaged: its {what} are"):
        lx.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("what", "names"), [("columns", ["\ud800"]), ("languages", ["\ud800"]), ("slices", [["\ud800"]])]
)
def test_a_model_with_half_a_character_in_a_name(what, names, tmp_path):
    """pandas raised an error of its own when a table was made of it."""
    slices = Slices(("party",), (("D",),), np.empty(0, np.int32))
    lx.Embeddings.of([Vocabulary(["a"], np.ones(1, np.int64))], [np.ones((1, 2))], slices=slices).save(tmp_path / "m")
    change_settings(tmp_path / "m", what, names)
    with pytest.raises(lx.StorageError, match=r"is damaged: .* surrogates not allowed"):
        lx.load(tmp_path / "m")


def test_a_vocabulary_has_no_half_characters():
    with pytest.raises(lx.InputError, match=r"the word 'b\\udc00' holds half a character"):
        Vocabulary(["a", "b\udc00"], np.ones(2, np.int64))


def test_a_vocabulary_has_each_word_once():
    with pytest.raises(lx.InputError, match='the word "b" is there more than once'):
        Vocabulary(["a", "b", "b"], np.ones(3, np.int64))


@pytest.mark.parametrize(
    ("settings", "arrays"),
    [
        ({"identity": {}}, {"theta": np.zeros(2)}),
        ({"identity": {}, "position": []}, {"theta": np.zeros(2)}),
        ({"identity": {}, "position": Position().to_json() | {"piece": -1}}, {"theta": np.zeros(2)}),
        ({"identity": {}, "position": Position().to_json() | {"totals": [1.0]}}, {"theta": np.zeros(2)}),
        ({"identity": {}, "position": Position().to_json() | {"seconds": None}}, {"theta": np.zeros(2)}),
        ({"identity": {}, "position": Position().to_json() | {"other": 1}}, {"theta": np.zeros(2)}),
        ({"identity": {}, "position": Position().to_json()}, {"accumulator": np.zeros(2)}),
        (
            {"identity": {}, "position": Position().to_json()},
            {"theta": np.zeros(1)},
        ),  # would broadcast
    ],
)
def test_a_damaged_checkpoint(settings, arrays, tmp_path):
    storage.save(tmp_path / "state", "checkpoint", settings, arrays)
    state = {"theta": np.ones(2)}
    with pytest.raises(lx.StorageError, match=r"state.* is damaged"):
        Checkpoint(tmp_path / "state", {}, True).resume(state)
    assert (state["theta"] == 1).all()


@pytest.mark.parametrize(
    ("settings", "arrays"),
    [
        ({}, {}),
        ({"records": [{"key": "k", "epochs": 1, "seconds": 1.0}]}, {}),
        ({"records": [{"key": "k", "epochs": 1}]}, {"0": np.zeros(2)}),
        ({"records": [{"key": "k", "epochs": 1, "seconds": 1.0}]}, {"0": np.zeros(2, np.int8)}),
    ],
)
def test_damaged_results_of_a_tuning(settings, arrays, tmp_path):
    storage.save(tmp_path / "tuning", "tuning", settings, arrays)
    with pytest.raises(lx.StorageError, match=r"tuning.* is damaged"):
        Results(tmp_path / "tuning")
