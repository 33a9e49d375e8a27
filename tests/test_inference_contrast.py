"""The test of words between groups, on simulated speakers: its level, what it finds, and what it says."""

from __future__ import annotations

import shutil
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from parties import RATE, ask, fit, speeches
from scipy import stats
from speakers import PLANTED

import laplex as lx
from laplex.fitting.provenance import tokens_of
from laplex.inference import contexts
from laplex.inference.contexts import POOLED_KIND, pooled
from laplex.inference.differences import contrast, distance
from laplex.runtime import storage

pytestmark = pytest.mark.usefixtures("shared_cache", "few_draws")

COLUMNS = ["word", "party", "estimate", "se", "lower", "upper", "p", "p_adjusted", "permutations", "n", "clusters"]
COLUMNS += ["count_one", "count_two", "clusters_one", "clusters_two"]


@pytest.fixture(scope="module")
def swapped(shared_cache):
    return fit(speeches(1, swap=0.6))


@pytest.fixture(scope="module")
def without_start(shared_cache):
    """The same with slices from the start, as earlier versions fitted it: it has no vectors without labels."""
    return fit(speeches(1, swap=0.6), pooled_epochs=0)


def null(seeds, **options):
    p = []
    for seed in seeds:
        p.append(ask(fit(speeches(seed), vary=()), **options)["p"])
    return pd.concat(p)


@pytest.mark.slow
def test_words_that_do_not_differ_are_called_different_as_often_as_it_says():
    p = null(range(10, 19))
    assert len(p) > 500
    assert 0.02 < (p < 0.05).mean() < 0.09
    assert (p < 0.01).mean() < 0.03


def test_speeches_taken_for_independent_reject_far_too_often():
    with pytest.warns(UserWarning, match='every value of "speaker" has one value of "party" only.*cluster="speaker"'):
        p = pd.concat([ask(fit(speeches(seed, 30, each=20, own=0.5), vary=()), cluster=None)["p"] for seed in (10, 11)])
    assert (p < 0.05).mean() > 0.15


def test_planted_differences_come_first(swapped):
    found = ask(swapped)
    assert list(found.columns) == COLUMNS
    assert set(found["word"][:2]) == set(PLANTED)
    assert (found["p_adjusted"][:2] < 0.02).all()
    assert (found["permutations"][:2] == 9_999).all()
    assert (found["p"] >= 1 / (found["permutations"] + 1)).all()
    assert (found["lower"][:2] > 0).all()
    assert (found["estimate"].between(found["lower"], found["upper"])).all()
    assert set(found["party"]) == {"D – R"}


def test_counts_clusters_and_adjustment_are_what_they_are_called(swapped):
    found = ask(swapped).set_index("word")
    rows = speeches(1, swap=0.6)
    for word in ("w0", "w6", "w40"):
        for party, name in (("D", "one"), ("R", "two")):
            mine = [row for row in rows if row["party"] == party]
            assert found.loc[word, f"count_{name}"] == sum(row["text"].count(word) for row in mine)
            assert found.loc[word, f"clusters_{name}"] == len({row["speaker"] for row in mine if word in row["text"]})
        assert found.loc[word, "n"] == found.loc[word, "count_one"] + found.loc[word, "count_two"]
        assert found.loc[word, "clusters"] == min(found.loc[word, "clusters_one"], found.loc[word, "clusters_two"])
    np.testing.assert_allclose(found["p_adjusted"], stats.false_discovery_control(found["p"]))


def test_a_word_that_is_thinned_in_one_group_does_not_differ():
    p = [ask(fit(speeches(seed, thin="w6"), vary=()), words="w6")["p"].item() for seed in range(30, 42)]
    assert np.mean(np.array(p) < 0.05) < 0.25
    assert stats.kstest(p, "uniform").pvalue > 0.001


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_both_likelihoods_and_permutations(likelihood):
    fitted = fit(speeches(1, swap=0.6), likelihood=likelihood)
    analytic, permuted = (ask(fitted, permutations=count).set_index("word") for count in (0, 499))
    assert set(permuted.index[:2]) == set(PLANTED)
    assert permuted["p"].min() == 1 / 500
    both = analytic["p"].to_frame("a").join(permuted["p"].rename("b"))
    assert stats.spearmanr(both["a"], both["b"])[0] > 0.9
    assert abs(both["a"] - both["b"]).mean() < 0.08
    pd.testing.assert_series_equal(analytic["estimate"].sort_index(), permuted["estimate"].sort_index(), rtol=1e-3)


