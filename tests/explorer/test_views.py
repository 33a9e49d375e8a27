"""The pages of models of every kind: without columns, with one, without time, in two languages."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import laplex as lx
from laplex.explorer.coding import call, literal
from laplex.explorer.showing import csv, on_black, plain
from laplex.explorer.translating import translate
from laplex.explorer.views.word import count_frame
from laplex.tokens import Slices

WORDS = ["tax", "war", "school", "army", "money", "child", "health", "debt", "navy", "nurse", "treaty", "wage"]


def page(name):
    import importlib

    importlib.import_module(f"laplex.explorer.views.{name}").show()


def look(folder, name, monkeypatch, **address):
    monkeypatch.setenv("LAPLEX_EXPLORED", str(folder))
    app = AppTest.from_function(page, args=(name,), default_timeout=60)
    for key, value in address.items():
        app.query_params[key] = value
    app.run()
    assert [error.message for error in app.exception] == []
    return app


def made(columns, keys, languages=("",), seed=0):
    """Random vectors."""
    random = np.random.default_rng(seed)
    vocabularies, vectors, counts = [], [], []
    for language in languages:
        words = [f"{language}{word}" for word in WORDS]
        count = random.integers(50, 500, (len(keys), len(words)))
        order = np.argsort(-count.sum(0))
        vocabularies.append(lx.Vocabulary([words[i] for i in order], count.sum(0)[order], language))
        vectors.append(random.standard_normal((len(keys), len(words), 6)))
        counts.append(count[:, order])
    slices = Slices(columns, keys, np.empty(0, np.int32))
    return lx.Embeddings.of(vocabularies, vectors, slices=slices, counts=counts, contexts=[v[0] for v in vectors])


KINDS = {
    "no columns": made((), ((),)),
    "groups": made(("party",), (("D",), ("R",), ("I",))),
    "time": made(("year",), (("2000",), ("2001",), ("2002",))),
    "one slice": made(("party",), (("D",),)),
    "gaps": made(("party", "year"), (("D", "2000"), ("D", "2001"), ("R", "2001"))),
    "odd names": made(("my col.[1]", "*year*"), (("a|b", "2000"), ("a|b", "2001"), ("<b>", "2000"), ("<b>", "2001"))),
    "three columns": made(("a", "b", "c"), tuple((x, y, z) for x in "pq" for y in "rs" for z in "tu")),
}
VIEWS = ["overview", "word", "contrast", "change", "dimensions", "map"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_of_every_kind_of_model_is_drawn_or_says_why_not(kind, view, tmp_path, monkeypatch):
    model = KINDS[kind]
    if view == "contrast" and all(len(model.values(name)) < 2 for name in model.columns):
        return  # which has no such page
    if view == "change" and not any(model.ordered(name) and len(model.values(name)) > 1 for name in model.columns):
        return
    model.save(tmp_path / "m.laplex")
    app = look(tmp_path / "m.laplex", view, monkeypatch)
    assert len(app.title) == 1


def test_two_languages_are_translated_by_cosine_and_csls(tmp_path, monkeypatch):
    model = made((), ((),), languages=("en", "it"))
    model.save(tmp_path / "m.laplex")
    app = look(tmp_path / "m.laplex", "languages", monkeypatch, said="entax")
    assert app.selectbox(key="said").value == "entax"
    shown = app.dataframe[0].value
    assert shown["neighbor"].tolist() == translate(model, "entax", "en", "it", 12)["neighbor"].tolist()


def by_hand(model, word, k, **slice):
    """CSLS of every word, in NumPy; the best first."""
    unit = []
    for language in ("en", "it"):
        matrix = model.matrix(language, **slice).astype(float)
        unit.append(matrix / np.linalg.norm(matrix, axis=1, keepdims=True))
    cosine = unit[0] @ unit[1].T
    own = model.words("en").index(word)
    csls = 2 * cosine[own] - np.sort(cosine, 1)[own, -10:].mean() - np.sort(cosine, 0)[-10:].mean(0)
    best = np.argsort(-csls)[:k]
    return (
        [model.words("it")[i] for i in best],
        csls[best],
        cosine[own, best],
        1 + np.argsort(np.argsort(-cosine[own]))[best],
    )


@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0], ids=["no hubs", "some hubs", "one large hub"])
def test_csls_is_exact_over_the_whole_vocabulary(spread):
    """Also where the best are not among the nearest by cosine: some words are near to all others."""
    random = np.random.default_rng(5)
    here = random.standard_normal((3_000, 12))
    there = here[random.permutation(3_000)] + 0.5 * random.standard_normal((3_000, 12))
    there[:400] = there[:400] + spread * 5 * here.mean(0) / np.linalg.norm(here.mean(0)) + spread
    counts = np.arange(3_000, 0, -1)
    names = [lx.Vocabulary([f"{name}{i}" for i in range(3_000)], counts, name) for name in ("en", "it")]
    model = lx.Embeddings.of(names, [here + spread, there])
    for word in ("en0", "en17", "en1234", "en2999"):
        frame = translate(model, word, "en", "it", 10)
        words, csls, cosine, rank = by_hand(model, word, 10)
        assert frame["neighbor"].tolist() == words
        np.testing.assert_allclose(frame["csls"], csls, atol=1e-5)
        np.testing.assert_allclose(frame["similarity"], cosine, atol=1e-5)
        assert frame["rank"].tolist() == rank.tolist()


def test_a_word_without_a_direction_is_no_translation():
    counts = np.arange(20, 0, -1)
    vectors = [np.random.default_rng(i).standard_normal((20, 4)) for i in range(2)]
    vectors[1][3] = 0.0
    names = [lx.Vocabulary([f"{name}{i}" for i in range(20)], counts, name) for name in ("en", "it")]
    found = translate(lx.Embeddings.of(names, vectors), "en1", "en", "it", 40)
    assert len(found) == 19
    assert "it3" not in set(found["neighbor"])


def test_a_model_without_its_text_does_without_intervals_and_passages(saved, tmp_path, monkeypatch):
    model = lx.load(saved)
    model.settings["tokens"]["folder"] = str(tmp_path / "gone")
    model.save(tmp_path / "m.laplex")
    app = look(tmp_path / "m.laplex", "word", monkeypatch)
    assert [toggle.key for toggle in app.toggle] == []
    assert any("Not here" in caption.value for caption in app.caption)


def test_the_python_that_is_shown_gives_the_table(saved, monkeypatch):
    app = look(saved, "contrast", monkeypatch, min_count="2")
    code = next(block.value for block in app.code if "contrast" in block.value)
    defined = {}
    exec(code, defined)
    shown = app.dataframe[0].value
    assert defined["frame"]["word"].tolist() == shown["word"].tolist()
    assert defined["frame"]["distance"].to_list() == pytest.approx(shown["distance"].to_list())


@pytest.mark.parametrize("view", ["overview", "word", "contrast", "change", "dimensions", "map"])
def test_every_line_of_python_runs(saved, monkeypatch, view):
    blocks = [block.value for block in look(saved, view, monkeypatch).code]
    assert blocks
    for code in blocks:
        exec(code, {})


def test_the_python_of_a_word_gives_what_is_shown(saved, fitted, monkeypatch):
    app = look(saved, "word", monkeypatch, word="tax", graph="true")
    blocks = {name: next(b.value for b in app.code if name in b.value) for name in ("counts", "typical", "edges")}
    frames = {}
    for name, code in blocks.items():
        defined = {}
        exec(code, defined)
        frames[name] = defined["frame"]
    shown = count_frame(fitted, "tax", None)
    pd.testing.assert_frame_equal(frames["counts"][shown.columns], shown)
    assert set(frames["typical"]["word"]) == {"tax"}
    assert {"one", "two", "weight"} < set(frames["edges"].columns)


def test_a_call_is_written_so_that_python_reads_it_back():
    odd = 'a "quoted"\n\\word\u2028'
    assert eval(literal([odd, ("x",), {"k": 1.5}, None])) == [odd, ("x",), {"k": 1.5}, None]
    assert call("f", "a", b=None, **{"c d": "e"}) == 'f("a", **{"c d": "e"})'


def test_text_is_taken_from_markdown():
    assert plain("a*b*") == "a\\*b\\*"
    assert plain("größe 東京") == "größe 東京"


def test_data_keep_their_colors_in_the_dark():
    spec = {"mark": {"color": "#000000"}, "data": {"values": [{"word": "#000000"}]}}
    assert on_black(spec) == {"mark": {"color": "#e4e9ee"}, "data": {"values": [{"word": "#000000"}]}}


def test_a_csv_runs_nothing(fitted):
    text = csv(fitted.neighbors("=1+1", 3)).decode()
    assert "\n=1+1" not in text
    assert "'=1+1" in text
