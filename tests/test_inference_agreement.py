"""Real labels on the built-in corpus, where eras write about other things: words that are drawn from the model itself,
and real words, against permutations of whole units that are counted without any shortcut."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import laplex as lx
from laplex.fitting.provenance import tokens_of
from laplex.inference import scores
from laplex.inference.permutations import Difference, Permutations
from laplex.inference.score_test import difference_effect, group_scores
from laplex.inference.scores import ScorePass
from laplex.inference.units import Options, gather

pytestmark = pytest.mark.usefixtures("shared_cache", "few_draws")

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
DRAWS = 499


@pytest.fixture(scope="module")
def eras(shared_cache):
    """A fit without labels on the paragraphs of two eras."""
    corpus = lx.demo().periods("year", "40y", start=1781).where(period=["1821", "1941"])
    tokens = lx.Tokens.of(corpus, min_count=50, quiet=True)
    return lx.fit(lx.Model(dimensions=8), tokens, holdout=0.0, epochs=2, threads=1, quiet=True)


def some_words(eras: lx.Embeddings, count: int) -> list[int]:
    rare = np.flatnonzero(tokens_of(eras).vocabularies[0].counts < 500)
    return np.random.default_rng(1).permutation(rare)[:count].tolist()


def read(eras: lx.Embeddings, ids: list[int]) -> ScorePass:
    """A pass in which every paragraph has a row."""
    tokens = tokens_of(eras)
    return ScorePass(tokens, gather(tokens, "period", None, 0, {}), eras, ids, 0, Options(threads=1, quiet=True))


class Drawn:
    """Tables of words whose occurrences are drawn from the contexts of the text.

    The odds of the word in a context h are proportional to exp(ρ·h), and exp(d·h) times that in the second era.
    """

    def __init__(self, text: ScorePass, size: int, seed: int) -> None:
        self.text, self.size, self.random = text, size, np.random.default_rng(seed)
        self.contexts = text.contexts[:, : text.dimensions].astype(float)
        self.unit = np.repeat(np.arange(len(text.units)), np.diff(text.context_start))
        self.era = np.unique(text.units.label, return_inverse=True)[1]
        self.permutations = Permutations(self.era, True, True, [5])

    def scores(self, table, d=None, times=1):
        """The scores between eras, of some draws."""
        log_odds = self.contexts @ self.text.rho[table.word, : self.text.dimensions]
        more = 0.0 if d is None else self.era[self.unit] * (self.contexts @ d)
        weight, found = np.cumsum(np.exp(log_odds + more)), []
        for _ in range(times):
            here = np.searchsorted(weight, self.random.random(self.size) * weight[-1])
            share = 1 / (1 + np.exp(log_odds[here]))
            score = np.zeros_like(table.score)
            np.add.at(score, self.unit[here], share[:, None] * self.contexts[here])
            tau = np.bincount(self.unit[here], share, len(score))
            found.append(group_scores(replace(table, score=score, tau=tau, label=self.era), [[0], [1]]))
        return found

    def p(self, found, draws=99):
        exceeding = self.permutations.of_word(found.residuals(), Difference(2), 0).exceedances(0, draws)
        return (exceeding + 1) / (draws + 1)


def test_words_that_are_used_alike_in_like_contexts_do_not_differ_between_eras(eras, monkeypatch):
    monkeypatch.setattr(scores, "MAX_CLUSTERS_WITH_ROWS", 10**9)
    text = read(eras, some_words(eras, 25))
    drawn = Drawn(text, 300, 2)

    def ask(table):
        return [(drawn.p(one), difference_effect(one).square) for one in drawn.scores(table, times=8)]

    p, square = np.array([pair for pairs in text.run(range(25), ask) for pair in pairs]).T
    assert 0.01 < (p <= 0.05).mean() < 0.105
    assert 0.43 < p.mean() < 0.57
    assert abs(square.mean()) < 3 * square.std() / np.sqrt(len(square))


def test_the_estimate_between_eras_is_the_standard_deviation_of_the_log_odds(eras, monkeypatch):
    monkeypatch.setattr(scores, "MAX_CLUSTERS_WITH_ROWS", 10**9)
    text = read(eras, some_words(eras, 25))
    drawn = Drawn(text, 1_500, 3)

    def ask(table):
        d = drawn.random.normal(size=8)
        d *= 0.5 / np.sqrt(d @ table.covariance @ d)
        (found,) = drawn.scores(table, d)
        return drawn.p(found), difference_effect(found).square

    p, square = np.array(list(text.run(range(25), ask))).T
    assert (p <= 0.01).mean() > 0.9
    assert np.sqrt(square.mean()) == pytest.approx(0.5, rel=0.12)


@pytest.mark.filterwarnings("ignore:every value of")
def test_p_of_real_words_agrees_with_counting_all_paragraphs(eras, monkeypatch):
    ids = some_words(eras, 80)
    words = [eras.rows.vocabularies[0].words[i] for i in ids]
    asked = eras.inference(unit="documents", min_units=5, min_count=1, threads=1, quiet=True)
    default = asked.contrast("period", words).set_index("word")["p"].reindex(words)
    monkeypatch.setattr(scores, "MAX_CLUSTERS_WITH_ROWS", 10**9)
    text = read(eras, ids)
    draws = np.tile((text.units.label == text.units.label[0]).astype(np.int8), (1 + DRAWS, 1))
    draws[1:] = np.random.default_rng(17).permuted(draws[1:], axis=1)
    known = np.flatnonzero(default.notna())
    assert len(known) > 50
    monkeypatch.syspath_prepend(BENCHMARKS)
    reference = importlib.import_module("agreement").reference
    counted = np.array(list(text.run(known.tolist(), lambda table: reference(table, draws))))
    p = np.maximum(default.to_numpy()[known], 1 / (1 + DRAWS))
    assert 0.2 < (counted <= 0.05).mean() < 0.8
    # permuted backgrounds are mixed from both eras, which is noise that the residuals do not have
    assert -0.03 < (p <= 0.05).mean() - (counted <= 0.05).mean() < 0.12
    assert stats.spearmanr(np.log(p), np.log(counted)).statistic > 0.95
