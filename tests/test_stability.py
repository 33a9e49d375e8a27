"""Which neighbors come back: overlaps against plain Python, refits of every prior, bands, the command."""

from __future__ import annotations

import math
import sys
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import small

import laplex as lx
from laplex.cli import main
from laplex.fitting.stability import _SavedPrior, agreement, by_frequency, refitted, stability
from laplex.model.objective import log_prior
from laplex.model.priors.lexical import Anchor
from laplex.text.slices import Slices

FAST = {"min_count": 1, "epochs": 2, "threads": 1, "quiet": True}


def made(vectors, words=None, counts=None, keys=((),), columns=()):
    stack = np.asarray(vectors, float).reshape(len(keys), -1, np.shape(vectors)[-1])
    words = words or [f"w{i}" for i in range(stack.shape[1])]
    counts = np.ones((len(keys), len(words)), np.int64) if counts is None else np.asarray(counts)
    vocabulary = lx.Vocabulary(words, counts.sum(0))
    slices = Slices(columns, keys, np.empty(0, np.int32))
    return lx.Embeddings.of([vocabulary], [stack], slices=slices, counts=[counts])


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def shared(fits, word, k, at=None):
    """Overlaps of all pairs, from the public question."""
    sets = [set(fitted.neighbors(word, k, at=at)["neighbor"]) for fitted in fits]
    return [len(one & two) / k for one, two in combinations(sets, 2)]


def test_overlaps_are_those_of_the_neighbors_one_sees():
    keys, columns = (("D",), ("R",)), ("party",)
    common = normal(0, 2, 60, 5)
    counts = np.full((2, 60), 9)
    counts[0, ::3] = 4  # too few uses to be anyone's neighbor there
    fits = [made(common + normal(seed, 2, 60, 5), counts=counts, keys=keys, columns=columns) for seed in (1, 2, 3)]
    table = agreement(fits, k=7, quiet=True)
    assert len(table) == 120
    for row in table.sample(30, random_state=1).itertuples():
        expected = shared(fits, row.word, 7, at={"party": row.party})
        assert row.overlap == pytest.approx(np.mean(expected))
        assert (row.lower, row.upper) == (min(expected), max(expected))
    assert table["overlap"].is_monotonic_increasing
    assert agreement(fits, k=7, top=4, quiet=True).equals(table.head(4))


def test_a_rotation_changes_no_neighbor():
    vectors = normal(0, 50, 4)
    turn = np.linalg.qr(normal(1, 4, 4))[0]
    table = agreement([made(vectors), made(vectors @ turn), made(3 * vectors)], quiet=True)
    assert (table["lower"] == 1).all()


def test_fits_of_different_vocabularies_are_compared_by_words():
    words = [f"w{i}" for i in range(30)]
    vectors = normal(0, 30, 4)
    turned_round = made(vectors[::-1], words=words[::-1])
    fewer = made(vectors[:20], words=words[:20])
    assert (agreement([made(vectors, words), turned_round], quiet=True)["overlap"] == 1).all()
    table = agreement([made(vectors, words), fewer], k=5, quiet=True)
    assert set(table["word"]) == set(words[:20])
    for row in table.itertuples():
        assert row.overlap == pytest.approx(shared([made(vectors, words), fewer], row.word, 5)[0])


def test_named_words_are_listed_however_rare_and_others_must_occur():
    counts = np.r_[[0, 3], np.full(28, 50)][None]
    fits = [made(normal(seed, 30, 4), counts=counts) for seed in (1, 2)]
    assert "w0" not in set(agreement(fits, quiet=True)["word"])
    assert set(agreement(fits, min_count=10, quiet=True)["count"]) == {50}
    assert set(agreement(fits, ["w0", "w1"], min_count=10, quiet=True)["count"]) == {0, 3}
    unknown = [made(normal(seed, 30, 4), counts=np.zeros((1, 30), np.int64)) for seed in (1, 2)]
    assert len(agreement(unknown, quiet=True)) == 30  # vectors of others come without counts


