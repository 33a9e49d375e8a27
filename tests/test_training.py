"""Fitting: planted structure is found, runs can be repeated and resumed, and wrong input is told so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import small
from interruption import stopped_after

import laplex as lx
from laplex.engines import cpu
from laplex.fitting.estimation import DivergedError
from laplex.model.objective import log_prior
from laplex.model.problem import make_problem
from laplex.runtime import storage


@pytest.fixture
def speeches():
    """The words 0, 1 and 2 change their topics from one party to the other."""
    return small.corpus(small.documents(count=300))


def model(**choices):
    prior = lx.Ridge(1.0) + lx.Groups("party", 30.0)
    return lx.Model(**({"vary": ["party"], "prior": prior, "dimensions": 8, "window": 3, "subsample": 0.0} | choices))


def fit(model, corpus, **options):
    return lx.fit(model, corpus, quiet=True, **({"min_count": 1, "epochs": 5, "threads": 1, "holdout": 0.1} | options))


# What is found


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_words_that_swap_their_roles_lead_the_contrast(likelihood):
    fitted = fit(model(likelihood=likelihood), small.corpus(small.documents(count=900)), epochs=30)
    bare = fitted.contrast("party", test=False).head(3)
    assert set(bare["word"]) == {"0", "1", "2"}
    assert set(zip(bare["value"], bare["against"])) == {("D", "R")}
    tested = fitted.inference(min_count=50, quiet=True).contrast("party")
    assert set(tested["word"][:3]) == {"0", "1", "2"}
    assert tested["holds"][:3].all()


@pytest.mark.slow
def test_the_reference_engine_finds_them_too(speeches):
    fitted = fit(model(dimensions=4), small.corpus(small.documents(count=60)), engine="reference")
    assert set(fitted.contrast("party", test=False)["word"].head(2)) <= {"0", "1", "2"}
    assert len(fitted.history) == 1


def test_history_tells_of_every_epoch(speeches):
    fitted = fit(model(), speeches, epochs=8)
    history = fitted.history
    assert list(history["epoch"]) == list(range(1, 9))
    assert {"log_likelihood", "log_prior", "held_out", "tokens_per_second", "priors"} <= set(history.columns)
    assert history["held_out"].iloc[-1] > history["held_out"].iloc[0]
    assert history["log_likelihood"].iloc[-1] > history["log_likelihood"].iloc[0]
    assert (history["tokens_per_second"] > 0).all()


def test_history_tells_the_log_prior_of_each_prior(speeches):
    """Two that are written alike, and two with fixed vectors, as well."""
    random = np.random.default_rng(0)
    anchors = [lx.Anchor({word: random.standard_normal(8)}, 2.0, on="contexts") for word in ("4", "5")]
    prior = lx.Ridge(1.0) + lx.Ridge(1.0) + lx.Groups("party", 3.0) + anchors[0] + anchors[1]
    fitted = fit(model(prior=prior), speeches, epochs=2)
    last = fitted.history.iloc[-1]
    assert len(last["priors"]) == 5
    whole = log_prior(fitted.graph, fitted.theta.astype(np.float64))
    assert last["log_prior"] == pytest.approx(whole, rel=1e-4)


def test_without_held_out_documents_there_is_nothing_to_judge_by(speeches):
    assert fit(model(), speeches, holdout=0.0, epochs=1).history["held_out"].isna().all()


def test_words_of_held_out_documents_alone_are_known_by_their_absence():
    rows = small.documents(count=40)
    probe = lx.Tokens.of(small.corpus(rows), min_count=1, quiet=True)
    held_out = make_problem(model(), probe, small.layout(rows, ["party"]), 0.5, 1).held_out
    assert 0 < held_out.sum() < len(rows)
    for row, out in zip(rows, held_out):
        if out:
            row["text"] = [*row["text"], "unseen"]
    fitted = fit(model(prior=lx.Ridge(1.0)), small.corpus(rows), holdout=0.5, epochs=2)
    usual = np.array([fitted.count(word) for word in fitted]) @ fitted.contexts()
    for party in "DR":
        assert 0 < np.linalg.norm(fitted.vector("unseen", at={"party": party})) < 5
        assert fitted.vector("unseen", at={"party": party}) @ usual < 0


def test_early_stopping(speeches):
    """A rate that does harm: the held-out likelihood falls from the start."""
    prior = lx.Ridge(1e-6) + lx.Groups("party", 1e-6)
    fitted = fit(model(prior=prior), speeches, epochs=60, pooled_epochs=5, patience=3, rate=5.0)
    held_out = fitted.history["held_out"].to_numpy()[5:]  # the epochs before there are slices do not count
    assert 4 <= len(held_out) < 55
    assert held_out[-3:].max() <= held_out[:-3].max()
    for end in range(4, len(held_out)):
        assert held_out[end - 3 : end].max() > held_out[: end - 3].max()


def test_what_has_stopped_early_stays_so(speeches, tmp_path):
    options = {"epochs": 60, "patience": 3, "rate": 5.0, "checkpoint": tmp_path / "run"}
    once = fit(model(prior=lx.Ridge(1e-6)), speeches, **options)
    again = fit(model(prior=lx.Ridge(1e-6)), speeches, **options)
    assert 4 <= len(once.history) < 60
    assert len(again.history) == len(once.history)


# Again, and going on


def test_one_thread_gives_the_same_bytes(speeches):
    once, again, other = (fit(model(), speeches, epochs=2, seed=seed) for seed in (1, 1, 2))
    assert once.theta.tobytes() == again.theta.tobytes()
    assert once.theta.tobytes() != other.theta.tobytes()


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(speeches, tmp_path, likelihood):
    chosen = model(likelihood=likelihood, subsample=1e-2)
    whole = fit(chosen, speeches, epochs=6)
    with stopped_after(3):
        fit(chosen, speeches, epochs=6, checkpoint=tmp_path / "run")
    resumed = fit(chosen, speeches, epochs=6, checkpoint=tmp_path / "run")
    assert resumed.theta.tobytes() == whole.theta.tobytes()
    columns = ["epoch", "log_likelihood", "log_prior", "held_out", "priors"]
    pd.testing.assert_frame_equal(resumed.history[columns], whole.history[columns])


def test_a_finished_run_is_not_repeated(speeches, tmp_path):
    once = fit(model(), speeches, epochs=2, checkpoint=tmp_path / "run")
    again = fit(model(), speeches, epochs=2, checkpoint=tmp_path / "run")
    assert once.theta.tobytes() == again.theta.tobytes()
    pd.testing.assert_frame_equal(once.history, again.history)


@pytest.mark.parametrize(
    "other",
    [
        lambda speeches, run: fit(model(window=2), speeches, **run),
        lambda speeches, run: fit(model(prior=lx.Ridge(2.0)), speeches, **run),
        lambda speeches, run: fit(model(prior=lx.Ridge(1.0) + lx.Pairs([("0", "2")], 1.0)), speeches, **run),
        lambda speeches, run: fit(model(), speeches, **(run | {"seed": 2})),
        lambda speeches, run: fit(model(), small.corpus(small.documents(count=300, seed=9)), **run),
    ],
    ids=["window", "strength", "pairs", "seed", "text"],
)
def test_a_checkpoint_of_something_else_is_refused(speeches, tmp_path, other):
    run = {"epochs": 1, "checkpoint": tmp_path / "run"}
    chosen = model(prior=lx.Ridge(1.0) + lx.Pairs([("0", "1")], 1.0))
    fit(chosen, speeches, **run)
    with pytest.raises(lx.InputError, match="checkpoint of another model, text or training"):
        other(speeches, run)


def test_values_that_are_not_finite_end_the_run(speeches):
    """A vector to be anchored to that is too long for the engine's numbers."""
    chosen = model(prior=lx.Ridge(1.0) + lx.Anchor({"0": np.full(8, 1e30)}, 1e6))
    with pytest.raises(DivergedError, match=r"not finite: lower rate=0\.7"):
        fit(chosen, speeches, rate=0.7)


