"""Every way to pass documents gives the same documents."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import laplex as lx
from laplex.text import formats

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def as_csv(documents, delimiter=","):
    file = io.StringIO(newline="")
    rows = csv.DictWriter(file, list(documents[0]), delimiter=delimiter)
    rows.writeheader()
    rows.writerows(documents)
    return file.getvalue()


def as_jsonl(documents):
    return "".join(json.dumps(document, ensure_ascii=False) + "\n" for document in documents)


def as_parquet(documents):
    file = io.BytesIO()
    pl.DataFrame(documents).write_parquet(file)
    return file.getvalue()


def a_folder(write, documents):
    write("folder/.hidden.csv", "")
    write("folder/notes.md", "not a corpus")
    write("folder/2.csv", as_csv(documents[2:]))
    return write("folder/1.csv", as_csv(documents[:2])).parent


WAYS = {
    "csv": lambda write, d: write("a.csv", as_csv(d)),
    "csv.gz": lambda write, d: write("a.csv.gz", gzip.compress(as_csv(d).encode())),
    "csv with semicolons": lambda write, d: write("a.csv", as_csv(d, ";")),
    "csv with a byte order mark": lambda write, d: write("a.csv", as_csv(d), "utf-8-sig"),
    "csv with blank lines first": lambda write, d: write("a.csv", "\r\n\n" + as_csv(d)),
    "tsv": lambda write, d: write("a.tsv", as_csv(d, "\t")),
    "jsonl": lambda write, d: write("a.jsonl", as_jsonl(d)),
    "jsonl.gz": lambda write, d: write("a.jsonl.gz", gzip.compress(as_jsonl(d).encode())),
    "jsonl.zst": lambda write, d: write("a.ndjson.zst", zstd.compress(as_jsonl(d).encode())),
    "jsonl with a byte order mark": lambda write, d: write("a.jsonl", as_jsonl(d), "utf-8-sig"),
    "parquet": lambda write, d: write("a.parquet", as_parquet(d)),
    "string path": lambda write, d: str(write("a.parquet", as_parquet(d))),
    "folder": a_folder,
    "glob": lambda write, d: str(a_folder(write, d) / "*.csv"),
    "list of paths": lambda write, d: [a_folder(write, d) / "1.csv", str(a_folder(write, d) / "2.csv")],
    "pandas": lambda write, d: pd.DataFrame(d),
    "pandas of categories": lambda write, d: pd.DataFrame(d).astype({"party": "category", "year": "Int64"}),
    "polars": lambda write, d: pl.DataFrame(d),
    "polars of categories": lambda write, d: pl.DataFrame(d).cast({"party": pl.Categorical}),
    "LazyFrame": lambda write, d: pl.LazyFrame(d),
    "Arrow": lambda write, d: pa.Table.from_pylist(d),
    "tuple of dicts": lambda write, d: tuple(d),
}


def same(tokens, others):
    np.testing.assert_array_equal(tokens.ids, others.ids)
    np.testing.assert_array_equal(tokens.offsets, others.offsets)
    for column in ("party", "year"):
        assert tokens.values(column) == others.values(column)
        np.testing.assert_array_equal(tokens.codes(column), others.codes(column))


@pytest.fixture
def expected(documents):
    return lx.Tokens.of(lx.read(documents, metadata=["party", "year"]), min_count=1)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_same_tokens(way, documents, write, expected, decode):
    tokens = lx.Tokens.of(lx.read(WAYS[way](write, documents), metadata=["party", "year"]), min_count=1)
    same(tokens, expected)
    assert decode(tokens)[4] == ["the", "cat", "the", "dog"]


def test_codes_are_the_metadata_of_each_document(expected, documents):
    for column in ("party", "year"):
        values = [expected.values(column)[code] for code in expected.codes(column)]
        assert values == [str(document[column]) for document in documents]
    assert expected.values("year") == ["2009", "2010", "2011", "2012"]


def test_an_object_that_starts_anew_gives_the_same_tokens(again, expected):
    same(lx.Tokens.of(lx.read(again, metadata=["party", "year"]), min_count=1), expected)


@pytest.mark.parametrize("way", ["csv", "jsonl", "parquet", "pandas", "polars", "LazyFrame", "Arrow"])
def test_batches_of_any_size_give_the_same_tokens(way, documents, write, monkeypatch, tmp_path):
    corpus = lx.read(WAYS[way](write, documents * 300), metadata=["party", "year"])
    expected_tokens = lx.Tokens.of(corpus)
    monkeypatch.setattr(formats, "MAX_BATCH_ROWS", 50)
    assert len(list(corpus.documents())) > 3
    same(lx.Tokens.of(corpus, cache=tmp_path / "other"), expected_tokens)


@pytest.mark.parametrize(("encoding", "text"), [("latin-1", "naïve"), ("utf-16", "naïve 東京"), ("UTF8", "naïve")])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt"])
def test_other_encodings(encoding, text, name, write):
    content = {"a.csv": f"text\n{text}\n", "a.jsonl": as_jsonl([{"text": text}]), "a.txt": f"{text}\n"}[name]
    assert lx.read(write(name, content, encoding), encoding=encoding).head()["text"][0].strip() == text


def test_newlines_in_quotes_stay_as_they_are(write):
    path = write("a.csv", '"text",party\r\n"one\r\ntwo\nthree ""four""",D\r\n')
    assert lx.read(path, metadata=["party"]).head().to_dict("list") == {
        "text": ['one\r\ntwo\nthree "four"'],
        "party": ["D"],
    }