def test_a_word_of_few_speakers_has_a_p_though_labels_may_leave_it_to_one_party():
    """Of five speakers who use a word, all are of one party under some labellings."""
    rows = speeches(1)
    for row in rows:
        speaker = int(row["speaker"][1:])
        if speaker < 5:
            row["text"] = [word for pair in zip(row["text"][::2], ["rare"] * 30) for word in pair]
    fitted = fit(rows)
    for permutations in (None, 499):
        found = ask(fitted, min_clusters=2, permutations=permutations).set_index("word")
        assert found["p"].notna().all()
        assert 0 < found.loc["rare", "p"] <= 1
        named = ask(fitted, words="rare", min_clusters=2, permutations=permutations)
        assert named["p"].item() == pytest.approx(found.loc["rare", "p"], rel=0.05)


def test_words_with_too_little_data_are_listed_without_p(swapped):
    found = ask(swapped, words=["w6", "w59"], min_count=400).set_index("word")
    assert np.isfinite(found.loc["w6", "p"])
    assert found.loc["w59", ["p", "p_adjusted", "estimate", "lower"]].isna().all()
    assert 0 < found.loc["w59", "n"] < 400
    assert ask(swapped, words=["w6"], min_clusters=31)["p"].isna().all()
    assert "w59" not in set(ask(swapped, min_count=400)["word"])


def test_whole_numbers_may_be_written_as_floats(swapped):
    """As they come from R."""
    floats = ask(swapped, top=3.0, min_clusters=10.0, min_count=50.0, permutations=0.0)
    pd.testing.assert_frame_equal(floats, ask(swapped, top=3, permutations=0))


def test_top_does_not_change_the_adjustment(swapped):
    pd.testing.assert_frame_equal(ask(swapped, top=3), ask(swapped).head(3))


def test_words_are_ranked_by_p_or_by_what_is_sure_of_their_distance(swapped):
    by_p, by_distance = (ask(swapped, rank=rank) for rank in ("evidence", "estimate"))
    assert by_p["p"].is_monotonic_increasing
    assert by_distance["lower"].is_monotonic_decreasing
    unsure = by_distance[by_distance["lower"] == 0]
    assert len(unsure) > 3
    assert unsure["estimate"].is_monotonic_decreasing
    pd.testing.assert_frame_equal(*(frame.sort_values("word", ignore_index=True) for frame in (by_p, by_distance)))


def test_a_wider_interval_holds_the_narrower_one(swapped):
    narrow, wide = (ask(swapped, interval=share).set_index("word").sort_index() for share in (0.5, 0.95))
    assert (wide["lower"] <= narrow["lower"]).all()
    assert (wide["upper"] >= narrow["upper"]).all()


def test_three_groups_are_compared_pair_by_pair():
    rows = [row | {"party": row["party"] if int(row["speaker"][1:]) % 3 else "I"} for row in speeches(1, swap=0.8)]
    found = ask(fit(rows), min_clusters=5)
    assert set(found["party"]) == {"D – I", "D – R", "I – R"}
    between = found[found["party"] == "D – R"]
    assert (between.set_index("word").loc[list(PLANTED), "p"] < 0.02).all()
    np.testing.assert_allclose(found["p_adjusted"], stats.false_discovery_control(found["p"]))


def test_the_pooled_fit_is_kept(without_start, cache):
    first = pooled(without_start, quiet=True)
    assert first.columns == ()
    kept = sorted(folder.name for folder in cache.glob("pooled-*"))
    again = pooled(without_start, quiet=True)
    assert sorted(folder.name for folder in cache.glob("pooled-*")) == kept
    np.testing.assert_array_equal(first.matrix(), again.matrix())
    folder = cache / kept[0]
    assert {path.suffix for path in folder.iterdir()} == {".json", ".safetensors"}
    assert storage.load(folder).kind == POOLED_KIND == "pooled"
    with pytest.raises(lx.StorageError, match="holds pooled, not embeddings"):
        lx.load(folder)
    given = ask(without_start, pooled=first, words=["w6"])
    pd.testing.assert_frame_equal(given, ask(without_start, words=["w6"]))


def test_the_pooled_fit_is_the_same_each_time(without_start, tmp_path, monkeypatch):
    digests = set()
    for name in ("one", "two"):
        monkeypatch.setenv("LAPLEX_CACHE", str(tmp_path / name))
        pooled(without_start, quiet=True)
        (folder,) = (tmp_path / name).glob("pooled-*")
        digests.add(storage.load(folder).digest)
    assert len(digests) == 1


def test_what_decides_the_pooled_fit_is_in_its_name(without_start, tmp_path, monkeypatch):
    monkeypatch.setenv("LAPLEX_CACHE", str(tmp_path))
    pooled(without_start, quiet=True)
    assert pooled(without_start, threads=2, quiet=True).settings["training"]["threads"] == 2
    assert len(list(tmp_path.glob("pooled-*"))) == 2
    tokens, versions = tokens_of(without_start), storage.versions()
    identities = [contexts.pooled_identity(without_start, tokens, 1)]
    monkeypatch.setattr(storage, "versions", lambda *more: versions | {"laplex": "99.0"})
    identities.append(contexts.pooled_identity(without_start, tokens, 1))
    monkeypatch.setattr(storage, "VERSION", 99)
    identities.append(contexts.pooled_identity(without_start, tokens, 1))
    monkeypatch.setattr(contexts, "ENGINE", "reference")
    identities.append(contexts.pooled_identity(without_start, tokens, 1))
    assert all(one != two for one, two in combinations(identities, 2))