@pytest.mark.parametrize(
    ("checkpoint", "copied"), [(True, True), (False, True), (True, False)], ids=["both", "copy", "checkpoint"]
)
def test_the_last_good_state_is_kept(speeches, tmp_path, monkeypatch, checkpoint, copied):
    run = cpu.Cpu.run
    if not copied:
        monkeypatch.setattr("laplex.runtime.checkpoint.MAX_COPY_BYTES", 0)

    def run_and_fail(self, epoch, *rest):
        done = run(self, epoch, *rest)
        if epoch.number == 2:
            self.state.theta[0], self.state.accumulator[0] = np.inf, np.nan
        return done

    good = fit(model(), speeches, patience=2, checkpoint=tmp_path / "good")
    monkeypatch.setattr(cpu.Cpu, "run", run_and_fail)
    folder = tmp_path / "run" if checkpoint else None
    with pytest.raises(DivergedError, match="the model after epoch 2 is in the error's last_good") as failed:
        fit(model(), speeches, checkpoint=folder)
    left = failed.value.last_good
    assert len(left.history) == 2
    assert left.history["held_out"].tolist() == good.history["held_out"].tolist()[:2]
    assert np.isfinite(left.theta).all()
    assert len(left.contrast("party", test=False)) >= 15
    if checkpoint:
        saved = storage.load(folder, "checkpoint")
        assert len(saved.settings["position"]["history"]) == 2
        assert all(np.isfinite(array).all() for array in saved.arrays.values())


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_a_run_interrupted_within_an_epoch_goes_on_bit_for_bit(speeches, tmp_path, monkeypatch, likelihood):
    monkeypatch.setattr(cpu, "PIECE", 500)
    chosen = model(likelihood=likelihood, subsample=1e-2)
    whole = fit(chosen, speeches, epochs=2)
    run = {"epochs": 2, "checkpoint": tmp_path / "run", "checkpoint_minutes": 1e-9}
    with stopped_after(5) as positions:
        fit(chosen, speeches, **run)
    assert positions[-1]["piece"] > 0
    resumed = fit(chosen, speeches, **run)
    assert resumed.theta.tobytes() == whole.theta.tobytes()
    columns = ["epoch", "log_likelihood", "log_prior", "held_out", "priors"]
    pd.testing.assert_frame_equal(resumed.history[columns], whole.history[columns])