def test_words_without_a_vector_have_no_overlap_and_are_nobodys_neighbor():
    one, two = normal(0, 12, 3), normal(1, 12, 3)
    one[4] = 0
    fits = [made(one), made(two)]
    table = agreement(fits, k=11, quiet=True).set_index("word")
    assert math.isnan(table.loc["w4", "overlap"])
    assert table.loc["w0", "overlap"] == pytest.approx(10 / 11)
    assert list(table.index)[-1] == "w4"


def test_k_is_cut_to_the_vocabulary():
    fits = [made(normal(seed, 6, 3)) for seed in (1, 2)]
    assert (agreement(fits, k=10, quiet=True)["overlap"] == 1).all()


def test_refits_by_hand_and_by_stability_agree():
    corpus = small.corpus(small.documents(60))
    model = lx.Model(vary=["party"], prior=lx.Ridge(1.0) + lx.Groups("party", 10.0), dimensions=8, window=2)
    table = stability(model, corpus, refits=3, k=4, seed=5, **FAST)
    fits = [lx.fit(model, corpus, seed=seed, holdout=0.0, **FAST) for seed in (5, 6, 7)]
    assert table.equals(agreement(fits, k=4, quiet=True))
    assert {"word", "party", "count", "overlap", "lower", "upper"} == set(table.columns)
    assert table["overlap"].between(0, 1).all()


PRIORS = {
    "groups": lx.Ridge(1.0) + lx.Groups("party", 10.0),
    "another ridge": lx.Ridge(0.2) + lx.Groups("party", 10.0),
    "a tie": lx.Ridge(1.0) + lx.Groups("party", math.inf),
    "signs": lx.Ridge(1.0) + lx.Pairs([("3", "4", 1.0), ("5", "6", -1.0)], 2.0),
    "directed": lx.Ridge(1.0) + lx.Pairs([("3", "4")], 2.0, directed=True),
    "fixed vectors": lx.Ridge(1.0) + Anchor({str(i): np.full(4, float(i)) for i in range(5)}, 3.0),
}


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_a_saved_model_is_refitted_under_the_same_prior(prior, tmp_path):
    model = lx.Model(vary=["party"], prior=prior, dimensions=4, window=2)
    fitted = lx.fit(model, small.corpus(small.documents(40)), seed=3, **FAST)
    fitted.save(tmp_path / "a")
    opened = lx.load(tmp_path / "a")
    again, other = refitted(opened, [3, 4], quiet=True)
    np.testing.assert_array_equal(again.slot, fitted.slot)
    np.testing.assert_array_equal(again.theta, fitted.theta)  # one thread and the same seed: the same bytes
    assert not np.array_equal(other.theta, fitted.theta)
    assert log_prior(again.graph, other.theta.astype(float)) == pytest.approx(
        log_prior(fitted.graph, other.theta.astype(float))
    )
    assert len(_SavedPrior(fitted.graph, fitted.slot).graph(fitted.rows)) == len(fitted.rows)


def test_bands_sum_a_table_up():
    table = pd.DataFrame(
        {"word": list("abcdefg"), "count": [1, 2, 3, 29, 30, 0, 5], "overlap": [0.0, 1.0, 0.5, 0.7, 0.9, 0.1, np.nan]}
    )
    bands = by_frequency(table)
    assert bands[["from", "to", "words"]].values.tolist() == [[0, 0, 1], [1, 2, 2], [3, 9, 1], [10, 29, 1], [30, 99, 1]]
    np.testing.assert_allclose(bands["overlap"], [0.1, 0.5, 0.5, 0.7, 0.9])
    np.testing.assert_allclose(bands.loc[1, ["low", "high"]].astype(float), [0.1, 0.9])


