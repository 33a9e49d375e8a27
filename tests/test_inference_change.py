"""Change in little text: what `lx.change` computes, that it finds planted change, and what it says to wrong input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import laplex as lx
from laplex.inference import change as module

WORDS = [f"{topic}{number}" for topic in "ab" for number in range(20)]
TINY = {"refits": 1, "epochs": 2, "threads": 1, "quiet": True, "min_count": 1}
MODEL = lx.Model(likelihood="sgns", dimensions=8, window=4)


def texts(seed=0, uses=40):
    """Documents of two topics. "moved" goes from one to the other, "mixed" is in both as before, "gone" ends."""
    random = np.random.default_rng(seed)
    rows = []
    for period in ("early", "late"):
        for number in range(uses):
            chance = {"moved": period == "late", "mixed": number % 2, "still": 0, "gone": 0}
            for word, topic in chance.items():
                if word != "gone" or period == "early":
                    around = random.choice(WORDS[20 * topic : 20 * topic + 20], 8)
                    rows.append({"period": period, "text": " ".join([*around[:4], word, *around[4:]])})
    return rows


def read(rows, **options):
    return lx.read(rows, metadata=[name for name in rows[0] if name != "text"], **options)


@pytest.fixture(scope="module")
def found():
    return lx.change(read(texts()), "period", ["still", "gone", "moved", "mixed"], model=MODEL, **TINY)


def test_a_word_that_moved_is_first(found):
    assert found["word"].tolist()[0] == "moved"
    assert found["word"].tolist()[3] == "gone"
    by_word = found.set_index("word")
    assert by_word.loc["moved", "lower"] > 1 + by_word.loc["still", "upper"]
    assert by_word.loc["mixed", "lower"] < 0 < by_word.loc["mixed", "upper"]
    assert by_word.loc["still", "lower"] < 0.1
    known = found.dropna()
    assert (known["lower"] <= known["estimate"]).all()
    assert (known["estimate"] <= known["upper"]).all()


def test_a_word_of_one_period_has_no_distance(found):
    gone = found.set_index("word").loc["gone"]
    assert np.isnan(gone[["estimate", "lower", "upper"]].astype(float)).all()
    assert (gone["uses"], gone["uses_against"], gone["units_against"]) == (40, 0, 0)


def test_uses_are_described_by_the_words_around_them():
    rows = [{"period": p, "text": t} for p, t in (("1", "x y z x"), ("2", "y z"), ("3", "z y x"), ("2", "x"))]
    tokens = lx.Tokens.of(read(rows), min_count=1, quiet=True)
    uses = module._Uses.of(tokens, "period", ["1", "2"], None)
    vectors = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    cells, ends, found = (np.concatenate(parts) for parts in zip(*uses._contexts(vectors), strict=True))
    place, expected = {w: i for i, w in enumerate(tokens.vocabularies[0].words)}, []
    for row in (rows[0], rows[1], rows[3]):
        words = row["text"].split()
        for i in range(len(words)):
            near = [(1 - (abs(i - j) - 1) / module.CONTEXT_WINDOW, words[j]) for j in range(len(words)) if j != i]
            total = sum((weight * vectors[place[word]] for weight, word in near), np.zeros(4))
            expected.append(total / max(np.linalg.norm(total), 1e-12))
    assert found == pytest.approx(np.array(expected), abs=1e-5)
    assert ends.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert (np.bincount(cells) == uses.sizes).all()


def test_estimates_are_free_of_noise_where_nothing_changes():
    """A text cut in two by chance: intervals of 90% hold zero, but for one side of them."""
    random = np.random.default_rng(3)
    rows = texts(seed=1) + texts(seed=2)
    rows = [row | {"period": str(random.integers(2))} for row in rows if row["period"] == "late"]
    found = lx.change(read(rows), "period", min_uses=10, model=MODEL, **TINY)
    assert len(found) > 40
    assert (found["lower"] > 0).mean() < 0.2
    assert abs(found["estimate"].median()) < 0.05


def test_units_that_repeat_themselves_are_no_more_evidence():
    rows = texts(uses=12)
    repeated = [row | {"author": str(number)} for number, row in enumerate(rows) for _ in range(5)]
    options = TINY | {"model": MODEL, "words": ["moved", "mixed"]}
    alone = lx.change(read(repeated), "period", **options).set_index("word")
    by_author = lx.change(read(repeated, unit="author"), "period", **options).set_index("word")
    width = by_author["upper"] - by_author["lower"], alone["upper"] - alone["lower"]
    assert (width[0] > 1.5 * width[1])["moved"]
    assert by_author["units"].tolist() == [12, 12]
    assert alone["units"].tolist() == [60, 60]


def test_refits_are_averaged_and_repeatable():
    tokens = lx.Tokens.of(read(texts(uses=10)), min_count=1, quiet=True)
    options = {name: value for name, value in TINY.items() if name not in ("min_count", "refits")} | {"model": MODEL}
    one, two, both = (
        lx.change(tokens, "period", ["moved", "mixed"], refits=refits, seed=seed, **options).set_index("word")
        for seed, refits in ((1, 1), (2, 1), (1, 2))
    )
    mean = (one["estimate"] + two["estimate"]) / 2
    assert both["estimate"].to_numpy() == pytest.approx(mean[both.index].to_numpy())
    again = lx.change(tokens, "period", ["moved", "mixed"], refits=2, seed=1, **options).set_index("word")
    assert again.equals(both)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": lx.Model(vary=["period"])}, "must not know what is compared"),
        ({"values": ["early"]}, "compares two values"),
        ({"values": ["early", "never"]}, "compares two values"),
        ({"column": "text"}, "no column"),
        ({"words": ["unheard"]}, "unheard"),
        ({"min_uses": 1000}, "no word is used 1000 times"),
        ({"refits": 0}, "refits"),
        ({"interval": 1.5}, "interval"),
    ],
)
def test_wrong_input_is_named(options, message):
    options = TINY | {"column": "period", "model": MODEL} | options
    with pytest.raises(lx.InputError, match=message):
        lx.change(read(texts(uses=3)), **options)


def test_of_values_without_an_order_two_are_named():
    rows = [row | {"period": ["x", "y", "z"][number % 3]} for number, row in enumerate(texts(uses=10))]
    with pytest.raises(lx.InputError, match="name two of its values"):
        lx.change(read(rows), "period", model=MODEL, **TINY)
    found = lx.change(read(rows), "period", ["still"], values=["z", "x"], model=MODEL, **TINY)
    assert (found["value"][0], found["against"][0]) == ("z", "x")


def test_change_on_the_command_line(laplex, tmp_path):
    lines = [f"{1900 + 50 * (row['period'] == 'late')},{row['text']}" for row in texts(uses=100)]
    (tmp_path / "texts.csv").write_text("\n".join(["year,text", *lines]))
    common = ("change", tmp_path / "texts.csv", "--refits", 1, "--threads", 1, "--word", "moved", "--word", "still")
    out = laplex(*common, "period", "--time", "year", "--every", "50y", "--csv", tmp_path / "change.csv")
    table = pd.read_csv(tmp_path / "change.csv")
    assert table["word"].tolist() == ["moved", "still"]
    assert "moved" in out.stdout
    same = laplex(*common, "year", "--value", "1900", "--value", "1950", "--csv", tmp_path / "same.csv")
    np.testing.assert_allclose(pd.read_csv(tmp_path / "same.csv")["estimate"], table["estimate"], rtol=1e-6)
    assert "still" in same.stdout