def test_embeddings_come_back_from_disk(speeches, tmp_path):
    fitted = fit(model(), speeches)
    fitted.save(tmp_path / "saved")
    again = lx.load(tmp_path / "saved")
    assert repr(again) == repr(fitted)
    assert again.words() == fitted.words()
    np.testing.assert_array_equal(again.matrix(at={"party": "R"}), fitted.matrix(at={"party": "R"}))
    np.testing.assert_array_equal(again.contexts(), fitted.contexts())
    pd.testing.assert_frame_equal(again.contrast("party", test=False), fitted.contrast("party", test=False))
    pd.testing.assert_frame_equal(again.history, fitted.history)
    pd.testing.assert_frame_equal(again.slices, fitted.slices)
    assert again.count("3", at={"party": "D"}) == fitted.count("3", at={"party": "D"}) > 0
    assert again.settings["model"]["dimensions"] == 8
    np.testing.assert_array_equal(again.graph.laplacian().toarray(), fitted.graph.laplacian().toarray())


def test_two_languages_come_back_from_disk(tmp_path):
    both = small.corpus(small.documents(languages=("x", "y")))
    prior = lx.Ridge(1.0) + lx.Translations([("x0", "y0")], np.inf)
    fitted = fit(model(vary=[], prior=prior), both, epochs=2)
    np.testing.assert_array_equal(fitted.vector("x0", "x"), fitted.vector("y0", "y"))
    fitted.save(tmp_path / "saved")
    again = lx.load(tmp_path / "saved")
    np.testing.assert_array_equal(again.matrix("y"), fitted.matrix("y"))


