"""Updates of a model by new text: what was there is held, what is new joins it."""

from __future__ import annotations

import numpy as np
import pytest
import small

import laplex as lx
from laplex.engines.state import State
from laplex.fitting.earlier import EarlierModel, slices_with
from laplex.fitting.update import saved_model, tokens_with
from laplex.model.problem import make_problem
from laplex.model.rows import Rows

CHAIN = lx.Ridge(1.0) + lx.Chain("year", 20.0)
GROUPS = lx.Ridge(1.0) + lx.Groups("party", 20.0)


def text(count=300, seed=0, **wanted):
    rows = small.documents(count=count, seed=seed)
    return [row for row in rows if all(row[name] in values for name, values in wanted.items())]


def fit(rows, vary=("year",), prior=CHAIN, **options):
    model = lx.Model(vary, prior, dimensions=8, window=3, subsample=0.0)
    options = {"min_count": 1, "epochs": 4, "threads": 1, "tests": False, "quiet": True} | options
    return lx.fit(model, small.corpus(rows), **options)


@pytest.fixture(scope="module")
def old():
    return fit(text(year=["2000", "2001"]))


@pytest.fixture(scope="module")
def updated(old):
    return old.update(small.corpus(text(year=["2003"])), quiet=True)


def held_out(model, **wanted):
    unread = small.corpus(text(count=400, seed=5, **wanted))
    return lx.evaluation.held_out(model, unread, quiet=True)["log_likelihood"].iloc[0]


# What comes out


def test_a_new_period_is_as_good_as_a_fit_of_everything(old, updated):
    whole = fit(text())
    assert updated.values("year") == ["2000", "2001", "2003"]
    for year in small.YEARS:
        assert held_out(updated, year=[year]) > held_out(whole, year=[year]) * 1.01  # of negative numbers
    assert held_out(updated, year=["2000"]) > held_out(old, year=["2000"]) * 1.01


def test_slices_without_new_text_stay_to_the_byte(old, updated):
    assert old.words() != []
    for year in ("2000", "2001"):
        for word in old.words():
            np.testing.assert_array_equal(updated.vector(word, at={"year": year}), old.vector(word, at={"year": year}))
    moved = np.linalg.norm(updated.contexts() - old.contexts()[old.rows.vocabularies[0].ids(updated.words())], axis=1)
    length = np.linalg.norm(old.contexts(), axis=1).mean()
    assert 0 < moved.mean() < 0.3 * length


def test_counts_are_those_of_both_texts(old, updated):
    new = fit(text(year=["2003"]))
    for word in old.words():
        assert updated.count(word, at={"year": "2001"}) == old.count(word, at={"year": "2001"})
        assert updated.count(word, at={"year": "2003"}) == new.count(word)
    assert updated.slices["tokens"].sum() == old.slices["tokens"].sum() + new.slices["tokens"].sum()


@pytest.mark.parametrize("case", ["group", "more", "plain"])
def test_groups_and_more_of_the_same(case):
    vary, prior = ((), lx.Ridge(1.0)) if case == "plain" else (["party"], GROUPS)
    rows = text(count=400)
    new = [number % 4 == 0 if case != "group" else row["party"] == "R" for number, row in enumerate(rows)]
    before = fit([row for row, is_new in zip(rows, new) if not is_new], vary, prior)
    after = before.update(small.corpus([row for row, is_new in zip(rows, new) if is_new]), quiet=True)
    whole = fit(rows, vary, prior)
    assert held_out(after) > held_out(whole) * 1.025  # half of the text is new
    if case != "group":
        assert held_out(after) > held_out(before) * 1.01


def test_without_held_vectors_new_text_would_take_their_place(old, monkeypatch):
    """Contexts of a text about one topic alone would lose what the old text said of the others."""
    odd = [row | {"text": [word for word in row["text"] if int(word) % 3 == 0]} for row in text(year=["2003"])]
    new = small.corpus([row for row in odd if len(row["text"]) > 1])
    kept = old.update(new, quiet=True, epochs=20)
    monkeypatch.setattr(EarlierModel, "_precision", property(lambda earlier: np.zeros(earlier.problem.parameters)))
    lost = old.update(new, quiet=True, epochs=20)
    assert held_out(kept, year=["2000"]) > held_out(lost, year=["2000"]) + 0.1


def test_new_words_get_vectors_if_they_are_frequent_enough(old):
    rows = text(year=["2003"])
    for number, row in enumerate(rows):
        row["text"] = [*row["text"], "often", "rare"] if number < 3 else [*row["text"], "often"]
    after = old.update(small.corpus(rows), min_count=4, quiet=True)
    assert "often" in after
    assert "rare" not in after
    assert set(old.words()) <= set(after.words())
    assert after.count("often") == len(rows)
    assert np.isfinite(after.matrix(at={"year": "2000"})).all()
    counts = after.rows.vocabularies[0].counts
    assert (np.diff(counts) <= 0).all()


def test_a_slice_that_the_prior_joins_to_none_begins_at_the_mean(old):
    prior = lx.Ridge(1.0)
    before = fit(text(year=["2000", "2001"]), prior=prior)
    tokens = tokens_with(before, lx.Tokens.of(small.corpus(text(count=12, year=["2003"])), min_count=1, quiet=True))
    model = saved_model(before)
    rows = Rows(tokens.vocabularies, slices_with(before, tokens))
    problem = make_problem(model, tokens, rows, 0.0, 1)
    earlier = EarlierModel(before, rows, problem, 4)
    state = State.initial(earlier.held(), 1)
    earlier.begin(state, earlier.held(), 0.13)
    share = before.counts[0] / before.counts[0].sum(0)
    mean = sum(share[slice, :, None] * before.block(0, slice) for slice in (0, 1))
    ids = before.rows.vocabularies[0].ids(rows.vocabularies[0].words)
    np.testing.assert_allclose(state.theta[rows.words(0, 2)], mean[ids], atol=1e-5)


