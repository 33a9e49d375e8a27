"""Many words tested at once: when their permutations end, and that p is that of the word alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from parties import ask, fit, speeches
from scipy import stats

import laplex as lx
from laplex.fitting.provenance import tokens_of
from laplex.inference import scores, testing
from laplex.inference.permutations import Difference, Permutations
from laplex.inference.score_test import difference_effect, group_scores
from laplex.inference.scores import ScorePass
from laplex.inference.testing import GroupTest, adjust_p, run_tests
from laplex.inference.units import Options, gather

pytestmark = pytest.mark.usefixtures("shared_cache", "few_draws")

GROUPS = [[0], [1]]


@pytest.fixture(scope="module")
def text(shared_cache):
    """A fit without labels, of speeches in which two words differ by party."""
    return fit(speeches(1, swap=0.6), vary=())


def read(text: lx.Embeddings, unit: str | None = "speaker", words=None) -> tuple[ScorePass, GroupTest]:
    tokens = tokens_of(text)
    ids = list(range(len(text))) if words is None else words
    seen = ScorePass(tokens, gather(tokens, "party", unit, 0, {}), text, ids, 0, Options(threads=1, quiet=True))
    permutations = Permutations.of(seen.units, GROUPS, not seen.cells.shared, [1])
    return seen, GroupTest(np.full(len(ids), True), GROUPS, Difference(2), difference_effect, permutations)


@pytest.mark.parametrize(("shared", "room"), [(False, 2**20), (True, 2**20), (True, 0)])
def test_permutations_end_after_ten_exceedances(text, monkeypatch, shared, room):
    """Whether what they are made of is kept, or made anew."""
    monkeypatch.setattr(testing, "KEPT_BYTES", room)
    if shared:
        monkeypatch.setattr(scores, "MAX_CLUSTERS_WITH_ROWS", 10)
    seen, test = read(text)
    (found,) = run_tests(seen, [test], None)
    assert set(found) == set(range(len(text)))

    def count(table, draws):
        residuals = group_scores(table, GROUPS).residuals()
        return test.permutations.of_word(residuals, test.design, table.id).exceedances(0, draws)

    tables = list(seen.run(sorted(found), lambda table: table))
    first = {table.word: count(table, 999) for table in tables}
    assert sum(exceeding < 10 for exceeding in first.values()) >= 2
    for table in tables:
        finding = found[table.word]
        assert finding.permutations == (999 if first[table.word] >= 10 else 9_999)
        assert finding.p == (count(table, finding.permutations) + 1) / (finding.permutations + 1)
        assert finding.p >= 1 / (finding.permutations + 1)


def test_more_permutations_are_made_if_adjusted_p_depends_on_them_or_they_cost_little(text, monkeypatch):
    monkeypatch.setattr(testing, "MAX_DRAWS", 99_999)

    def most(words, cheap, largest):
        monkeypatch.setattr(testing, "CHEAP_OPERATIONS", cheap)
        monkeypatch.setattr(testing, "MAX_OPERATIONS", largest)
        seen, test = read(text, words=words)
        return max(finding.permutations for finding in run_tests(seen, [test], None)[0].values())

    planted = [text.id("w6", 0), text.id("w7", 0)]
    assert most(planted, 1e10, 0.0) == 99_999
    assert most(planted, 0.0, 0.0) == 999
    assert most(planted, 0.0, 1e12) == 999  # p of 1/1000 is small enough for two words, both at the floor
    assert most(None, 0.0, 1e12) == 9_999  # but not for sixty


def test_a_number_of_permutations_or_none_is_made_as_asked(text):
    seen, test = read(text)
    (few,), (none,) = (run_tests(seen, [test], count) for count in (99, 0))
    assert {finding.permutations for finding in few.values()} == {99}
    assert {finding.permutations for finding in none.values()} == {0}
    assert min(finding.p for finding in few.values()) == 1 / 100
    assert min(finding.p for finding in none.values()) < 1e-3
    assert all(few[word].effect == none[word].effect for word in few)


def same_p(one: pd.DataFrame, two: pd.DataFrame) -> None:
    """The same but for rounding, which may make another statistic the larger one."""
    one, two = (frame.set_index("word").sort_index() for frame in (one, two))
    one, two = one.loc[one.index.intersection(two.index)], two.loc[two.index.intersection(one.index)]
    assert len(one) >= 5
    assert (one["permutations"] == two["permutations"]).all()
    difference = abs(one["p"] - two["p"]) * (one["permutations"] + 1)
    assert (difference < 2.5).all()
    assert (difference < 0.5).mean() > 0.8
    np.testing.assert_allclose(one["estimate"], two["estimate"], rtol=0.01, atol=0.01)


@pytest.mark.filterwarnings("ignore:every value of")
@pytest.mark.parametrize("unit", ["speaker", None])
@pytest.mark.parametrize("shared", [False, True])
def test_p_does_not_depend_on_what_else_is_asked_nor_on_threads(text, monkeypatch, shared, unit):
    monkeypatch.setattr(scores, "MAX_CLUSTERS_WITH_ROWS", 10 if shared else 1_000)
    words = ["w20", "w6", "w41", "w33", "w2", "w11"]
    every, few, turned = (
        ask(text, words=some, unit=unit, threads=1) for some in ([f"w{k}" for k in range(50)], words, words[::-1])
    )
    same_p(every, few)
    same_p(few, turned)
    same_p(every, ask(text, words=every["word"].tolist(), unit=unit, threads=3))
    assert few["p"].nunique() > 4
    other = ask(text, words=words, unit=unit, threads=1, seed=2)
    assert not np.allclose(other.set_index("word").loc[words, "p"], few.set_index("word").loc[words, "p"], rtol=1e-3)


@pytest.mark.filterwarnings("ignore:every value of")
@pytest.mark.parametrize("nested", [True, False])
def test_many_units_that_share_rows_have_the_p_of_single_ones(monkeypatch, nested):
    """Documents, or speakers who are in both parties."""
    rows = speeches(1, swap=0.3)
    if not nested:
        rows = [row | {"party": "DR"[number % 2]} for number, row in enumerate(rows)]
    fitted = fit(rows, vary=())
    unit = None if nested else "speaker"
    single = ask(fitted, unit=unit).set_index("word")
    monkeypatch.setattr(scores, "MAX_CLUSTERS_WITH_ROWS", 10)
    monkeypatch.setattr(scores, "BLOCKS", 40)
    shared = ask(fitted, unit=unit).set_index("word").loc[single.index]
    assert stats.spearmanr(single["p"], shared["p"]).statistic > 0.97
    assert abs(single["p"] - shared["p"]).mean() < 0.03
    assert abs((single["p"] <= 0.05).mean() - (shared["p"] <= 0.05).mean()) < 0.06
    large = single["lower"] > 0.2
    assert large.any() or not nested
    np.testing.assert_allclose(single["estimate"][large], shared["estimate"][large], rtol=0.05)


def test_adjusted_p_is_over_all_that_is_known():
    p = np.array([0.01, np.nan, 0.04, 0.5])
    np.testing.assert_allclose(adjust_p(p)[[0, 2, 3]], stats.false_discovery_control(p[[0, 2, 3]]))
    assert np.isnan(adjust_p(p)[1])
    assert np.isnan(adjust_p(np.full(3, np.nan))).all()