def test_plain_text_by_lines(write):
    corpus = lx.read(write("speech.txt", "one two\nthree\r\n\nfour"), metadata=["file"])
    assert [text.strip() for text in corpus.head()["text"]] == ["one two", "three", "", "four"]
    assert set(corpus.head()["file"]) == {"speech"}


def test_plain_text_by_files(write):
    write("speeches/b.txt", "three\nfour")
    folder = write("speeches/a.txt.gz", gzip.compress(b"one\ntwo")).parent
    head = lx.read(folder, metadata=["file"], documents="files").head()
    assert head.to_dict("list") == {"text": ["one\ntwo", "three\nfour"], "file": ["a", "b"]}


TYPED = {
    "text": ["a", "b", "c"],
    "whole": [1, 2, 3],
    "gaps": [2010, None, 2012],
    "share": [0.5, 2.0, -1.25],
    "date": [dt.date(2010, 5, 3), None, dt.date(1999, 12, 31)],
    "moment": [dt.datetime(2010, 5, 3), dt.datetime(2010, 5, 3, 12, 30), None],
    "flag": [True, False, None],
}
AS_TEXT = {
    "text": ["a", "b", "c"],
    "whole": ["1", "2", "3"],
    "gaps": ["2010", None, "2012"],
    "share": ["0.5", "2", "-1.25"],
    "date": ["2010-05-03", None, "1999-12-31"],
    "moment": ["2010-05-03", "2010-05-03 12:30:00", None],
    "flag": ["true", "false", None],
}
WRITTEN = {"csv": AS_TEXT, "jsonl": {name: AS_TEXT[name] for name in ("date", "moment")}}  # JSON has no dates


def rows(columns):
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize(
    "way", ["csv", "jsonl", "parquet", "pandas", "polars", "LazyFrame", "Arrow", "tuple of dicts", "Arrow in pandas"]
)
def test_metadata_of_every_type_becomes_the_same_text(way, write):
    if way == "Arrow in pandas":
        source = pa.table(TYPED).to_pandas(types_mapper=pd.ArrowDtype)
    else:
        source = WAYS[way](write, rows(TYPED | WRITTEN.get(way, {})))
    head = lx.read(source, metadata="all").head().astype(object)
    assert head.where(head.notna(), None).to_dict("list") == AS_TEXT


@pytest.mark.parametrize(
    "moment", [dt.datetime(2010, 5, 3, 1, 2, 3, 456789), dt.datetime(2010, 5, 3, 1, 2, 3, tzinfo=dt.UTC)]
)
@pytest.mark.parametrize("way", ["tuple of dicts", "pandas", "polars", "Arrow"])
def test_parts_of_seconds_and_time_zones_are_left_off(moment, way, write):
    source = WAYS[way](write, [{"text": "a", "moment": moment}])
    assert lx.read(source, metadata=["moment"]).head()["moment"].to_list() == ["2010-05-03 01:02:03"]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_pandas_times_of_every_resolution(unit):
    frame = pd.DataFrame({"text": ["a", "b"], "day": pd.Series(["2010-05-03", None], dtype=f"datetime64[{unit}]")})
    assert lx.read(frame, metadata=["day"]).summary().values["day"] == {"2010-05-03": 1, None: 1}


@pytest.mark.parametrize("number", [1e20, -1e300, float("inf"), np.float32(2010), np.float32(0.1), -0.0])
def test_odd_numbers_are_the_same_text_from_lists_and_frames(number):
    sources = ([{"text": "a", "n": number}], pl.DataFrame({"text": ["a"], "n": [number]}))
    listed, framed = (lx.read(source, metadata=["n"]).head()["n"].to_list() for source in sources)
    assert listed == framed
    assert None not in listed


def test_pandas_labels_need_not_be_strings():
    frame = pd.DataFrame({"text": ["a"], 2010: ["x"]})
    assert lx.read(frame, metadata=["2010"]).head()["2010"].to_list() == ["x"]


def test_spaces_around_metadata_are_trimmed_and_blanks_are_missing(write):
    corpus = lx.read(write("a.csv", "text, party \na, D \nb,  \n"), metadata=["party"])
    assert corpus.summary().values["party"] == {"D": 1, None: 1}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pl.Series([1], dtype=pl.Int32), pl.Series([dt.date(1970, 1, 2)])),
        (pl.Series(["x"], dtype=pl.Enum(["x"])), pl.Series(["y"], dtype=pl.Enum(["y"]))),
        (pl.Series(["x"], dtype=pl.Categorical), pl.Series(["y"], dtype=pl.Categorical)),
    ],
    ids=["number and date", "enum", "categorical"],
)
def test_frames_that_differ_only_in_type_are_told_apart(first, second):
    for values in (first, second):
        corpus = lx.read(pl.DataFrame({"text": ["a"], "value": values}), metadata=["value"])
        assert lx.Tokens.of(corpus, min_count=1).values("value") == values.cast(pl.String).to_list()
