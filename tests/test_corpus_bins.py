"""Numbers fall into bins of much the same size, whose names have an order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import laplex as lx
from laplex.text import formats
from laplex.text.bins import bins_of
from laplex.text.periods import have_order, in_order, positions


def corpus_of(values, **settings):
    rows = [{"text": "word", "age": value, "year": 2000 + number} for number, value in enumerate(values)]
    return lx.read(rows, **{"metadata": ["year"], "numbers": ["age"]} | settings)


def binned(values, *arguments, **settings):
    """The bin of each document."""
    return corpus_of(values).bins("age", *arguments, **settings).head(len(values))["age_bin"].to_list()


def test_bins_have_much_the_same_number_of_documents():
    counts = corpus_of(range(18, 78)).bins("age", 4).summary().values["age_bin"]
    assert counts == {"18 to 32": 15, "33 to 47": 15, "48 to 62": 15, "63 to 77": 15}
    assert in_order(counts) == ["18 to 32", "33 to 47", "48 to 62", "63 to 77"]


def test_a_bin_that_ties_make_large_leaves_the_rest_to_the_others():
    values = [0] * 60 + list(range(1, 41))
    assert corpus_of(values).bins("age", 5).summary().values["age_bin"] == {
        "0": 60,
        "1 to 10": 10,
        "11 to 20": 10,
        "21 to 30": 10,
        "31 to 40": 10,
    }


def test_fewer_different_numbers_make_fewer_bins_and_it_is_said(capsys):
    assert binned([1, 2, 2, 3], 5) == ["1", "2", "2", "3"]
    assert '"age" has 3 different numbers only, so there are 3 bins' in capsys.readouterr().err
    binned([1, 2], 5, quiet=True)
    assert capsys.readouterr().err == ""


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=2).filter(lambda v: len(set(v)) > 1),
    st.integers(2, 6),
)
def test_bins_are_disjoint_complete_and_in_order(values, count):
    bins = binned(values, count, quiet=True)
    names = [name for _, name in sorted(zip(values, bins))]
    order = list(dict.fromkeys(names))
    assert len(order) == min(count, len(set(values)))
    assert [name for name in order for _ in range(names.count(name))] == names  # none is left and entered again
    assert in_order(order) == order
    assert have_order(order)
    assert (np.diff(positions(order)) > 0).all()
    assert all(len(set(bins[i] for i, x in enumerate(values) if x == value)) == 1 for value in values)


@given(st.lists(st.integers(0, 1000), min_size=200, max_size=200, unique=True), st.integers(2, 10))
def test_without_ties_sizes_differ_by_one(values, count):
    sizes = [binned(values, count).count(name) for name in set(binned(values, count))]
    assert len(sizes) == count
    assert max(sizes) - min(sizes) <= 1


def test_names_have_few_digits_but_differ():
    assert binned([0.123456, 0.2, 99.98765, 123456.7], 2) == ["0.123 to 0.2"] * 2 + ["100 to 123000"] * 2
    assert binned([1.0001, 1.0002, 1.0003, 1.0004], 2) == ["1.0001 to 1.0002"] * 2 + ["1.0003 to 1.0004"] * 2
    assert binned([123456, 123457, 123458, 123459], 2)[0] == "123456 to 123457"
    assert binned([-5, -1, 1e20, 2e20], 2) == ["-5 to -1"] * 2 + ["1e+20 to 2e+20"] * 2


# Edges


def test_edges_of_whole_numbers():
    assert binned([18, 34, 35, 49, 50, 65], [18, 35, 50, 65]) == [
        *["18 to 34"] * 2,
        *["35 to 49"] * 2,
        *["50 to 65"] * 2,
    ]


def test_edges_of_other_numbers():
    assert binned([0.5, 1.0, 2.5], [0, 1, 2.5]) == ["0 to 1", "1 to 2.5", "1 to 2.5"]


def test_edges_without_end():
    assert binned([3, 17, 18, 90], [-math.inf, 18, 65, math.inf]) == ["3 to 17", "3 to 17", "18 to 64", "65 to 90"]
    assert binned([18, 65], [-math.inf, 18, 65, math.inf]) == ["18 to 64", "65"]
    assert binned([18, 40], [-math.inf, 18, 30, 65, math.inf]) == ["18 to 29", "30 to 65"]


# Other steps, columns and sources


def test_a_missing_number_has_no_bin():
    assert corpus_of([18, "NA", 40, None]).bins("age", 2).summary().values["age_bin"] == {"18": 1, "40": 1, None: 2}


def test_bins_respect_the_steps_before_and_after_them():
    corpus = corpus_of(range(10))
    late = corpus.periods("year", "5y").where(period=2005).bins("age", 2)
    assert late.summary().values["age_bin"] == {"5 to 6": 2, "7 to 9": 3}
    assert late.where(age_bin="5 to 6").summary().documents == 2
    assert corpus.bins("age", 2).bins("year", 2).columns == ("year", "age", "age_bin", "year_bin")


def test_bins_go_over_all_parts_of_a_corpus():
    both = corpus_of([1, 2]) + corpus_of([3, 4])
    assert both.bins("age", 2).head(4)["age_bin"].to_list() == ["1 to 2", "1 to 2", "3 to 4", "3 to 4"]


def test_only_the_column_is_read_and_once(write, monkeypatch):
    corpus = lx.read(write("a.csv", "text,age,party\na,1,D\nb,2,R\n"), metadata=["party"], numbers=["age"])
    read = []
    original = formats.Csv.read
    monkeypatch.setattr(formats.Csv, "read", lambda *arguments: read.append(arguments[2]) or original(*arguments))
    assert corpus.bins("age", 2).columns == ("party", "age", "age_bin")
    assert read == [["age"]]
    corpus.where(party=["D", "R"]).bins("age", 2)
    assert read[1:] == [["party", "age"]]


def test_dicts_can_be_read_in_part_after_they_were_read_as_a_whole():
    corpus = corpus_of([1, 2, 3])
    lx.Tokens.of(corpus, min_count=1, quiet=True)
    assert lx.Tokens.of(corpus.bins("age", 2), min_count=1, quiet=True).values("age_bin") == ["1", "2 to 3"]


def test_bins_are_part_of_what_is_cached():
    corpus = corpus_of([1, 2, 3, 4])
    bins = [corpus.bins("age", 2), corpus.bins("age", 3), corpus.bins("age", [1, 3, 4]), corpus.bins("age", [1, 2, 4])]
    folders = [lx.Tokens.of(each, min_count=1, quiet=True).folder for each in (corpus, *bins)]
    assert len(set(folders)) == 4  # two bins are those between 1, 3 and 4 under the same names
    assert corpus.bins("age", 2).identity == corpus.bins("age", 2).identity


def test_tokens_know_bins_as_numbers_and_what_they_were_made_from():
    tokens = lx.Tokens.of(corpus_of([1, 2, 3, 5], numbers=[]).bins("year", 2), min_count=1, quiet=True)
    assert tokens.numbers("year_bin").tolist() == [2000.5, 2000.5, 2002.5, 2002.5]
    rows = [{"text": "a", "year": 2000 + i % 4} for i in range(40)]
    tokens = lx.Tokens.of(lx.read(rows, metadata=["year"]).bins("year", 2), quiet=True)
    assert tokens.determining_columns("year_bin") == []


def test_a_chain_and_drift_go_along_bins():
    rng = np.random.default_rng(1)
    words = np.array([f"w{i}" for i in range(30)])
    rows = [{"text": " ".join(rng.choice(words, 20)), "age": int(age)} for age in rng.integers(18, 90, 400)]
    corpus = lx.read(rows, numbers=["age"]).bins("age", 4)
    prior = lx.Ridge(1.0) + lx.Chain("age_bin", 10.0)
    model = lx.Model(vary=["age_bin"], prior=prior, dimensions=5)
    fitted = lx.fit(model, corpus, epochs=1, tests=False, quiet=True)
    names = fitted.values("age_bin")
    assert len(names) == 4
    assert names == in_order(names)
    assert fitted.ordered("age_bin")
    drift = fitted.drift("age_bin", test=False)
    assert len(drift) == 30


# Bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("income", 5), 'no column "income".* year, age'),
        (("age", 1), "bins=1 must be a whole number from 2"),
        (("age", "5"), "bins='5' must be a whole number from 2"),
        (("age", True), "bins=True must be"),
        (("age", [18, 35]), "at least three edges"),
        (("age", [18, 35, 35]), "edges that rise"),
        (("age", [18, math.nan, 35]), "edges that rise"),
        (("age", ["young", "old", "older"]), "edges as a list of numbers"),
        (("age", [20, 30, 40]), '2 documents have a number in "age" outside of the edges 20, 30, 40 .one is 18.*inf'),
        (("age", [18, 80, 90]), "falls into the same bin"),
        (("age", 2, "year"), 'column "year" already'),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(lx.InputError, match=message):
        corpus_of([18, 20, 70]).bins(*arguments)


def test_columns_that_have_no_bins():
    with pytest.raises(lx.InputError, match=r'1 documents have no number in "age" .one has "NA".*numbers=."age".'):
        corpus_of(["18", "NA", "20"], metadata=["age"], numbers=[]).bins("age", 2)
    with pytest.raises(lx.InputError, match='only the number 18 in "age": bins need at least two'):
        corpus_of(["18", "18.0"]).bins("age", 2)
    with pytest.raises(lx.InputError, match='no number in "age": bins need'):
        corpus_of(["NA", None]).bins("age", 2)
    with pytest.raises(lx.InputError, match="no number"):
        bins_of("age", "bin", [], 2)