# What is odd but works


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("dimensions", [1, 1000])
def test_few_and_many_dimensions(speeches, dimensions, likelihood):
    fitted = fit(model(dimensions=dimensions, likelihood=likelihood), speeches, epochs=1)
    assert fitted.matrix(at={"party": "D"}).shape == (18, dimensions)
    assert np.isfinite(fitted.theta).all()


def test_many_threads(speeches):
    fitted = fit(model(), speeches, threads=64, epochs=2)
    assert np.isfinite(fitted.theta).all()
    assert len(fitted.history) == 2


def test_fewer_tokens_than_a_window():
    fitted = fit(model(vary=[], prior=lx.Ridge(1.0), window=50), lx.read([{"text": "a b c"}]), holdout=0.0)
    assert np.isfinite(fitted.theta).all()
    assert fitted.vector("a").any()


def test_one_document():
    rows = small.documents(count=1, length=200)
    fitted = fit(model(vary=[], prior=lx.Ridge(1.0)), small.corpus(rows), holdout=0.0)
    assert np.isfinite(fitted.theta).all()


def test_one_word():
    fitted = fit(model(vary=[], prior=lx.Ridge(1.0)), lx.read([{"text": "a a a a"}] * 5), holdout=0.0)
    assert fitted.words() == ["a"]
    assert np.isfinite(fitted.theta).all()


# What is refused


def check_refused(message, **choices):
    options = {
        key: choices.pop(key) for key in list(choices) if key in ("epochs", "threads", "rate", "min_count", "rows")
    }
    rows = options.pop("rows", small.documents())
    corpus = rows if isinstance(rows, lx.Corpus) else small.corpus(rows)
    with pytest.raises(lx.InputError, match=message):
        fit(model(**choices), corpus, **options)


def test_an_unknown_column_to_vary_by():
    check_refused('no column "partei".*party, year', vary=["partei"])


@pytest.mark.parametrize("make", [lx.Groups, lx.Chain, lx.GroupMean])
def test_a_prior_over_a_column_that_does_not_vary(make):
    check_refused(r'"year", by which vectors do not vary.*party', prior=lx.Ridge(1.0) + make("year"))


def test_pairs_of_which_no_word_is_known(write):
    path = write("pairs.tsv", "dog\thound\ncat\t0\n")
    check_refused(r"pairs\.tsv.*18 words; 1 of 2 pairs have one.*min_count", prior=lx.Ridge(1.0) + lx.Pairs(path))


def test_a_prior_without_a_ridge():
    check_refused(r"54 of 54 rows.*'word', \('D',\).*singular.*lx\.Ridge", prior=lx.Groups("party", 1.0))


def test_a_prior_that_leaves_the_contexts_out():
    check_refused(r"18 of 54 rows.*'context'", prior=lx.Ridge(1.0, on="words"))


def test_documents_of_one_word_each():
    check_refused(
        "no document has two words", vary=[], prior=lx.Ridge(1.0), rows=lx.read([{"text": "a"}, {"text": "b"}])
    )


def test_a_min_count_that_leaves_nothing():
    check_refused("min_count", min_count=10_000)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"threads": 0}, "threads=0"),
        ({"threads": -2}, "threads=-2"),
        ({"epochs": 0}, "epochs=0"),
        ({"rate": 0.0}, "rate=0.0"),
        ({"rate": float("nan")}, "rate=nan"),
    ],
)
def test_impossible_training(option, message):
    check_refused(message, **option)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"engine": "gpu"}, 'engine="gpu"'),
        ({"holdout": 1.0}, "holdout=1.0"),
        ({"patience": 0}, "patience=0"),
        ({"block": 12}, "block=12"),
    ],
)
def test_impossible_settings(option, message):
    with pytest.raises(lx.InputError, match=message):
        lx.Training(**option)


