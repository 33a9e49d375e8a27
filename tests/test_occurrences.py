"""Occurrences with vectors: what is read and kept, the exact posterior, and the questions about it."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy
from usages import DIMENSIONS, WORDS, read, usages

import laplex as lx
from laplex.engines.gaussian import GaussianPosterior, OccurrenceSums
from laplex.errors import InputError, StorageError
from laplex.fitting.exact import word_graph
from laplex.inference.occurrence_pass import OccurrencePass
from laplex.model.rows import Rows

PARTIES = lx.Ridge(0.1) + lx.Groups("party", 5.0)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LAPLEX_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def found():
    return read()


@pytest.fixture
def fitted(found):
    return lx.fit(lx.Model(["party"], PARTIES), found, quiet=True)


def test_occurrences_are_kept_with_what_is_around_them(found, tmp_path):
    rows, vectors = usages()
    assert len(found) == len(rows)
    np.testing.assert_array_equal(found.vectors, vectors)
    assert [found.vocabularies[0].words[i] for i in found.ids] == [row["word"] for row in rows]
    assert {found.context_words[i] for i in found.context[0] if i >= 0} >= {"people", "nation", "and"}
    saved = found.save(tmp_path / "saved")
    assert saved.digest == found.digest
    text, places = saved.texts_and_places([7])[0]
    ((word,), (start,), (length,)) = json.loads(places)
    assert text[start : start + length] == word == rows[7]["word"]


def test_texts_are_cut_around_the_word(tmp_path):
    text = "a" * 3000 + " tax " + "b" * 3000
    found = lx.occurrences([{"word": "tax", "text": text, "start": 3001, "end": 3004}], np.ones((1, 3)))
    shown, places = found.texts_and_places([0])[0]
    ((_,), (start,), (length,)) = json.loads(places)
    assert shown[start : start + length] == "tax"
    assert len(shown) < 1000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": 500, "end": 503}, "characters 500 to 503 are not in its text"),
        ({"start": "x"}, "not characters of the text"),
        ({"text": None}, "are not in its text"),
    ],
)
def test_rows_that_do_not_fit_their_text_are_refused(change, message):
    row = {"word": "tax", "text": "a tax", "start": 2, "end": 5} | change
    with pytest.raises(InputError, match=message):
        lx.occurrences([row], np.ones((1, 3)))


def test_vectors_that_do_not_fit_the_rows_are_refused():
    row = {"word": "tax", "text": "a tax", "start": 2, "end": 5}
    with pytest.raises(InputError, match="1 rows need one vector"):
        lx.occurrences([row], np.ones((2, 3)))
    with pytest.raises(InputError, match="not finite"):
        lx.occurrences([row], np.array([[1.0, np.nan]]))
    with pytest.raises(InputError, match='no column "word"'):
        lx.occurrences([{"text": "a"}], np.ones((1, 3)))


def test_damaged_occurrences_are_refused(found, tmp_path):
    folder = tmp_path / "damaged"
    found.save(folder)
    path = folder / "laplex.json"
    manifest = json.loads(path.read_text())
    del manifest["settings"]["encoder"]
    path.write_text(json.dumps(manifest))
    with pytest.raises(StorageError, match="encoder"):
        lx.Occurrences.load(folder)


def dense(found, prior, vary=("party",)):
    """The posterior by dense matrices, in the coordinates z: mean, covariance, log evidence, and the sums."""
    rows = Rows(found.vocabularies, found.slices(list(vary)))
    graph, slot = word_graph(prior.parts, rows)
    word = np.asarray(found.ids, np.int64)
    row = slot[rows.slices.of_document.astype(np.int64) * len(found.vocabularies[0]) + word].astype(np.int64)
    sums = OccurrenceSums.of(found.vectors, row, word, graph.own, len(found.vocabularies[0]))
    precision = graph.laplacian().toarray()
    known = np.zeros(len(graph))
    known[: graph.own] = sums.precision
    covariance = np.linalg.inv(precision + np.diag(known))
    mean = covariance[:, : graph.own] @ (sums.precision[:, None] * sums.mean)
    seen = sums.count > 0
    marginal = np.linalg.inv(precision)[: graph.own, : graph.own][np.ix_(seen, seen)] + np.diag(
        1 / sums.precision[seen]
    )
    normal = scipy.stats.multivariate_normal(np.zeros(seen.sum()), marginal)
    evidence = sum(normal.logpdf(sums.mean[seen, d]) for d in range(sums.mean.shape[1]))
    return mean, covariance, evidence, (graph, sums)


@pytest.mark.parametrize(
    ("prior", "vary"),
    [
        (PARTIES, ("party",)),
        (lx.Ridge(0.1) + lx.Chain("year", 3.0) + lx.Groups("party", 2.0), ("party", "year")),
        (lx.Ridge(0.1) + lx.Pairs([("tax", "health"), ("war", "peace")], 4.0), ()),
        (lx.Ridge(0.5) + lx.GroupMean("party", 3.0, 1.0), ("party",)),
    ],
    ids=["groups", "chain and groups", "pairs", "mean"],
)
def test_the_posterior_is_that_of_dense_matrices(found, prior, vary):
    mean, covariance, _, (graph, sums) = dense(found, prior, vary)
    posterior = GaussianPosterior(graph, sums)
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-9)
    np.testing.assert_allclose(posterior.variance(), np.diag(covariance), rtol=1e-8)
    np.testing.assert_allclose(posterior.covariance(np.array([1, 3])), covariance[np.ix_([1, 3], [1, 3])], rtol=1e-8)


def test_large_components_have_the_same_variances(found, monkeypatch):
    _, covariance, _, (graph, sums) = dense(found, PARTIES)
    monkeypatch.setattr("laplex.engines.gaussian.LARGEST_DENSE", 1)
    monkeypatch.setattr("laplex.engines.gaussian.COLUMNS_TOGETHER", 3)
    np.testing.assert_allclose(GaussianPosterior(graph, sums).variance(), np.diag(covariance), rtol=1e-8)


def test_the_evidence_of_strengths_is_the_marginal_likelihood(found):
    differences = []
    for strength in (0.5, 50.0):
        _, _, expected, parts = dense(found, lx.Ridge(0.1) + lx.Groups("party", strength))
        differences.append(expected - GaussianPosterior(*parts).log_evidence())
    assert differences[0] == pytest.approx(differences[1], abs=1e-6)


def test_strengths_are_chosen_by_how_much_groups_differ():
    weak, strong = (
        lx.fit(
            lx.Model(["party"], lx.Ridge() + lx.Groups("party")), read(moved=moved, size=6.0), quiet=True, tests=False
        )
        for moved in (WORDS, ())
    )
    strength = [fitted.settings["model"]["beliefs"][1]["strength"] for fitted in (weak, strong)]
    assert strength[0] < 2 < 10 < strength[1]
    assert weak.settings["model"]["beliefs"][1]["chosen"]


def test_vectors_are_posterior_means_and_have_deviations(found, fitted):
    mean, covariance, _, (_, sums) = dense(found, PARTIES)
    row = fitted.rows.words(0, 1)[fitted.id("tax", 0)]
    np.testing.assert_allclose(fitted.vector("tax", at={"party": "R"}), mean[row] @ sums.root, rtol=1e-4)
    expected = np.sqrt(covariance[row, row] * np.diag(sums.root @ sums.root))
    np.testing.assert_allclose(fitted.deviation("tax", at={"party": "R"}), expected, rtol=1e-4)


def test_longer_vectors_are_projected_to_the_dimensions_of_the_model(found):
    fitted = lx.fit(lx.Model(["party"], PARTIES, dimensions=5), found, quiet=True, tests=False)
    assert fitted.dimensions == found.projected(5).shape[1] == 5
    assert found.projected(5).var(0).sum() <= np.asarray(found.vectors).var(0).sum()


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (lx.Model(window=3), {}, "window=3 is of text"),
        (lx.Model(likelihood="sgns"), {}, 'likelihood="sgns" is of text'),
        (lx.Model(absent="filled"), {}, "filled"),
        (lx.Model(), {"epochs": 3}, "epochs= is of text"),
        (lx.Model(prior=lx.Ridge(1.0) + lx.Pairs([("tax", "war")], 1.0, joins="word-context")), {}, "context vectors"),
        (lx.Model(["party"], lx.Groups("party", 1.0)), {}, "says nothing about"),
    ],
)
def test_what_is_of_text_alone_is_refused(found, model, options, message):
    with pytest.raises(InputError, match=message):
        lx.fit(model, found, quiet=True, **options)


def test_text_is_not_fitted_with_the_gaussian_likelihood():
    corpus = lx.read([{"text": "a b a b"}] * 5)
    with pytest.raises(InputError, match=r"lx\.encode"):
        lx.fit(lx.Model(likelihood="gaussian"), corpus, min_count=1, engine="reference", quiet=True)


def test_a_planted_difference_holds_and_is_explained(fitted, tmp_path):
    table = fitted.contrast("party")
    assert table["word"][table["holds"]].tolist() == ["health"]
    assert table.loc[0, ["units", "units_against"]].tolist() == [12, 12]
    assert "family" in table.loc[0, "context"]
    assert "money" in table.loc[0, "context_against"]
    found = fitted.explain("health", "party")
    assert found.context["contribution"].sum() == pytest.approx(found.total)
    assert {*found.passages["word"]} == {"health"}
    of_d = found.passages[found.passages["value"] == "D"]
    assert of_d["before"].str.contains("family").all()
    assert of_d["speaker"].str.startswith("s").all()
    fitted.save(tmp_path / "model")
    again = lx.load(tmp_path / "model")
    assert again.contrast("party").equals(table)
    assert again.explain("health", "party").total == pytest.approx(found.total)


def test_other_questions_are_answered(found):
    fitted = lx.fit(lx.Model(["party"], PARTIES), found, quiet=True, tests=False)
    options = {"min_count": 20, "quiet": True}
    assert fitted.contrast("party", given="year")["holds"].sum() == 1
    table = fitted.regress("~ party + year")
    assert table["word"][table["holds"]].tolist() == ["health"]
    near = fitted.inference(**options).neighbors("health", 2, at={"party": "D"})
    assert ((near["lower"] < near["estimate"]) & (near["estimate"] < near["upper"])).all()
    across = fitted.inference(**options).similarity("health", "tax", across="party")
    assert across["p"].between(0, 1).all()
    assert fitted.passages("tax", top=2)["word"].tolist() == ["tax", "tax"]
    with pytest.raises(InputError, match=r"deviation"):
        fitted.posterior("health")


def test_an_influence_is_what_is_lost_without_a_unit(found):
    from laplex.inference.occurrence_jackknife import occurrence_influences

    fitted = lx.fit(lx.Model(["party"], PARTIES), found, quiet=True, tests=False)
    unit = found.codes("speaker").astype(np.int64)
    vectors, influence = occurrence_influences(fitted, [fitted.id("tax", 0)], found, unit, 24)[fitted.id("tax", 0)]
    np.testing.assert_allclose(vectors, [fitted.vector("tax", at={"party": p}) for p in "DR"], rtol=1e-3, atol=1e-4)
    rows = Rows(found.vocabularies, found.slices(["party"]))
    graph, slot = word_graph(PARTIES.parts, rows)
    word = np.asarray(found.ids, np.int64)
    row = slot[rows.slices.of_document.astype(np.int64) * 5 + word].astype(np.int64)
    sums = OccurrenceSums.of(found.vectors, row, word, graph.own, 5)
    kept = unit != 3
    precision = graph.laplacian().toarray() + np.diag(np.bincount(row[kept], 1 / sums.noise[row[kept]], len(graph)))
    z = (np.asarray(found.vectors, np.float64) - sums.center) @ np.linalg.inv(sums.root)
    right = np.zeros((len(graph), DIMENSIONS))
    np.add.at(right, row[kept], (z / sums.noise[row][:, None])[kept])
    without = np.linalg.solve(precision, right) @ sums.root
    slots = [slot[rows.words(0, s)[fitted.id("tax", 0)]] for s in (0, 1)]
    np.testing.assert_allclose(vectors - influence[:, 3], without[slots], rtol=1e-3, atol=1e-4)


def test_labels_that_mean_nothing_are_called_different_at_the_level():
    words, small, all_p = [f"w{i}" for i in range(12)], 0, []
    for seed in range(8):
        found = read(seed, words=words, moved=(), by_speaker=1.0, each=4)
        fitted = lx.fit(lx.Model(["party"], PARTIES), found, quiet=True, tests=False)
        table = fitted.inference(min_count=20, permutations=199, quiet=True).contrast("party")
        all_p += table["p"].tolist()
    small = np.mean(np.array(all_p) < 0.05)
    assert len(all_p) == 96
    assert small < 0.13


def test_documents_as_units_would_be_fooled_by_speakers():
    """With occurrences taken as independent, differences between speakers look like differences between parties."""
    found = read(1, moved=(), by_speaker=1.5, words=[f"w{i}" for i in range(12)])
    fitted = lx.fit(lx.Model(["party"], PARTIES), found, quiet=True, tests=False)
    by_speaker, by_occurrence = (
        fitted.inference(unit=unit, min_count=20, permutations=199, quiet=True).contrast("party")["p"]
        for unit in ("speaker", "documents")
    )
    assert (by_occurrence < 0.05).mean() > 0.6
    assert (by_speaker < 0.05).mean() < 0.3


def test_many_units_are_tested_by_their_own_rows(monkeypatch):
    found = read(2, speakers=60)
    fitted = lx.fit(lx.Model(["party"], PARTIES), found, quiet=True, tests=False)
    options = {"min_count": 20, "permutations": 999, "quiet": True}
    one = fitted.inference(**options).contrast("party").set_index("word")
    monkeypatch.setattr("laplex.inference.occurrence_pass.MAX_CLUSTERS_WITH_ROWS", 10)
    two = fitted.inference(**options).contrast("party").set_index("word")
    np.testing.assert_allclose(one["estimate"], two["estimate"].reindex(one.index), rtol=1e-6)
    assert abs(one["p"] - two["p"].reindex(one.index)).max() < 0.06
    assert issubclass(OccurrencePass, object)


def test_change_is_found_without_its_noise():
    found = read(3, moved=("health",), size=3.0, each=8)
    table = lx.change(found, "party", quiet=True).set_index("word")
    assert table.index[0] == "health"
    assert table.loc["health", "lower"] > 0
    others = table.drop("health")
    assert (others["estimate"].abs() < table.loc["health", "estimate"] / 4).all()
    x = np.asarray(found.vectors, np.float64)
    party = np.array(found.values("party"))[found.codes("party")]
    word = np.array(found.vocabularies[0].words)[found.ids]
    one, two = (x[(word == "tax") & (party == p)] for p in "DR")
    cosine = scipy.spatial.distance.cosine(one.mean(0), two.mean(0))
    assert table.loc["tax", "prt"] == pytest.approx(cosine, rel=1e-6)
    assert table.loc["tax", "apd"] == pytest.approx(scipy.spatial.distance.cdist(one, two, "cosine").mean(), rel=1e-6)
    assert (table["prt_lower"] < table["prt"]).all()
    with pytest.raises(InputError, match="epochs= is of text"):
        lx.change(found, "party", epochs=3)
