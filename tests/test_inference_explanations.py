"""Explanations: contributions add up to what is tested, and the planted contexts and passages are found."""

from __future__ import annotations

import numpy as np
import pytest

import laplex as lx
from laplex.inference.comparisons import Comparison
from laplex.inference.decomposition import decompose, group_weights, read_occurrences
from laplex.inference.score_test import group_scores
from laplex.inference.scores import ScorePass
from laplex.inference.units import Options, gather

pytestmark = pytest.mark.usefixtures("shared_cache")

FILLERS = [f"filler{number}" for number in range(30)]
YEARS = ("1900", "1920", "1940", "1960")


def rows(seed: int = 1, speakers: int = 48) -> list[dict[str, str]]:
    """Speeches about rivers and money, letters and radio, in equal parts: but "bank" is of a river for the party D and
    has money for R, and "post" is a letter in early years."""
    random = np.random.default_rng(seed)
    found = []
    for speaker in range(speakers):
        party, year = "DR"[speaker % 2], YEARS[speaker // 2 % 4]
        for _ in range(6):
            sentences = []
            for _ in range(3):
                water = random.random() < (0.9 if party == "D" else 0.1)
                early = random.random() < 1 - YEARS.index(year) / 3
                a, b, c, d = random.permutation(FILLERS)[:4].tolist()
                sentences.append(f"{a} river water {'Bank' if water else b} fish")
                sentences.append(f"{b} money loan {a if water else 'Bank'} credit")
                sentences.append(f"{c} letter {'post' if early else d} stamp")
                sentences.append(f"{d} signal {c if early else 'post'} radio")
            text = ". ".join(sentences[i] for i in random.permutation(len(sentences)))
            found.append({"text": text, "party": party, "speaker": f"s{speaker}", "year": year})
    return found


@pytest.fixture(scope="module")
def fitted(shared_cache):
    corpus = lx.read(rows(), metadata=["party", "speaker", "year"], unit="speaker")
    prior = lx.Ridge(1.0) + lx.Groups("party", 10.0)
    model = lx.Model(vary=["party"], prior=prior, dimensions=10, window=3, subsample=0.0)
    return lx.fit(model, corpus, min_count=5, epochs=15, rate=0.17, threads=1, tests=False, quiet=True)


def explain(fitted, *arguments, **options):
    return fitted.inference(quiet=True, threads=1).explain(*arguments, **options)


def scored(fitted, word, likelihood="cbow", unit="speaker"):
    tokens = lx.Tokens.of(lx.read(rows(), metadata=["party", "speaker", "year"]), min_count=5, quiet=True)
    model = lx.Model(dimensions=6, window=3, subsample=1e-2, likelihood=likelihood)
    free = lx.fit(model, tokens, epochs=5, threads=1, quiet=True, holdout=0.0)
    units = gather(tokens, "party", unit, 0, {})
    text = ScorePass(tokens, units, free, [tokens.vocabularies[0][word]], 0, Options(threads=2, quiet=True))
    return text, next(text.run([0], lambda table: table, with_sigma=True))


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("unit", ["speaker", None])
def test_contributions_add_up_to_what_is_tested(fitted, likelihood, unit, monkeypatch):
    monkeypatch.setattr("laplex.inference.scores.MAX_CLUSTERS_WITH_ROWS", 100)  # documents share rows, speakers do not
    text, table = scored(fitted, "bank", likelihood, unit)
    assert text.cells.shared == (unit is None)
    found = read_occurrences(text, [0])
    parts = decompose(text, table, found, group_weights(text, table, [[0], [1]]))
    scores = group_scores(table, [[0], [1]])
    tau = scores.share * scores.tau.sum()
    tested = ((scores.score[0] / tau[0] - scores.score[1] / tau[1]) @ scores.test_metric) ** 2
    assert parts.contribution.sum() == pytest.approx(tested.sum(), rel=1e-3)
    weight = found.weight.max(1) if likelihood == "cbow" else found.weight.sum(1)
    assert (table.unit_weight[found.unit] * weight).sum() == pytest.approx(table.tau.sum(), rel=1e-4)
    assert (parts.error >= 0).all()


def test_the_interval_is_that_of_other_speakers(fitted):
    """The contribution of a context word without each speaker in turn varies as its standard error says."""
    text, table = scored(fitted, "bank")
    found = read_occurrences(text, [0])
    parts = decompose(text, table, found, group_weights(text, table, [[0], [1]]))
    river = text.vocabulary["river"]
    rate = np.zeros(2)
    by_speaker = []
    for group in (0, 1):
        mine = [unit for unit in np.unique(found.unit) if text.units.label[unit] == group]
        uses = np.array([(found.context[found.unit == unit] == river).sum() for unit in mine], float)
        total = np.array([(found.unit == unit).sum() for unit in mine], float)
        rate[group] = uses.sum() / total.sum()
        by_speaker.append((uses - rate[group] * total) / total.sum())
    alone = np.sqrt(sum((part**2).sum() for part in by_speaker))
    along = float(text.text.alpha[river, : text.dimensions] @ parts.direction)
    # the background, which is left out here, is small beside it
    assert parts.error[river] == pytest.approx(abs(along) * alone, rel=0.35)
    assert parts.excess[river] == pytest.approx(rate[0] - rate[1], rel=0.35)


def test_planted_contexts_and_passages_are_found(fitted):
    found = explain(fitted, "bank", "party", passages=2)
    assert found.values == ("D", "R")
    first = found.context.head(8)
    assert {"river", "water", "fish"} & set(first.loc[first["value"] == "D", "word"])
    assert {"money", "loan", "credit"} & set(first.loc[first["value"] == "R", "word"])
    assert found.context["contribution"].is_monotonic_decreasing
    assert found.total == pytest.approx(found.context["contribution"].sum(), rel=0.05)
    top = found.context.iloc[0]
    assert top["lower"] < top["contribution"] < top["upper"]
    assert top["uses"] > top["uses_other"]
    assert found.passages["value"].tolist() == ["D", "D", "R", "R"]
    assert (found.passages["word"] == "Bank").all()  # as it is written
    assert (found.passages["party"] == found.passages["value"]).all()
    texts = (found.passages["before"] + found.passages["word"] + found.passages["after"]).tolist()
    assert all("river water Bank fish" in text for text in texts[:2])
    assert all("money loan Bank credit" in text for text in texts[2:])
    assert "river" in found._repr_html_()


def test_the_groups_can_be_named(fitted):
    one = explain(fitted, "bank", "party", values="R")
    assert one.values == ("R", "rest")
    turned = explain(fitted, "bank", "party", values=["R", "D"])
    straight = explain(fitted, "bank", "party", values=["D", "R"])
    assert turned.total == pytest.approx(straight.total, rel=1e-4)
    assert turned.values == ("R", "D")
    halves = explain(fitted, "post", "year")
    assert halves.values == ("1900 to 1920", "1940 to 1960")
    words = halves.context.head(6)
    assert {"letter", "stamp"} & set(words.loc[words["value"] == "1900 to 1920", "word"])
    some = explain(fitted, "bank", "party", at={"year": 1900})
    assert set(some.passages["year"]) == {"1900"}


def test_bad_questions_say_what_to_do(fitted):
    with pytest.raises(lx.InputError, match="has no value 'X'"):
        explain(fitted, "bank", "party", values=["D", "X"])
    with pytest.raises(lx.InputError, match="name one or two of"):
        fitted.inference(unit="documents", quiet=True).explain("bank", "speaker")
    with pytest.raises(lx.InputError, match="name two values, or one"):
        explain(fitted, "bank", "year", values=["1900", "1920", "1940"])
    with pytest.raises(lx.InputError, match="has no value 1999"):
        fitted.passages("bank", at={"year": 1999})
    with pytest.raises(lx.InputError, match='"zebra" is not in'):
        explain(fitted, "zebra", "party")


def test_typical_passages(fitted):
    found = fitted.passages("bank", at={"party": "R", "year": 1940}, top=4)
    assert len(found) == 4
    assert found["document"].is_unique
    assert set(found["party"]) == {"R"}
    assert set(found["year"]) == {"1940"}
    texts = found["before"] + found["word"] + found["after"]
    assert texts.str.contains("money loan Bank credit").mean() > 0.5


@pytest.mark.parametrize("question", ["contrast", "drift"])
def test_tables_name_the_contexts_that_differ_on_the_side_where_they_are(fitted, question):
    asked = fitted.inference(min_units=5, min_count=50, exclude=FILLERS, permutations=99, quiet=True, threads=1)
    column, word, sides = {
        "contrast": ("party", "bank", ({"river", "water", "fish"}, {"money", "loan", "credit"})),
        "drift": ("year", "post", ({"letter", "stamp"}, {"signal", "radio"})),
    }[question]
    table = getattr(asked, question)(column)
    assert not set(table["word"]) & set(FILLERS)
    row = table.set_index("word").loc[word]
    assert row["holds"]
    contexts = [set(row[name].split(", ")) for name in ("context", "context_against")]
    for mine, other, here in zip(sides, sides[::-1], contexts):
        assert mine & here
        assert not other & here
        assert not (set(FILLERS) | {word}) & here
    explained = asked.explain(word, column).context
    assert (explained.set_index("word").loc[sorted(contexts[0]), "value"].nunique()) == 1


def test_a_joint_question_has_one_side_for_each_value():
    joint = Comparison.joint([0, 2, 3])
    assert joint.groups == ((0,), (2,), (3,))
    assert joint.sides == ((0,), (2, 3))
    assert not joint.has_two_sides