@pytest.mark.parametrize("strength", [-1.0, float("nan"), "strong"])
@pytest.mark.parametrize(
    "make",
    [
        lambda strength: lx.Ridge(strength),
        lambda strength: lx.Groups("party", strength),
        lambda strength: lx.GroupMean("party", 1.0, strength),
        lambda strength: lx.Chain("year", strength),
        lambda strength: lx.Pairs([("a", "b")], strength),
        lambda strength: lx.Translations([("a", "b")], strength),
        lambda strength: lx.Anchor({}, strength),
        lambda strength: lx.Edges(lx.Graph.of(1, names=["a"]), strength),
    ],
)
def test_a_strength_that_is_none(make, strength):
    with pytest.raises(lx.InputError, match="a strength is a number from 0"):
        make(strength)


@pytest.mark.parametrize("strength", [2, np.int64(2), np.float32(2.0), np.float64(2.0)])
def test_any_kind_of_number_is_a_strength(strength):
    assert lx.Ridge(strength).strength == 2.0


def test_anchors_of_several_lengths():
    anchors = lx.Anchor({"0": np.ones(5)}) + lx.Anchor({"1": np.ones(6)})
    check_refused("fixed vectors of 5, 6 dimensions do not go together", prior=lx.Ridge(1.0) + anchors)


def test_an_anchor_of_unknown_words():
    check_refused("none of the 18 words", prior=lx.Ridge(1.0) + lx.Anchor({"dog": np.ones(8)}))


def test_translations_of_one_language():
    check_refused("two languages, the corpus has 1", prior=lx.Ridge(1.0) + lx.Translations([("0", "1")]))


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [("vector_size", 100, "dimensions="), ("sg", 1, "sgns"), ("workers", 4, "threads="), ("negative", 5, "negatives=")],
)
def test_the_names_of_other_packages_are_understood_by_the_model(name, value, instead):
    with pytest.raises(lx.InputError, match=rf"no {name}=.*{instead}"):
        lx.Model(**{name: value})


@pytest.mark.parametrize(
    ("name", "instead"), [("workers", "threads="), ("alpha", "rate="), ("vector_size", "dimensions=")]
)
def test_the_names_of_other_packages_are_understood_by_fit(speeches, name, instead):
    with pytest.raises(lx.InputError, match=rf"no {name}=.*{instead}"):
        lx.fit(model(), speeches, **{name: 1})


def test_an_unknown_option_is_refused(speeches):
    with pytest.raises(lx.InputError, match="fit has no colour="):
        lx.fit(model(), speeches, colour="red")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"vary": "party"}, r'vary=\["party"\]'),
        ({"prior": 1.0}, "prior= is a prior such as"),
        ({"likelihood": "glove"}, 'likelihood="glove"'),
        ({"dimensions": 0}, "dimensions=0"),
        ({"window": 2.5}, "window=2.5"),
        ({"negatives": 0}, "negatives=0"),
        ({"subsample": -1}, "subsample=-1"),
    ],
)
def test_impossible_models(choice, message):
    with pytest.raises(lx.InputError, match=message):
        model(**choice)


def test_what_of_a_lexicon_is_known_is_said_once(capsys):
    corpus = lx.read([{"text": "red blue green sun"}] * 9)
    prior = lx.Ridge(1.0) + lx.Pairs([("red", "blue"), ("red", "unheard")], 1.0)
    lx.fit(lx.Model(prior=prior, dimensions=4), corpus, min_count=1, epochs=1, holdout=0)
    said = capsys.readouterr().err
    assert said.count("1 of 2 pairs of the list of pairs have both words in the vocabulary") == 1


def test_groups_that_never_share_a_slice_cannot_be_contrasted():
    documents = [{"text": "red blue green sun", "party": p, "year": y} for p, y in [("D", 1), ("R", 2)]] * 5
    corpus = lx.read(documents, metadata=["party", "year"])
    fitted = lx.fit(lx.Model(vary=["party", "year"], dimensions=4), corpus, min_count=1, epochs=1, holdout=0)
    with pytest.raises(lx.InputError, match='no two values of "party" share a slice of year'):
        fitted.contrast("party", test=False)
