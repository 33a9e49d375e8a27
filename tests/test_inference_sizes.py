"""The size of a difference on text: it depends neither on the frequency of a word nor on the prior."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import speakers

from laplex.fitting.provenance import tokens_of
from laplex.inference.contexts import pooled
from laplex.inference.findings import COLUMNS
from laplex.inference.score_test import difference_effect, group_scores
from laplex.inference.scores import ScorePass
from laplex.inference.units import Options, gather

pytestmark = pytest.mark.usefixtures("shared_cache", "few_draws")

OPTIONS = {"unit": "speaker", "min_units": 10, "min_count": 50, "quiet": True, "threads": 1}
SWAPPED = 12  # words that change places with the next topic's, in one party


def renamed(seed: int, share: float, topics: int = speakers.TOPICS) -> list[dict]:
    """Speeches in which many words differ between parties, a share of each renamed to a word of its own."""
    random = np.random.default_rng([seed, 1])
    other = {f"w{k}": f"w{k + 1 - 2 * (k % 2)}" for k in range(topics, topics + SWAPPED)}
    rows = speakers.speeches(seed, speakers=100, each=6, length=60)
    for row in rows:
        words = [other.get(w, w) if row["party"] == "R" and random.random() < 0.6 else w for w in row["text"]]
        row["text"] = [f"{w}-too" if w in other and random.random() < share else w for w in words]
    return rows


def squares(rows: list[dict]) -> dict[str, float]:
    """δ² without noise of every word, by the speaker."""
    tokens = speakers.read(rows)
    free = speakers.fit(tokens, vary=())
    text = ScorePass(tokens, gather(tokens, "party", "speaker", 0, {}), free, range(len(free)), 0, Options(quiet=True))

    def square(table):
        return difference_effect(group_scores(table, [[0], [1]])).square

    return dict(zip(free.words(), text.run(range(len(free)), square)))


def test_a_word_of_which_a_part_has_another_name_is_as_different_as_the_part():
    found = [squares(renamed(seed, 0.2)) for seed in (1, 2, 3)]
    changed = [word for word in found[0] if word.endswith("-too")]
    assert len(changed) == SWAPPED
    part = np.array([[one[word] for word in changed] for one in found])
    rest = np.array([[one[word.removesuffix("-too")] for word in changed] for one in found])
    unchanged = np.mean([one["w30"] for one in found])
    assert rest.mean() > 0.3 > 4 * abs(unchanged)
    assert 0.8 < part.mean() / rest.mean() < 1.25


@pytest.fixture(scope="module")
def tokens(shared_cache):
    return speakers.read(speakers.speeches(1, swap=0.6))


def test_the_strength_of_the_prior_does_not_change_the_answer(tokens):
    models = [speakers.fit(tokens, strength=strength) for strength in (0.1, 1e4)]
    free = pooled(models[0], threads=1, quiet=True)
    assert tokens_of(models[1]).folder == tokens.folder
    one, two, alone = (model.inference(**OPTIONS).contrast("party") for model in (*models, free))
    assert (one["estimate"] > 0).sum() > 10
    pd.testing.assert_frame_equal(one, two)
    pd.testing.assert_frame_equal(one, alone)


def test_estimates_do_not_depend_on_the_scale_and_rotation_of_contexts(tokens):
    free = speakers.fit(tokens, vary=())
    text = ScorePass(tokens, gather(tokens, "party", "speaker", 0, {}), free, [6, 7, 20], 0, Options(quiet=True))
    for table in text.run(range(3), lambda table: table):
        scores = group_scores(table, [[0], [1]])
        turn = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0] * 3.0
        turned = group_scores(
            type(table)(*(getattr(table, name) for name in ("word", "id", "label", "cluster", "piece", "size")),
                        table.score @ turn, table.tau, table.background @ turn, table.weight,
                        turn.T @ table.covariance @ turn), [[0], [1]])  # fmt: skip
        assert difference_effect(turned).square == pytest.approx(difference_effect(scores).square, rel=1e-3)


def test_a_trend_between_two_values_is_as_large_as_their_difference():
    rows = [row | {"party": {"D": "2000", "R": "2004"}[row["party"]]} for row in speakers.speeches(1, swap=0.6)]
    free = speakers.fit(speakers.read(rows), vary=())
    asked = free.inference(permutations=499, **OPTIONS)
    pair, trend = (ask("party").set_index("word") for ask in (asked.contrast, asked.drift))
    columns = [name for name in COLUMNS[1:] if name not in ("p", "p_adjusted", "holds")]
    pd.testing.assert_frame_equal(pair[columns].sort_index(), trend[columns].sort_index(), rtol=1e-3)
    assert abs(pair["p"] - trend["p"]).max() < 0.1  # counted over other draws