def test_a_model_without_labels_is_its_own_pooled_fit():
    fitted = fit(speeches(2), vary=())
    assert pooled(fitted) is fitted


def test_a_saved_model_knows_its_text(swapped, tmp_path):
    swapped.save(tmp_path / "model")
    pd.testing.assert_frame_equal(ask(lx.load(tmp_path / "model"), top=5), ask(swapped, top=5))


def test_text_that_is_gone_or_another_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("LAPLEX_CACHE", str(tmp_path))
    fitted = fit(speeches(3))
    folder = Path(fitted.settings["tokens"]["folder"])
    other = lx.Tokens.of(lx.read(speeches(4), metadata=["party", "speaker"]), quiet=True)
    with pytest.raises(lx.InputError, match="are not those that the model was fitted on"):
        ask(fitted, tokens=other)
    moved = shutil.copytree(folder, tmp_path / "moved")
    shutil.rmtree(folder)
    with pytest.raises(lx.InputError, match=r"the text of this model is needed, but .* does not exist.*tokens="):
        ask(fitted)
    assert len(ask(fitted, tokens=lx.Tokens(storage.load(moved, "tokens")), top=1)) == 1


def test_speakers_in_both_groups_can_be_clusters():
    rows = [row | {"party": "DR"[number % 2]} for number, row in enumerate(speeches(5))]
    fitted = fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = ask(fitted, cluster=None)
    assert (found["p"] < 0.05).mean() < 0.2
    assert (ask(fitted)["p"] < 0.05).mean() < 0.2
    assert (ask(fitted, permutations=99)["permutations"] == 99).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": 90}, "interval=90 must be between 0 and 1"),
        ({"min_clusters": 1}, "min_clusters"),
        ({"permutations": -1}, "permutations"),
        ({"top": 0}, "top"),
        ({"rank": "distance"}, 'rank="distance" is unknown: write "evidence" or "estimate"'),
        ({"words": "nosuchword"}, '"nosuchword" is not in the vocabulary'),
        ({"min_count": 10**9}, "no word occurs 1000000000 times"),
        ({"cluster": "senator"}, 'no column "senator"'),
        ({"at": {"speaker": "nobody"}}, "\"speaker\" has no value 'nobody'"),
    ],
)
def test_bad_questions_are_named(swapped, options, message):
    with pytest.raises(lx.InputError, match=message):
        ask(swapped, **options)


def test_bad_models_are_named(swapped):
    with pytest.raises(lx.InputError, match='no column "state"'):
        contrast(swapped, "state", quiet=True)
    with pytest.raises(lx.InputError, match="vary by party: fit it with vary="):
        ask(swapped, pooled=swapped)
    with pytest.raises(lx.InputError, match="was not fitted on the tokens"):
        ask(swapped, pooled=fit(speeches(2), vary=()))
    made = lx.Embeddings.of(swapped.rows.vocabularies, [np.ones((len(swapped), 4))])
    with pytest.raises(lx.InputError, match="were not fitted here"):
        ask(made)


def test_distances_along_time_find_when_a_word_changes_sides():
    rows = [row | {"year": "2000"} for row in speeches(6)] + [row | {"year": "2001"} for row in speeches(7, swap=0.8)]
    rows += [row | {"year": "2002"} for row in speeches(8, each=1) if row["party"] == "D"]
    corpus = lx.read(rows, metadata=["party", "speaker", "year"])
    prior = lx.Ridge(1.0) + lx.Groups("party", 10.0) + lx.Chain("year", 10.0)
    model = lx.Model(vary=["party", "year"], prior=prior, dimensions=8, window=3, subsample=0.0)
    fitted = lx.fit(model, corpus, min_count=5, epochs=30, rate=RATE, threads=1, quiet=True)
    found = distance(
        fitted, ["w7", "w6"], "party", "year", cluster="speaker", min_clusters=10, min_count=20, quiet=True
    )
    assert found["word"].tolist() == ["w7", "w7", "w6", "w6"]
    assert found["year"].tolist() == ["2000", "2001", "2000", "2001"]
    before, after = (found[found["year"] == year] for year in ("2000", "2001"))
    assert (after["lower"].to_numpy() > before["estimate"].to_numpy()).all()
    assert (after["p"] < 0.001).all()
    np.testing.assert_allclose(found["p_adjusted"], stats.false_discovery_control(found["p"]))
    with pytest.raises(lx.InputError, match='across and along are both "party"'):
        distance(fitted, "w6", "party", "party")
