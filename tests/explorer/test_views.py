"""The pages of models of every kind: without columns, with one, without time, in two languages."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import laplex as lx
from laplex.explorer.coding import call, literal
from laplex.explorer.showing import csv, on_black, plain
from laplex.explorer.views.languages import translate
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
    frame = translate(model, "entax", "en", "it", {})
    unit = [
        matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in (model.matrix("en"), model.matrix("it"))
    ]
    cosine = unit[0] @ unit[1].T
    own = model.words("en").index("entax")
    there = [model.words("it").index(word) for word in frame["neighbor"]]
    best = np.sort(cosine, 1)[:, -10:].mean(1)[own], np.sort(cosine, 0)[-10:].mean(0)[there]
    np.testing.assert_allclose(frame["csls"], 2 * cosine[own, there] - best[0] - best[1], atol=1e-5)


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


@pytest.mark.parametrize("view", ["word", "change", "dimensions"])
def test_every_line_of_python_runs(saved, monkeypatch, view):
    blocks = [block.value for block in look(saved, view, monkeypatch).code]
    assert blocks
    for code in blocks:
        exec(code, {})


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