def test_without_new_text_nothing_would_move(old):
    """The edges that hold vectors balance the prior where these are."""
    from laplex.model.objective import log_prior_gradient

    tokens = tokens_with(old, lx.Tokens.of(small.corpus(text(year=["2000", "2001"])), min_count=1, quiet=True))
    rows = Rows(tokens.vocabularies, slices_with(old, tokens))
    earlier = EarlierModel(old, rows, make_problem(saved_model(old), tokens, rows, 0.0, 1), 4)
    problem = earlier.held()
    state = State.initial(problem, 1)
    earlier.begin(state, problem, 0.13)
    theta = state.theta[: problem.parameters].astype(np.float64)
    np.testing.assert_allclose(log_prior_gradient(problem.graph, theta), 0.0, atol=1e-3)


# What can be done with it


def test_it_works_as_any_model_and_can_be_saved_and_updated_again(tmp_path, old, updated):
    updated.save(tmp_path / "model")
    again = lx.load(tmp_path / "model")
    np.testing.assert_array_equal(again.precision, updated.precision)
    assert len(again.neighbors("3", 3, at={"year": "2003"})) == 3
    assert len(again.drift("year", test=False)) > 0
    texts = again.settings["updated"]["texts"]
    assert [len(texts), again.settings["model"]["vary"]] == [1, ["year"]]
    later = [row | {"year": "2004"} for row in text(year=["2003"], seed=3)]
    third = again.update(small.corpus(later), quiet=True)
    ids = [model.rows.vocabularies[0].ids(old.words()) for model in (old, updated, third)]
    known = [model.precision[model.slots(0, None)[of_words]] for model, of_words in zip((old, updated, third), ids)]
    assert (known[0] < known[1]).all()  # nothing that was said of contexts is forgotten
    assert (known[1] < known[2]).all()
    assert third.values("year") == [*small.YEARS, "2004"]
    assert len(third.settings["updated"]["texts"]) == 2
    np.testing.assert_array_equal(third.vector("3", at={"year": "2003"}), updated.vector("3", at={"year": "2003"}))


def test_tests_of_an_updated_model_say_what_to_do(updated):
    with pytest.raises(lx.InputError, match=r"updated with text that came later.*test=False"):
        updated.drift("year")


def test_a_model_of_two_languages():
    rows = small.documents(count=240, languages=("x", "y"))
    before = fit([row for row in rows if row["year"] != "2003"])
    after = before.update(small.corpus([row for row in rows if row["year"] == "2003"]), quiet=True)
    assert after.languages == ["x", "y"]
    for language in "xy":
        np.testing.assert_array_equal(
            after.vector(f"{language}3", language, at={"year": "2000"}),
            before.vector(f"{language}3", language, at={"year": "2000"}),
        )
    only = small.documents(count=40, languages=("x",))
    for row in only:
        row["lang"], row["year"] = "x", "2004"
    assert (
        before.update(lx.read(only, metadata=["year"], language_column="lang"), quiet=True).values("year")[-1] == "2004"
    )


# Bad input


def test_other_columns_are_refused(old):
    other = lx.read([{"text": "1 2 3", "party": "D"}], metadata=["party"])
    with pytest.raises(lx.InputError, match=r'vary by year, but the new text has no column "year" \(it has party\)'):
        old.update(other, quiet=True)
    model = lx.Model(["party"], GROUPS, dimensions=8)
    with pytest.raises(lx.InputError, match="vary by year, and those of model= by party"):
        old.update(small.corpus(text()), model=model, quiet=True)


def test_a_prior_that_is_not_saved_has_to_be_given():
    pairs = lx.Pairs([("0", "3")], 5.0)
    before = fit(text(year=["2000", "2001"]), prior=CHAIN + pairs)
    new = small.corpus(text(year=["2003"]))
    with pytest.raises(lx.InputError, match=r"has parts that are not saved with it.*model="):
        before.update(new, quiet=True)
    model = lx.Model(["year"], CHAIN + pairs, dimensions=8, window=3, subsample=0.0)
    assert before.update(new, model=model, quiet=True).values("year")[-1] == "2003"
    by_step = fit(text(year=["2000", "2001"]), prior=lx.Ridge(1.0) + lx.Chain("year", {("2000", "2001"): 3.0}))
    with pytest.raises(lx.InputError, match="not saved with it"):
        by_step.update(new, quiet=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "reference"}, "update takes engine="),
        ({"inference": "variational"}, "update takes engine="),
        ({"alpha": 1.0}, "update has no alpha="),
    ],
)
def test_options_that_do_not_go_with_it(old, options, message):
    with pytest.raises(lx.InputError, match=message):
        old.update(small.corpus(text(year=["2003"])), quiet=True, **options)


def test_vectors_that_were_not_fitted_here():
    vectors = lx.Embeddings.of([lx.Vocabulary(["a"], np.ones(1, np.int64))], [np.eye(1)])
    with pytest.raises(lx.InputError, match="not fitted by laplex"):
        vectors.update(small.corpus(text()))


def test_another_language_is_refused():
    before = fit(small.documents(count=60, languages=("x", "y")))
    other = lx.read([{"text": "a b", "year": "2003", "lang": "z"}], metadata=["year"], language_column="lang")
    with pytest.raises(lx.InputError, match='the new text is of "z", the model of x, y'):
        before.update(other, min_count=1, quiet=True)
