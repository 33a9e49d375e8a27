"""Columns that are read as numbers: one spelling of each, and what is none is missing."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import laplex as lx
from laplex.runtime import storage
from laplex.text.periods import positions

SPELLINGS = [" 1e3", "1000", "1000.0", "+1000", "1E3", 1000, 1000.0, np.float32(1000), "1000.00 "]
NO_NUMBERS = ["NA", "n/a", "", None, float("nan"), "inf", float("-inf"), "nan", "1,000", "1_000", "2010-05-03", True]


def documents(values, column="age"):
    return [{"text": f"word w{number}", column: value} for number, value in enumerate(values)]


def tokens_of(values, **settings):
    return lx.Tokens.of(lx.read(documents(values), **settings), min_count=1, quiet=True)


@pytest.mark.parametrize("value", SPELLINGS, ids=repr)
def test_a_number_has_one_spelling(value):
    tokens = tokens_of([value, "2.50"], numbers=["age"])
    assert tokens.values("age") == ["2.5", "1000"]
    assert tokens.numbers("age").tolist() == [1000.0, 2.5]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_is_missing(value):
    assert tokens_of(["18", value, "34"], numbers=["age"], missing="drop").numbers("age").tolist() == [18.0, 34.0]
    with pytest.raises(lx.InputError, match=r'lack metadata: 1 have no number in "age".*missing="drop"'):
        tokens_of(["18", value, "34"], numbers=["age"])


def test_missing_numbers_are_counted_with_an_example():
    with pytest.raises(lx.InputError, match=r'3 have no number in "age" \(one is "NA"\). One is {\'age\': None}'):
        tokens_of(["18", None, "NA", "n/a"], numbers=["age"])
    with pytest.raises(lx.InputError, match=r"1 have no number in .* One is {'age': 'NA'}, beginning 'word w1'"):
        tokens_of(["18", "NA"], numbers=["age"])
    corpus = lx.read([{"text": "a", "party": None, "age": None}], metadata=["party"], numbers=["age"])
    with pytest.raises(lx.InputError, match=r'1 have no "party", 1 have no number in "age"\. One'):
        lx.Tokens.of(corpus, min_count=1)


def test_every_format_gives_the_same_numbers(write):
    rows = [{"text": "a", "age": 18.0}, {"text": "a", "age": None}, {"text": "a", "age": 1.5}]
    sources = [
        rows,
        pl.DataFrame(rows),
        pd.DataFrame(rows),
        pl.DataFrame(rows, schema_overrides={"age": pl.Float32}),
        pl.DataFrame(rows, schema_overrides={"age": pl.Decimal(10, 3)}),
        write("a.csv", "text,age\na,18.0\na,\na,1.5\n"),
        write("a.jsonl", '{"text": "a", "age": 18.0}\n{"text": "a"}\n{"text": "a", "age": "1.5"}\n'),
    ]
    for source in sources:
        assert lx.read(source, numbers=["age"]).summary().values["age"] == {"18": 1, None: 1, "1.5": 1}


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
@example([5e-324, -0.0, 1.7976931348623157e308, 0.1 + 0.2, 2.0**63])
def test_no_number_is_lost(values):
    assert tokens_of(values, numbers=["age"]).numbers("age").tolist() == values


def test_columns_of_numbers_are_metadata_and_where_knows_their_spelling():
    corpus = lx.read(documents(["18.0", "34"]), numbers=["age"])
    assert corpus.columns == corpus.numbers == ("age",)
    for value in (18, 18.0, "18.00", ["1.8e1", "NA"]):
        assert corpus.where(age=value).summary().documents == 1


def test_numbers_are_part_of_what_is_cached():
    values = ["1", "1.0"]
    plain, numeric = tokens_of(values, metadata=["age"]), tokens_of(values, numbers=["age"])
    assert (plain.values("age"), numeric.values("age")) == (["1", "1.0"], ["1"])
    assert plain.settings["numbers"] == []
    assert numeric.settings["numbers"] == ["age"]
    assert tokens_of(values, metadata=["age"], numbers=("age",)).folder == numeric.folder


def test_tokens_that_were_cached_before_there_were_numbers_still_load(tmp_path):
    saved = storage.load(tokens_of(["1", "2"], metadata=["age"]).folder)
    settings = {name: value for name, value in saved.settings.items() if name not in ("numbers", "bins")}
    storage.save(tmp_path / "old", "tokens", settings, saved.arrays)
    assert lx.Tokens(storage.load(tmp_path / "old")).numbers("age").tolist() == [1.0, 2.0]


# Numbers of columns that were read as text


def test_two_spellings_of_a_number_are_one_number():
    tokens = tokens_of(["1.0", "2", "1"], metadata=["age"])
    assert tokens.numbers("age").tolist() == [1.0, 2.0, 1.0]
    assert positions(tokens.values("age")).tolist() == [1.0, 1.0, 2.0]
    assert positions(["1", "1.0", "1.00"]) is None


def test_periods_are_numbers_in_years():
    assert tokens_of(["1990s", "2010-07"], metadata=["age"]).numbers("age") == pytest.approx([1995.0, 2010.5416667])
    assert tokens_of([2010, 1999], metadata=["age"]).numbers("age").tolist() == [2010.0, 1999.0]


def test_a_number_that_looks_like_a_day_is_a_number_if_that_was_said():
    assert tokens_of(["20100503"], metadata=["age"]).numbers("age") == pytest.approx([2010.336], abs=1e-3)
    assert tokens_of(["20100503"], numbers=["age"]).numbers("age").tolist() == [20100503.0]


def test_a_column_without_numbers_says_what_to_do():
    message = r'2 of 3 documents have no number in "age" \(one has "old"\).*numbers=\["age"\], missing="drop"'
    with pytest.raises(lx.InputError, match=message):
        tokens_of(["18", "old", "older"], metadata=["age"]).numbers("age")
    with pytest.raises(lx.InputError, match='no column "income"'):
        tokens_of(["18"], metadata=["age"]).numbers("income")


def test_a_number_is_not_taken_for_who_was_sampled():
    rows = [{"text": "a b", "party": "DR"[i % 2], "speaker": f"s{i % 4}", "income": 100 + i % 4} for i in range(40)]
    text = lx.Tokens.of(lx.read(rows, metadata=["party", "speaker", "income"]), quiet=True)
    assert text.determining_columns("party") == ["income", "speaker"]
    numeric = lx.Tokens.of(lx.read(rows, metadata=["party", "speaker"], numbers=["income"]), quiet=True)
    assert numeric.determining_columns("party") == ["speaker"]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [("age", r'write numbers=\["age"\]'), (["income"], 'no column "income"'), (["text"], "the column with the text")],
)
def test_wrong_columns_of_numbers(numbers, message):
    with pytest.raises(lx.InputError, match=message):
        lx.read(documents(["18"]), numbers=numbers)


def test_a_number_of_its_own_for_every_document_takes_no_time():
    count = 100_000
    income = np.random.default_rng(1).permutation(count) / 7
    frame = pl.DataFrame({"text": ["a b"] * count, "party": ["D", "R"] * (count // 2), "income": income})
    started = time.monotonic()
    corpus = lx.read(frame, metadata=["party"], numbers=["income"])
    assert "income: 100,000 values, 0 to 14285.5" in str(corpus.summary(quiet=True))
    tokens = lx.Tokens.of(corpus, quiet=True)
    assert (tokens.numbers("income") == income).all()
    assert tokens.determining_columns("party") == []
    assert time.monotonic() - started < 30  # about 2 on an idle machine; quadratic work would take hours