def test_frequent_words_of_real_text_are_more_stable():
    corpus = lx.demo().where(year=[str(year) for year in range(1990, 2021)])
    table = stability(lx.Model(dimensions=20), corpus, refits=3, epochs=3, threads=1, min_count=5, quiet=True)
    bands = by_frequency(table)
    assert bands["overlap"].iloc[-2] > bands["overlap"].iloc[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"refits": 1}, "refits=1"),
        ({"k": 0}, "k=0"),
        ({"top": 0}, "top=0"),
        ({"words": ["unknown"]}, '"unknown" is not in the vocabulary'),
        ({"words": []}, "no words are given"),
        ({"checkpoint": "folder"}, "a checkpoint is of one fit"),
        ({"vector_size": 5}, "dimensions="),
    ],
)
def test_bad_questions_say_why(options, message):
    corpus = small.corpus(small.documents(20))
    with pytest.raises(lx.InputError, match=message):
        stability(lx.Model(dimensions=4), corpus, **{"refits": 2, "epochs": 1, "min_count": 1, "quiet": True} | options)


def test_fits_that_cannot_be_compared_say_why():
    one = made(normal(0, 30, 4))
    with pytest.raises(lx.InputError, match="1 fits cannot be compared"):
        agreement([one])
    parties = made(normal(0, 2, 30, 4), keys=(("D",), ("R",)), columns=("party",))
    with pytest.raises(lx.InputError, match="one fit varies by nothing, another by party"):
        agreement([one, parties])
    with pytest.raises(lx.InputError, match="share 0 slices"):
        agreement([parties, made(normal(0, 2, 30, 4), keys=(("I",), ("S",)), columns=("party",))])
    with pytest.raises(lx.InputError, match="and 0 words"):
        agreement([one, made(normal(0, 30, 4), words=[f"v{i}" for i in range(30)])])
    with pytest.raises(lx.InputError, match="needs count and overlap"):
        by_frequency(pd.DataFrame({"word": ["a"]}))
    with pytest.raises(lx.InputError, match="not fitted here"):
        next(refitted(one, [1]))
    tokens = lx.Tokens.of(small.corpus(small.documents(10)), min_count=1, quiet=True)
    with pytest.raises(lx.InputError, match="min_count were chosen when the tokens were made"):
        stability(lx.Model(dimensions=4), tokens, min_count=2)


# The command


@pytest.fixture
def laplex(monkeypatch, capfd):
    def run(*arguments):
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(sys, "argv", ["laplex", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        out, err = capfd.readouterr()
        return code, out, err

    return run


def test_the_command_compares_saved_models_or_refits_one(laplex, tmp_path):
    corpus = small.corpus(small.documents(60))
    model = lx.Model(vary=["party"], prior=lx.Ridge(1.0) + lx.Groups("party", 10.0), dimensions=8, window=2)
    fits = [lx.fit(model, corpus, seed=seed, **FAST) for seed in (1, 2)]
    for number, fitted in enumerate(fits):
        fitted.save(tmp_path / f"{number}.laplex")
    one, two = tmp_path / "0.laplex", tmp_path / "1.laplex"
    code, out, _ = laplex("stability", one, two, "-k", 4, "--csv", tmp_path / "a.csv", "-q")
    assert code == 0
    assert "from" in out
    assert "overlap" in out
    table = pd.read_csv(tmp_path / "a.csv", dtype={"word": str})
    expected = agreement(fits, k=4, quiet=True)
    assert table["word"].tolist() == expected["word"].tolist()
    np.testing.assert_allclose(table["overlap"], expected["overlap"])
    code, out, _ = laplex("stability", one, "--refits", 1, "--word", "3", "--party", "D", "-k", 4, "-q")
    assert code == 0
    assert sum(line.split()[:1] == ["3"] for line in out.splitlines()) == 1
    again = agreement([fits[0], *refitted(fits[0], [2], quiet=True)], "3", k=4, quiet=True)
    assert f"{again.set_index('party').loc['D', 'overlap']:.3f}" in out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), "1 models and --refits 0"),
        (("--refits", "-1"), "--refits -1"),
        (("--refits", "1", "--party", "X"), "do not vary by"),
        (("--refits", "1", "--word", "unknown"), '"unknown" is not in the vocabulary'),
    ],
)
def test_bad_commands_say_why(laplex, tmp_path, more, message):
    lx.fit(lx.Model(dimensions=4), small.corpus(small.documents(20)), **FAST).save(tmp_path / "a")
    code, _, err = laplex("stability", tmp_path / "a", *more)
    assert code == 1
    assert message in err
