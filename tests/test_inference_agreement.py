"""Real labels: p on the built-in corpus, against permutations of whole units that are counted without any shortcut."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import laplex as lx
from laplex.inference import contrast, scores
from laplex.inference.scores import ScorePass
from laplex.inference.units import Options, gather

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
DRAWS = 999


@pytest.mark.filterwarnings("ignore:every value of")
@pytest.mark.usefixtures("few_draws")
def test_p_between_eras_agrees_with_counting_all_paragraphs(monkeypatch):
    """Paragraphs of two eras, which write about other things."""
    corpus = lx.demo().periods("year", "40y", start=1781).where(period=["1821", "1941"])
    tokens = lx.Tokens.of(corpus, min_count=50, quiet=True)
    free = lx.fit(lx.Model(dimensions=8), tokens, holdout=0.0, epochs=2, threads=1, quiet=True)
    counts = tokens.vocabularies[0].counts
    ids = np.random.default_rng(1).permutation(np.flatnonzero(counts < 500))[:80].tolist()
    words = [tokens.vocabularies[0].words[i] for i in ids]
    options = {"min_clusters": 5, "min_count": 1, "threads": 1, "quiet": True}
    default = contrast(free, "period", words=words, pooled=free, **options).set_index("word")["p"].reindex(words)
    monkeypatch.setattr(scores, "MAX_UNIT_ROWS", 10**9)  # every paragraph has a row
    units = gather(tokens, "period", None, 0, {})
    text = ScorePass(tokens, units, free, ids, 0, Options(threads=1, quiet=True))
    draws = np.tile((units.label == units.label[0]).astype(np.int8), (1 + DRAWS, 1))
    draws[1:] = np.random.default_rng(17).permuted(draws[1:], axis=1)
    known = np.flatnonzero(default.notna())
    assert len(known) > 60
    monkeypatch.syspath_prepend(BENCHMARKS)
    reference = importlib.import_module("agreement").reference
    counted = np.array(list(text.run(known.tolist(), lambda table: reference(table, draws))))
    p = np.maximum(default.to_numpy()[known], 1 / (1 + DRAWS))
    print(len(known), (p<=.05).mean(), (counted<=.05).mean(), stats.spearmanr(np.log(p), np.log(counted)).statistic)
    assert 0.2 < (counted <= 0.05).mean() < 0.8
    assert abs((p <= 0.05).mean() - (counted <= 0.05).mean()) < 0.08
    assert stats.spearmanr(np.log(p), np.log(counted)).statistic > 0.9
