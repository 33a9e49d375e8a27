"""Design matrices: their columns against a plain computation, cells, bins, and formulas that cannot be used."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import laplex as lx
from laplex.inference import covariates, design
from laplex.inference.covariates import Covariates
from laplex.inference.design import Coefficient, Design, DesignUnits
from laplex.inference.formulas import formula_of
from laplex.inference.standardization import standardize
from laplex.inference.units import Units

COUNT = 400


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(1)
    columns = {
        "text": ["one two three four five"[: 4 + 5 * (m % 4)] for m in range(COUNT)],
        "party": random.choice(["D", "I", "R"], COUNT),
        "year": random.choice([1990, 2000, 2001, 2010], COUNT),
        "age": random.integers(20, 80, COUNT),
        "income": np.round(random.lognormal(3, 1, COUNT), 3),
        "chamber": random.choice([1, 2, 3], COUNT),
        "birth place": random.choice(["north", "south, west", "a[T.b]:c"], COUNT),
        "speaker": [f"s{m % 100}" for m in range(COUNT)],
        "change": random.choice([-2, 0, 3], COUNT),
    }
    made = pd.DataFrame(columns)
    made["president"] = made["party"] + random.choice(["1", "2"], COUNT)
    made["decade"] = made["year"] // 10 * 2 + 7
    made["same"] = "x"
    return made


@pytest.fixture(scope="module")
def tokens(frame, shared_cache):
    names = [name for name in frame if name != "text"]
    numbers = ["year", "age", "income", "chamber", "change"]
    return lx.Tokens.of(lx.read(frame, metadata=names, numbers=numbers), min_count=1, quiet=True)


def made(tokens, formula, documents=None):
    documents = np.arange(COUNT) if documents is None else documents
    return Design.of(Covariates(tokens, documents), formula)


def standardized(values):
    values = np.asarray(values, float)
    return (values - values.mean()) / values.std()


def dummy(values, level):
    return (np.asarray(values) == level).astype(float)


def test_columns_are_those_of_a_plain_computation(tokens, frame):
    found = made(tokens, "~ party * year + s(age) + C(chamber)")
    matrix = found.matrix[found.cell]
    names = ["Intercept", "party[T.I]", "party[T.R]", "year"]
    names += ["C(chamber)[T.2]", "C(chamber)[T.3]", "party[T.I]:year", "party[T.R]:year"]
    by_name = dict(zip(found.names, matrix.T))
    assert found.names[0] == "Intercept"
    assert set(names) <= set(found.names)
    year = standardized(frame["year"])
    expected = {"Intercept": np.ones(COUNT), "year": year}
    expected |= {f"party[T.{party}]": dummy(frame["party"], party) for party in "IR"}
    expected |= {f"party[T.{party}]:year": dummy(frame["party"], party) * year for party in "IR"}
    expected |= {f"C(chamber)[T.{number}]": dummy(frame["chamber"], number) for number in (2, 3)}
    for name, values in expected.items():
        np.testing.assert_allclose(by_name[name], values, atol=1e-12, err_msg=name)
    spline = [k for k, name in enumerate(found.names) if name.startswith("s(age)")]
    assert len(spline) == 3
    assert len(found.names) == len(names) + 3
    np.testing.assert_allclose(matrix[:, spline].mean(0), 0, atol=1e-9)
    # a natural spline holds the straight line, and is straight beyond the first and the last knot, here not at all
    fitted = np.linalg.lstsq(matrix[:, [0, *spline]], standardized(frame["age"]), rcond=None)[0]
    np.testing.assert_allclose(matrix[:, [0, *spline]] @ fitted, standardized(frame["age"]), atol=1e-8)
    terms = {(one.term, one.level): one.columns for one in found.coefficients}
    place = found.names.index
    assert terms[("party", "R")] == (place("party[T.R]"),)
    assert terms[("party", "")] == (place("party[T.I]"), place("party[T.R]"))
    assert terms[("party:year", "I")] == (place("party[T.I]:year"),)
    assert terms[("year", "")] == (place("year"),)
    assert terms[("s(age)", "")] == tuple(spline)
    assert terms[("C(chamber)", "3")] == (place("C(chamber)[T.3]"),)
    assert len(terms) == len(found.coefficients) == 3 + 1 + 3 + 1 + 3


def test_documents_with_the_same_values_make_up_a_cell(tokens, frame):
    found = made(tokens, "~ party + year")
    pairs = frame[["party", "year"]].drop_duplicates()
    assert len(found.matrix) == len(pairs) == len(found.cells)
    shown = found.cells.iloc[found.cell].reset_index(drop=True)
    assert (shown["party"].astype(str) == frame["party"]).all()
    np.testing.assert_allclose(shown["year"], frame["year"])
    assert found.scales["year"] == pytest.approx((frame["year"].mean(), frame["year"].std(ddof=0)))
    assert set(found.factors) == {"party"}
    assert (np.array(sorted(set(frame["party"])))[found.levels("party")][found.cell] == frame["party"]).all()


def test_factors_know_all_columns_of_the_terms_that_they_are_in(tokens):
    found = made(tokens, "~ party * year + C(chamber)")
    of_party = {found.names[k] for k in found.factors["party"]}
    assert of_party == {"party[T.I]", "party[T.R]", "party[T.I]:year", "party[T.R]:year"}
    assert {found.names[k] for k in found.factors["chamber"]} == {"C(chamber)[T.2]", "C(chamber)[T.3]"}


def test_numbers_with_many_values_are_put_into_bins(tokens, frame):
    assert frame["income"].nunique() > covariates.MAX_LEVELS
    found = made(tokens, "~ income")
    assert len(found.matrix) == covariates.BINS
    order = np.argsort(frame["income"].to_numpy(), kind="stable")
    bins = found.cell[order]
    assert (np.diff(found.cells["income"].to_numpy()[bins]) >= -1e-9).all()  # neighbors
    assert np.bincount(found.cell).min() >= 0.8 * COUNT / covariates.BINS
    for cell in range(covariates.BINS):
        inside = frame["income"][found.cell == cell]
        assert found.cells["income"][cell] == pytest.approx(inside.mean())
    np.testing.assert_allclose(found.matrix[found.cell, 1].std(), 1.0)
    assert len(made(tokens, "~ age").matrix) == frame["age"].nunique() <= covariates.MAX_LEVELS


def test_names_with_spaces_and_levels_with_any_characters(tokens, frame):
    for formula in ("~ `birth place` + party", "~ C(`birth place`) + party", formula_of(["birth place", "party"])):
        found = made(tokens, formula)
        levels = {one.level: one.columns for one in found.coefficients if "birth" in one.term}
        assert set(levels) == {"north", "south, west", ""}, formula
        column = found.matrix[found.cell, levels["south, west"][0]]
        np.testing.assert_array_equal(column, dummy(frame["birth place"], "south, west"))
        assert set(found.factors) == {"birth place", "party"}
        assert set(found.factors["birth place"]) == set(levels[""])
    with_number = made(tokens, "~ `birth place` * year")
    assert {c.level for c in with_number.coefficients if ":" in c.term} == {"north", "south, west", ""}


def test_another_level_can_be_the_reference(tokens, frame):
    found = made(tokens, '~ C(party, "R") + C(year, 2000)')
    assert [c.level for c in found.coefficients if "party" in c.term] == ["D", "I", ""]
    assert [c.level for c in found.coefficients if "year" in c.term] == ["1990", "2001", "2010", ""]
    level = next(c for c in found.coefficients if c.level == "D")
    np.testing.assert_array_equal(found.matrix[found.cell, level.columns[0]], dummy(frame["party"], "D"))


def test_logarithms_are_of_numbers_in_their_units(tokens, frame):
    found = made(tokens, "~ log(age)")
    np.testing.assert_allclose(found.matrix[found.cell, 1], standardized(np.log(frame["age"])))
    assert found.coefficients == [Coefficient("log(age)", "", (1,))]
    assert made(tokens, "~ s(age, 5)").matrix.shape[1] == made(tokens, "~ s(age, df=5)").matrix.shape[1] == 6


def test_columns_that_are_controlled_for_make_a_formula(tokens):
    covariates = Covariates(tokens, np.arange(COUNT))
    given = ["year", "age", "birth place", "year"]
    assert covariates.formula(given) == "~ C(`year`) + s(`age`) + C(`birth place`)"
    assert covariates.formula([" ~ year * party"]) == " ~ year * party"
    assert formula_of(" ~ party") == " ~ party"


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("party ~ year", 'the formula "party ~ year" does not begin with "~": write "~ party'),
        ("party", 'the formula "party" does not begin with "~"'),
        ("~ nobody + year", 'names "nobody", which is no column; there are party, year'),
        ("~ `birth  place`", 'names "birth  place", which is no column; there are party, year'),
        ("~ C(`birth  place`)", 'names "birth  place", which is no column'),
        ("~ 1", "names no column; there are party"),
        ("~ __import__('os').system('x')", "cannot be read|is not allowed in a formula"),
        ("~ {__import__('os').system('x')}", "is not allowed in a formula: it may have columns"),
        ("~ {party}", "is not allowed in a formula"),
        ("~ np.log(year)", r'"np.log\(year\)" is not allowed in a formula'),
        ("~ exp(year)", "is not allowed in a formula"),
        ("~ log(year + 1)", "is not allowed in a formula"),
        ("~ C(party, year)", "is not allowed in a formula"),
        ("~ party.values", 'names "party.values", which is no column'),
        ("~ {party.values}", "is not allowed in a formula"),
        ("~ party[0]", "is not allowed in a formula"),
        ("~ (lambda: 1)()", "is no column"),
        ("~ party +* year", "cannot be read"),
        ("~ party + (year", "cannot be read"),
        ("~ party + year - 1", "without an intercept compares nothing: leave out the 0 or the -1"),
        ("~ 0 + party", "without an intercept compares nothing"),
        ("~ party + president", "president.*are collinear.*leave one of them out"),
        ("~ year + decade + s(year)", "collinear"),
        ("~ party + same", '"same" has one value only in these documents: leave it out'),
        ("~ party + speaker", '"speaker" has 100 values, more than the 64 that a factor may have: take a coarser'),
        ("~ C(income)", r"C\(income\) has .* levels, more than 64"),
        ("~ log(change)", r"log\(change\) needs numbers above 0; the smallest is -2"),
        ("~ log(party)", r"log\(party\) needs a number"),
        ("~ s(party)", r"s\(party\) needs a number"),
        ('~ C(party, "nobody")', "\"party\" has no value 'nobody'; it has D, I, R"),
        ("~ s(chamber)", r'"chamber" has 3 values, too few for s\(chamber\) with 3 columns: write chamber for a line'),
        ("~ s(age, 0)", r'the formula "~ s\(age, 0\)" cannot be evaluated: .*df'),
        ("~ C(party, ref='D')", "cannot be evaluated: .*unexpected keyword argument 'ref'"),
        ("~ party | year", "has a left side"),
    ],
)
def test_bad_formulas_are_named(tokens, formula, message):
    with pytest.raises(lx.InputError, match=message) as raised:
        made(tokens, formula_of(formula))
    assert "Unable to evaluate" not in str(raised.value)
    assert len(str(raised.value)) < 400


def test_columns_with_the_same_meaning_are_named_and_no_others(tokens):
    with pytest.raises(lx.InputError, match="collinear") as raised:
        made(tokens, "~ chamber + C(year) + decade")  # decades are those of three of the four years
    assert "chamber" not in str(raised.value)
    assert "decade" in str(raised.value)
    with pytest.raises(lx.InputError, match="collinear") as raised:
        made(tokens, "~ chamber + age + C(chamber)")
    assert "age" not in str(raised.value)


def test_combinations_without_documents_are_named(tokens, frame):
    documents = np.flatnonzero(~((frame["party"] == "R") & (frame["year"] == 2010)))
    with pytest.raises(lx.InputError, match=r"no document has party\[T.R\]:C\(year\)\[T.2010\]: leave it out of the"):
        made(tokens, "~ party * C(year)", documents)


def test_too_many_combinations_are_counted(tokens, monkeypatch):
    monkeypatch.setattr(design, "MAX_CELLS", 100)
    with pytest.raises(lx.InputError, match=r"age, income have \d\d\d combinations of values, more than 100: .*bins"):
        made(tokens, "~ age + income")


def test_units_say_who_has_most_of_the_information(tokens, frame):
    """One speaker alone has both values of a column that is decided by others otherwise."""
    found = made(tokens, "~ party + year")
    speaker = tokens.codes("speaker").astype(np.int64)
    units = Units.group(np.arange(COUNT), speaker, found.cell, [str(i) for i in range(len(found.matrix))])
    rows = DesignUnits.of(units, found.matrix, [], tokens, "speaker")
    length = frame["text"].str.split().str.len()
    cells = pd.DataFrame({"speaker": frame["speaker"], "cell": found.cell, "length": length})
    size = cells.groupby(["speaker", "cell"])["length"].sum()
    assert rows.size.sum() == size.sum()
    x, weight = found.matrix[found.cell], length.to_numpy(float)
    for tested in ((3,), (1, 2)):
        others = [k for k in range(4) if k not in tested]
        root = np.sqrt(weight)[:, None]
        slopes = np.linalg.lstsq(root * x[:, others], root * x[:, tested], rcond=None)[0]
        left = weight * ((x[:, tested] - x[:, others] @ slopes) ** 2).sum(1)
        share = pd.Series(left).groupby(frame["speaker"]).sum() / left.sum()
        number, largest = rows.largest_share(tested)
        assert rows.names[number] == share.idxmax()
        assert largest == pytest.approx(share.max(), rel=1e-9)


def test_documents_are_weighted_so_that_values_have_the_same_strata(tokens, frame):
    inside = ~((frame["year"] == 2010) & (frame["party"] == "R"))  # a stratum that one value lacks
    documents = np.flatnonzero(inside & (frame["party"] != "I"))
    value = (frame["party"][documents] == "R").to_numpy().astype(np.int64)
    strata = standardize(tokens, documents, value, ["year", "chamber", "year"], quiet=True)
    length = frame["text"].str.split().str.len().to_numpy(float)
    kept = documents[strata.of_document[documents] >= 0]
    assert set(frame["year"][kept]) == {1990, 2000, 2001}
    assert (np.delete(strata.of_document, documents) == -1).all()
    party = (frame["party"][kept] == "R").to_numpy().astype(int)
    weight = length[kept] * strata.weight[party, strata.of_document[kept]]
    mix = pd.DataFrame({"value": party, "year": frame["year"][kept], "chamber": frame["chamber"][kept], "w": weight})
    shares = mix.groupby(["value", "year", "chamber"])["w"].sum().unstack("value")
    np.testing.assert_allclose(shares[0] / shares[0].sum(), shares[1] / shares[1].sum())
    plain = pd.Series(length[kept]).groupby([frame["year"][kept].to_numpy(), frame["chamber"][kept].to_numpy()]).sum()
    np.testing.assert_allclose(shares[0] / shares[0].sum(), plain / plain.sum())
    np.testing.assert_allclose(
        [weight[party == a].sum() for a in (0, 1)], [length[kept][party == a].sum() for a in (0, 1)]
    )
