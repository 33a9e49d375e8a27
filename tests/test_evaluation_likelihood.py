"""Held-out likelihood: against the reference, what is counted, and what is wrong with the input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_expit
from small import corpus, documents, problem, some_theta

import laplex as lx
from laplex.embeddings import Embeddings
from laplex.fitting.held_out import held_out
from laplex.model.objective import HeldOutDocuments, log_likelihood
from laplex.model.rows import Rows
from laplex.model.vectors import Vectors


def made(rows, vary=(), seed=1, scale=0.5, **choices):
    """A model of these documents with some vectors, and its Tokens."""
    choices = {"dimensions": 4, "window": 2, "negatives": 3, "subsample": 0.0} | choices
    tokens = lx.Tokens.of(corpus(rows), min_count=1, quiet=True)
    layout = Rows(tokens.vocabularies, tokens.slices(vary))
    theta = scale * np.random.default_rng(seed).standard_normal((len(layout), choices["dimensions"]))
    counts = [tokens.counts(layout.slices, i) for i in range(len(tokens.vocabularies))]
    settings = {"model": lx.Model(vary=vary, **choices).settings()}
    slot = np.arange(len(layout), dtype=np.int32)
    graph = lx.Graph.of(len(layout))
    return Embeddings(layout, theta.astype(np.float32), slot, counts, graph, settings, []), tokens


def written_out(model, tokens, seed=1):
    """The log likelihood of each document of an unsliced model, token by token, and its tokens."""
    rule = model.settings["model"]
    words, contexts = model.matrix().astype(float), model.contexts().astype(float)
    cumulative = np.cumsum(model.rows.vocabularies[0].noise(rule["noise_power"]))
    random = np.random.default_rng([seed, 2])
    sums = np.zeros(tokens.documents)
    for m in range(tokens.documents):
        ids = tokens.document(m)
        for i, word in enumerate(ids):
            around = [c for j, c in enumerate(ids) if j != i and abs(j - i) <= rule["window"]]
            drawn = np.searchsorted(cumulative, random.random(rule["negatives"]) * cumulative[-1], "right")
            for x in [contexts[around].sum(0)] if rule["likelihood"] == "cbow" else contexts[around]:
                sums[m] += log_expit(words[word] @ x) + log_expit(-words[drawn] @ x).sum()
    return sums, np.diff(tokens.offsets)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_it_is_the_reference_with_the_same_negatives(likelihood):
    rows = documents(30)
    whole = problem(rows, lx.Ridge(1.0), likelihood=likelihood)
    theta = some_theta(whole).astype(np.float32)
    reference = HeldOutDocuments.of(whole, ~whole.held_out).log_likelihood(theta, seed=5)
    model, tokens = made(rows, likelihood=likelihood)
    model.theta[:] = theta
    frame = held_out(model, tokens, seed=5)
    assert list(frame.columns) == ["model", "log_likelihood", "se", "tokens", "documents"]
    assert frame["log_likelihood"][0] == pytest.approx(reference, abs=1e-6)
    assert frame[["tokens", "documents"]].to_numpy().tolist() == [[len(tokens), 30]]
    sums, lengths = written_out(model, tokens, 5)
    assert frame["log_likelihood"][0] == pytest.approx(sums.sum() / lengths.sum(), abs=1e-6)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("vary", [(), ("party", "year")])
def test_over_many_seeds_it_is_the_exact_expectation(likelihood, vary):
    rows = documents(40, languages=("a", "b"))
    whole = problem(rows, lx.Ridge(1.0), vary, likelihood=likelihood)
    theta = some_theta(whole, scale=1.0).astype(np.float32)
    exact, _ = log_likelihood(whole, theta.astype(np.float64))
    model, tokens = made(rows, vary, likelihood=likelihood)
    model.theta[:] = theta
    found = [held_out(model, tokens, seed=seed)["log_likelihood"][0] for seed in range(40)]
    assert np.mean(found) == pytest.approx(exact / len(tokens), abs=4 * np.std(found) / np.sqrt(40))
    assert np.std(found) > 0


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_it_does_not_matter_how_many_documents_are_read_at_once(likelihood, monkeypatch):
    model, tokens = made(documents(20), ("party",), likelihood=likelihood)
    whole = held_out(model, tokens)
    for size in (1, 7, 50):
        monkeypatch.setattr("laplex.model.likelihoods.TOKENS_PER_BATCH", size)
        assert held_out(model, tokens)["log_likelihood"][0] == pytest.approx(whole["log_likelihood"][0])


def test_models_with_and_without_slices_see_the_same_negatives():
    rows = documents(30)
    plain, tokens = made(rows)
    sliced, _ = made(rows, ("party",))
    for slice in range(2):
        sliced.theta[sliced.slot[list(sliced.rows.words(0, slice))]] = plain.matrix()
    sliced.theta[sliced.slot[list(sliced.rows.contexts(0))]] = plain.contexts()
    frame = held_out({"plain": plain, "sliced": sliced}, tokens)
    assert frame["log_likelihood"][0] == pytest.approx(frame["log_likelihood"][1], rel=1e-12)
    assert frame["difference"].abs().max() < 1e-12


def test_the_standard_error_is_that_of_a_jackknife_over_documents():
    rows = documents(60)
    for number, row in enumerate(rows):
        row["text"] = row["text"][: 5 + number % 15]
    model, tokens = made(rows, scale=1.0)
    other, _ = made(rows, scale=1.0, seed=2)
    frame = held_out({"one": model, "two": other}, tokens)
    (one, lengths), (two, _) = written_out(model, tokens), written_out(other, tokens)
    for found, sums in ((frame["se"][0], one), (frame["se"][1], two), (frame["difference_se"][1], two - one)):
        left_out = (sums.sum() - sums) / (lengths.sum() - lengths)
        jackknife = np.sqrt(59 / 60 * ((left_out - left_out.mean()) ** 2).sum())
        assert found == pytest.approx(jackknife, rel=0.02)
    assert frame["difference"][1] == pytest.approx(frame["log_likelihood"][1] - frame["log_likelihood"][0])
    assert frame["difference"][0] == 0


def test_another_corpus_is_read_with_the_words_of_the_model(capsys):
    model, tokens = made(documents(20))
    rows = [{"text": ["new", *row["text"], "strange", "words"], "party": "D", "year": "2000"} for row in documents(20)]
    rows[7:7] = [{"text": ["0"], "party": "D", "year": "2000"}, {"text": ["alone", "5"], "party": "D", "year": "2000"}]
    other = lx.read(rows, metadata=["party", "year"])
    frame = held_out(model, other)
    same = held_out(model, tokens)
    assert frame.equals(same)
    assert "61 of 463 tokens are outside the vocabulary" in capsys.readouterr().err


def test_a_model_of_better_vectors_predicts_better():
    rows = documents(60)
    model = lx.Model(dimensions=4, window=2, negatives=3, subsample=0.0)
    fitted = lx.fit(model, corpus(rows), engine="reference", min_count=1, holdout=0.0, quiet=True)
    bad, _ = made(rows, scale=1.0)
    frame = held_out({"fitted": fitted, "bad": bad}, corpus(documents(50, seed=9)), quiet=True)
    assert frame["difference"][1] < -5 * frame["difference_se"][1] < 0


def test_frequent_words_can_be_thinned_out():
    model, tokens = made(documents(60, length=60))
    counts = model.rows.vocabularies[0].counts
    frame = held_out(model, tokens, subsample=0.02)
    kept = (counts * model.rows.vocabularies[0].subsampling(0.02)).sum()
    assert frame["tokens"][0] == pytest.approx(kept, rel=0.03)
    assert frame["tokens"][0] < 0.95 * len(tokens)
    assert frame.equals(held_out(model, tokens, subsample=0.02))


def test_windows_may_differ_for_cbow():
    rows = documents(20)
    near, tokens = made(rows)
    far, _ = made(rows, window=4)
    frame = held_out({"near": near, "far": far}, tokens)
    sums, lengths = written_out(far, tokens)
    assert frame["log_likelihood"][1] == pytest.approx(sums.sum() / lengths.sum(), abs=1e-6)
    assert frame["log_likelihood"][0] != frame["log_likelihood"][1]


def test_vectors_without_settings_need_a_model():
    model, tokens = made(documents(20))
    plain = Vectors(model.rows, model.theta, model.slot, model.counts)
    with pytest.raises(lx.InputError, match=r"model does not say what likelihood .* under=lx.Model"):
        held_out(plain, tokens)
    under = lx.Model(dimensions=4, window=2, negatives=3)
    assert held_out(plain, tokens, under=under).equals(held_out(model, tokens))


def test_slices_that_a_model_does_not_know_are_named():
    rows = documents(40)
    model, _ = made([row for row in rows if row["year"] != "2003"], ("party", "year"))
    with pytest.raises(lx.InputError, match="model knows no slice D, 2003, R, 2003 of party, year, which 12 documents"):
        held_out(model, corpus(rows), quiet=True)
    with pytest.raises(lx.InputError, match='no column "party"'):
        held_out(model, lx.read(rows, metadata=["year"]), quiet=True)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"likelihood": "sgns"}, "one has likelihood='cbow', two 'sgns': their likelihoods are not of the same thing"),
        ({"negatives": 4}, "negatives=3, two 4"),
        ({"noise_power": 1.0}, "noise_power=0.75, two 1.0"),
    ],
)
def test_likelihoods_of_different_things_are_not_compared(choices, message):
    one, tokens = made(documents(10))
    two, _ = made(documents(10), **choices)
    with pytest.raises(lx.InputError, match=message):
        held_out({"one": one, "two": two}, tokens)


def test_windows_may_not_differ_for_sgns():
    one, tokens = made(documents(10), likelihood="sgns")
    two, _ = made(documents(10), likelihood="sgns", window=3)
    with pytest.raises(lx.InputError, match="window=2, two 3"):
        held_out({"one": one, "two": two}, tokens)


def test_vocabularies_must_be_the_same():
    one, tokens = made(documents(10))
    two, _ = made(documents(10, words=15))
    with pytest.raises(lx.InputError, match="one and two have different vocabularies: 3 words are in one only"):
        held_out({"one": one, "two": two}, tokens)
    other, _ = made(documents(10, seed=4))
    with pytest.raises(lx.InputError, match="their words are in another order"):
        held_out({"one": one, "other": other}, tokens)


def test_languages_must_be_known():
    model, _ = made(documents(20, languages=("a", "b")))
    with pytest.raises(lx.InputError, match="the text is of a, c, but the models know no c"):
        held_out(model, corpus(documents(20, languages=("a", "c"))), quiet=True)
    one, tokens = made(documents(20))
    with pytest.raises(lx.InputError, match="two of a, b"):
        held_out({"one": one, "two": model}, tokens)


def test_text_and_vectors_that_cannot_be_used():
    model, tokens = made(documents(10))
    with pytest.raises(lx.InputError, match="no document of the 1 has two words that the models know"):
        held_out(model, lx.read([{"text": "3 unknown words"}]), quiet=True)
    lone = Embeddings.of(model.rows.vocabularies, [model.matrix()], settings=model.settings)
    with pytest.raises(lx.InputError, match="model came without context vectors"):
        held_out(lone, tokens)
    zero = lx.Vocabulary(model.words(), np.zeros(len(model), np.int64))
    blind = Embeddings.of([zero], [model.matrix()], contexts=[model.contexts()], settings=model.settings)
    with pytest.raises(lx.InputError, match="not known how often each word occurs"):
        held_out(blind, tokens)
    with pytest.raises(lx.InputError, match=r"the text is a Corpus, as lx.read gives, or Tokens, not str"):
        held_out(model, "corpus.parquet")
    with pytest.raises(lx.InputError, match="subsampling threshold"):
        held_out(model, tokens, subsample=-1.0)
