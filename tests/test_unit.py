"""Who was sampled: said when the text is read, kept in corpora, tokens and models, and suggested if it is missing."""

from __future__ import annotations

import pytest

import laplex as lx
from laplex.runtime import storage

COLUMNS = ["party", "senator", "date"]


def speeches(count=48):
    """Speeches of eight senators, each of one party, on days of three years."""
    return [
        {
            "text": "tax cut rich poor bill law",
            "party": "DR"[m % 2],
            "senator": f"s{m % 8}",
            "date": f"{2001 + m % 3}-0{1 + m % 5}-01",
        }
        for m in range(count)
    ]


def tokens_of(**arguments):
    return lx.Tokens.of(lx.read(speeches(), **arguments), min_count=1, quiet=True)


def fit(tokens, vary=("party",), **options):
    prior = lx.Ridge(1.0) + lx.Groups(vary[0], 10.0)
    return lx.fit(lx.Model(list(vary), prior, dimensions=4), tokens, epochs=1, threads=1, **options)


def test_a_unit_is_a_column_that_need_not_be_listed():
    corpus = lx.read(speeches(), metadata=["party"], unit="senator")
    assert (corpus.unit, corpus.columns) == ("senator", ("party", "senator"))
    assert lx.read(speeches(), metadata=["senator", "party"], unit="senator").columns == ("senator", "party")
    assert lx.read(speeches(), metadata="all", unit="senator").columns == tuple(COLUMNS)
    assert lx.read(speeches()).unit is None


@pytest.mark.parametrize("unit", ["text", 5, ["senator"]])
def test_what_cannot_be_a_unit_is_refused(unit):
    with pytest.raises(lx.InputError, match="name the one column that says who was sampled"):
        lx.read(speeches(), unit=unit)


def test_an_unknown_unit_is_refused_with_the_columns_there_are():
    with pytest.raises(lx.InputError, match=r'no column "speaker" in .*party, senator, date'):
        lx.read(speeches(), unit="speaker")


def test_periods_and_where_keep_the_unit():
    corpus = lx.read(speeches(), metadata=COLUMNS, unit="senator")
    assert corpus.periods("date").where(party="D").unit == "senator"


def test_joined_corpora_have_the_same_unit():
    one, other = lx.read(speeches(), unit="senator"), lx.read(speeches(), metadata=["senator"])
    assert (one + one).unit == "senator"
    assert (other + other).unit is None
    for corpora in ((one, other), (other, one)):
        with pytest.raises(lx.InputError, match=r"different units, .*read both with the same unit="):
            corpora[0] + corpora[1]


def test_the_units_of_a_corpus_are_counted():
    corpus = lx.read(speeches(), unit="senator")
    assert "unit" in corpus._repr_html_()
    assert corpus.summary(quiet=True).units == 8
    assert "unit: senator (8 of them)" in str(corpus)


def test_the_demo_is_a_sample_of_presidents():
    assert lx.demo().unit == "president"


def test_tokens_and_models_know_the_unit(tmp_path):
    tokens = tokens_of(metadata=["party"], unit="senator")
    assert tokens.unit == tokens.settings["unit"] == "senator"
    assert lx.Tokens(storage.load(tokens.folder)).unit == "senator"
    fit(tokens, quiet=True).save(tmp_path / "model")
    assert lx.load(tmp_path / "model").settings["tokens"]["unit"] == "senator"


def test_another_unit_is_another_entry_of_the_cache():
    assert tokens_of(metadata=COLUMNS).folder != tokens_of(metadata=COLUMNS, unit="senator").folder
    assert tokens_of(metadata=COLUMNS).unit is None


def with_settings(tokens, folder, **changes):
    saved = storage.load(tokens.folder)
    settings = {name: value for name, value in (saved.settings | changes).items() if value is not ...}
    storage.save(folder, "tokens", settings, saved.arrays)
    return lx.Tokens(storage.load(folder))


def test_tokens_that_were_saved_before_there_were_units_have_none(tmp_path):
    old = with_settings(tokens_of(metadata=COLUMNS), tmp_path / "old", unit=..., periods=...)
    assert old.unit is None
    assert old.determining_columns("party") == ["senator"]


@pytest.mark.parametrize("changes", [{"unit": "speaker"}, {"unit": ["senator"]}, {"periods": [1]}], ids=str)
def test_damaged_settings_are_refused(tmp_path, changes):
    with pytest.raises(lx.StorageError, match="is damaged"):
        with_settings(tokens_of(metadata=COLUMNS), tmp_path / "damaged", **changes)


# The suggestion of a unit


def test_a_fit_without_a_unit_names_the_column_that_decides_another(capsys):
    fit(tokens_of(metadata=COLUMNS))
    message = capsys.readouterr().err
    assert 'every value of "senator" has one value of "party" only' in message
    assert 'lx.read(..., unit="senator") or --unit senator' in message


def test_tuning_without_a_unit_names_the_column_too(capsys):
    tokens = lx.Tokens.of(lx.read(speeches(240), metadata=COLUMNS), min_count=1, quiet=True)
    model = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 10.0), dimensions=4, subsample=0)
    lx.tune(model, tokens, {"party": [1.0, 10.0]}, epochs=1, threads=1, holdout=0.2)
    assert capsys.readouterr().err.count('unit="senator"') == 1


@pytest.mark.parametrize(
    ("arguments", "vary", "quiet"),
    [
        ({"metadata": COLUMNS, "unit": "senator"}, ["party"], False),
        ({"metadata": COLUMNS}, ["party"], True),
        ({"metadata": COLUMNS}, ["senator"], False),
        ({"metadata": ["party", "date"]}, ["party"], False),
    ],
    ids=["a unit", "quiet", "varies by senator", "nothing decides"],
)
def test_nothing_is_suggested_without_need(arguments, vary, quiet, capsys):
    tokens = tokens_of(**arguments)
    capsys.readouterr()
    fit(tokens, vary, quiet=quiet)
    assert "unit=" not in capsys.readouterr().err


def test_a_date_is_no_unit_of_its_period():
    rows = [row | {"day": "/".join(reversed(row["date"].split("-")))} for row in speeches()]
    corpus = lx.read(rows, metadata=["date", "day"])
    by_date, by_day = corpus.periods("date"), corpus.periods("day", format="%d/%m/%Y")
    assert lx.Tokens.of(by_date, min_count=1, quiet=True).determining_columns("period") == ["day"]
    assert lx.Tokens.of(by_day, min_count=1, quiet=True).determining_columns("period") == []


def test_numbers_can_be_units():
    rows = [
        row | {"party": {"D": 100, "R": 200}[row["party"]], "id": 10_700 + int(row["senator"][1])} for row in speeches()
    ]
    tokens = lx.Tokens.of(lx.read(rows, metadata=["party", "id"]), min_count=1, quiet=True)
    assert tokens.determining_columns("party") == ["id"]
