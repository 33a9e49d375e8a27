"""Dates fall into the right periods."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

import laplex as lx
from laplex.fitting.provenance import value_name
from laplex.inference.comparisons import halves_of_line
from laplex.text.periods import have_order, in_order, positions

STEPS = {"1y": 366, "2y": 731, "10y": 3653, "6m": 184, "5m": 153, "1m": 31, "2w": 14, "30d": 30, "1d": 1}


def periods(values, every, **settings):
    corpus = lx.read([{"text": "a", "date": value} for value in values], metadata=["date"])
    return corpus.periods("date", every, **settings).head(len(values))["period"].to_list()


@pytest.mark.parametrize(
    ("every", "expected"),
    [
        ("1y", ["1999", "2010", "2011"]),
        ("2y", ["1998", "2010", "2010"]),
        ("10y", ["1990", "2010", "2010"]),
        ("6m", ["1999-07", "2010-01", "2011-07"]),
        ("2w", ["1999-12-27", "2010-05-03", "2011-07-11"]),
        ("30d", ["1999-12-29", "2010-04-05", "2011-06-29"]),
    ],
)
def test_a_period_is_named_by_its_beginning(every, expected):
    assert periods(["1999-12-31", "2010-05-03", "2011-07-20"], every) == expected


@pytest.mark.parametrize(
    "date",
    [
        "2010-05-03",
        "20100503",
        "2010-05-03T23:59:59Z",
        "2010-05-03 01:02:03.5",
        dt.date(2010, 5, 3),
        dt.datetime(2010, 5, 3),
        dt.datetime(2010, 5, 3, 23, 59),
    ],
)
def test_dates_in_many_forms(date):
    assert periods([date], "1m") == ["2010-05"]
    assert periods([date], "1d") == ["2010-05-03"]


@pytest.mark.parametrize("year", [2010, 2010.0, "2010", " 2010 ", "2010-12", "201012"])
def test_years_and_months_will_do_for_steps_of_years(year):
    assert periods([year], "4y") == ["2008"]


def test_months_will_do_for_steps_of_months():
    assert periods(["2010-05"], "6m") == ["2010-01"]


def test_years_count_from_the_start_given():
    assert periods([1860, 1861, 1900, 1901], "40y", start=1861) == ["1821", "1861", "1861", "1901"]


def test_months_count_from_the_start_given():
    assert periods(["2010-07", "2010-08", "2011-03"], "7m", start=2010) == ["2010-01", "2010-08", "2011-03"]


def test_dates_in_a_format_of_their_own():
    assert periods(["31/12/2010", "01/01/2011"], "1y", format="%d/%m/%Y") == ["2010", "2011"]


def test_missing_dates_stay_missing():
    assert lx.read([{"text": "a", "date": None}], metadata=["date"]).periods("date").summary().values["period"] == {
        None: 1
    }


@given(st.dates(), st.sampled_from(sorted(STEPS)))
def test_a_date_lies_between_its_period_and_the_next(date, every):
    beginning = periods([date], every)[0]
    assert beginning <= date.isoformat()
    try:
        later = dt.date.fromisoformat((beginning + "-01-01")[:10]) + dt.timedelta(STEPS[every])
    except (ValueError, OverflowError):
        return  # the next period, or the beginning of the first, is outside the years 1 to 9999
    assert periods([later], every)[0] > date.isoformat()


@given(st.dates())
def test_weeks_begin_on_mondays(date):
    beginning = dt.date.fromisoformat(periods([date], "1w")[0])
    assert beginning.weekday() == 0
    assert 0 <= (date - beginning).days < 7


@pytest.mark.parametrize("every", ["6m", "2w", "30d"])
def test_a_year_is_too_coarse_for_steps_within_it(every):
    with pytest.raises(lx.InputError, match=f'no day or month in "2011".*every="{every}" is too fine'):
        periods(["2010-05-03", "2011"], every)


@pytest.mark.parametrize(
    "date", ["May 2010", "2010-13-01", "2010-02-30", "201013", "2010 Smith", "10", "२०१०", "2010-05-03x", "-2010"]
)
def test_what_is_no_date_is_named(date):
    with pytest.raises(lx.InputError, match=f'"date": "{date}" is neither a date .*document 1 of a list.*format='):
        periods(["2009", date], "1y")


def test_a_value_that_does_not_follow_the_format_is_named():
    with pytest.raises(lx.InputError, match='"2010" is neither a date'):
        periods(["01/02/2010", "2010"], "1y", format="%d/%m/%Y")


@pytest.mark.parametrize("every", ["y", "0y", "1", "1h", "-1y", "1.5y", "", "1Y"])
def test_what_is_no_step_of_time_is_refused(every):
    with pytest.raises(lx.InputError, match="not a step of time"):
        periods(["2010"], every)


def test_a_start_makes_no_sense_for_weeks():
    with pytest.raises(lx.InputError, match="start=2010 is a year"):
        periods(["2010-05-03"], "2w", start=2010)


def test_values_are_in_the_order_of_numbers_or_of_the_alphabet():
    assert in_order(["10", "9", "1.5", "-2"]) == ["-2", "1.5", "9", "10"]
    assert in_order(["b", "10", "9"]) == ["10", "9", "b"]
    assert in_order(["2", "nan", "1"]) == in_order(["nan", "1", "2"]) == ["1", "2", "nan"]


def test_ranges_of_numbers_have_an_order_and_a_place():
    ranges = ["-5 to 0", "0.5", "2 to 9", "10 to 20"]
    assert in_order(reversed(ranges)) == ranges
    assert have_order(ranges)
    assert positions(ranges).tolist() == [-2.5, 0.5, 5.5, 15.0]
    assert in_order(["9 to 2", "10 to 20"]) == ["10 to 20", "9 to 2"]  # the first is no range
    assert not have_order(["here to there"])
    assert positions(["20 to 10", "30 to 40"]) is None


@pytest.mark.parametrize(
    "values", [["1994–1990", "1999–1995"], ["2008-09", "2012-13"], ["2010-02-30"], ["2", "1"], ["a"]]
)
def test_what_is_unclear_or_not_in_order_has_no_position(values):
    assert positions(values) is None


def test_periods_of_a_model_are_shown_with_the_years_in_them(tmp_path):
    rows = [{"text": "taxes are too high", "year": year, "age": "18"} for year in range(1861, 1945)]
    corpus = lx.read(rows, metadata=["year", "age"]).periods("year", "40y", start=1861)
    tokens = lx.Tokens.of(corpus, min_count=1, cache=tmp_path, quiet=True)
    model = lx.Model(["period"], lx.Ridge(1.0) + lx.Chain("period", 1.0), dimensions=2)
    fitted = lx.fit(model, tokens, epochs=1, threads=1, tests=False, quiet=True)
    assert value_name(fitted, "period", "1861") == "1861–1900"
    names, _ = halves_of_line(fitted, "period", fitted.values("period"))
    assert names == ("1861–1900", "1901–1944")  # the text ends in 1944
    assert value_name(fitted, "year", "1861", "1900") == "1861 to 1900"
