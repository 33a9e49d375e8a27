"""The pages of models of every kind (without columns, without time, in two languages), and passages of the text."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import laplex as lx
from laplex.explorer import address, loading, showing
from laplex.explorer.app import PAGES, has_page
from laplex.explorer.loading import CONTEXT_WORDS, CodeName, code_of_call, typical_passages
from laplex.explorer.showing import csv, dark_colors, escape_markdown
from laplex.explorer.views.word import count_frame
from laplex.fitting.provenance import tokens_of
from laplex.questions.similarity import translate
from laplex.text.tokens import Slices

WORDS = ["tax", "war", "school", "army", "money", "child", "health", "debt", "navy", "nurse", "treaty", "wage"]


def page(name):
    from laplex.explorer.app import PAGES

    PAGES[name]()


def look(folder, name, monkeypatch, state=None, **query):
    """A page as it is drawn, with this state of the session and these values in the address."""
    monkeypatch.setenv(loading.MODEL_VARIABLE, str(folder))
    app = AppTest.from_function(page, args=(name,), default_timeout=60)
    for key, value in (state or {}).items():
        app.session_state[key] = value
    for key, value in query.items():
        app.query_params[key] = value
    app.run()
    assert [error.message for error in app.exception] == []
    return app


def random_model(columns, keys, languages=("",), seed=0):
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
    "no columns": random_model((), ((),)),
    "groups": random_model(("party",), (("D",), ("R",), ("I",))),
    "time": random_model(("year",), (("2000",), ("2001",), ("2002",))),
    "one slice": random_model(("party",), (("D",),)),
    "gaps": random_model(("party", "year"), (("D", "2000"), ("D", "2001"), ("R", "2001"))),
    "odd names": random_model(
        ("my col.[1]", "*year*"), (("a|b", "2000"), ("a|b", "2001"), ("<b>", "2000"), ("<b>", "2001"))
    ),
    "two languages": random_model(("party",), (("D",), ("R",)), languages=("en", "it")),
    "three columns": random_model(("a", "b", "c"), tuple((x, y, z) for x in "pq" for y in "rs" for z in "tu")),
}


SHOWN = [(kind, view) for kind, model in KINDS.items() for view in PAGES if has_page(model, view)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "view"), SHOWN)
def test_every_view_of_every_kind_of_model_is_drawn(kind, view, tmp_path, monkeypatch):
    KINDS[kind].save(tmp_path / "m.laplex")
    app = look(tmp_path / "m.laplex", view, monkeypatch)
    assert len(app.title) == 1


def test_pages_that_have_nothing_to_show_are_left_out():
    views = {kind: [view for other, view in SHOWN if other == kind] for kind in KINDS}
    assert views["no columns"] == views["one slice"] == ["overview", "word", "dimensions", "map"]
    assert views["groups"] == ["overview", "word", "contrast", "dimensions", "map"]
    assert views["time"] == ["overview", "word", "contrast", "change", "dimensions", "map"]
    assert views["two languages"] == ["overview", "word", "contrast", "dimensions", "languages", "map"]


@pytest.mark.parametrize("clicked", ["row", "dot", "list"])
def test_a_click_on_a_word_leads_to_it_in_its_language(clicked, tmp_path, monkeypatch):
    """Of a row or a dot of the contrast, and of a list of extreme words; Streamlit is told what was clicked."""
    visited = []
    monkeypatch.setattr(address.st, "switch_page", lambda page, query_params: visited.append((page, query_params)))
    dot = {"selection": {"picked": [{"_text": "itwar"}]}} if clicked == "dot" else None
    monkeypatch.setattr(showing, "table", lambda frame, **_: 0 if clicked == "row" else None)
    monkeypatch.setattr(showing, "chart", lambda drawn, description, key=None: dot if key else None)
    monkeypatch.setattr(showing, "grid", lambda groups, **_: groups[""][0]["items"][0]["word"])
    KINDS["two languages"].save(tmp_path / "m.laplex")
    view = "dimensions" if clicked == "list" else "contrast"
    poles = {"plus": "ittax", "minus": "itwar", "words": "itarmy"} if clicked == "list" else {}
    app = look(tmp_path / "m.laplex", view, monkeypatch, {"_pages": {"word": "the page"}}, language="it", **poles)
    ((page, query),) = visited
    assert page == "the page"
    assert query["word"] in KINDS["two languages"].words("it")
    assert app.session_state["_next_language"] == "it"
    state = {"_next_language": "it"}
    assert look(tmp_path / "m.laplex", "word", monkeypatch, state, **query).selectbox(key="language").value == "it"


@pytest.mark.parametrize(
    ("view", "expected"), [("word", ["it"] * 2), ("dimensions", ["it"] * 2), ("languages", ["it", "en"])]
)
def test_every_list_of_words_knows_its_language(view, expected, tmp_path, monkeypatch):
    """It is in the addresses of the links, which open in another window."""
    lists = []
    monkeypatch.setattr(showing, "grid", lambda groups, **_: lists.extend(groups[""]))
    KINDS["two languages"].save(tmp_path / "m.laplex")
    poles = {"plus": "ittax", "minus": "itwar", "words": "itarmy"} if view == "dimensions" else {}
    look(tmp_path / "m.laplex", view, monkeypatch, language="it", **poles)
    assert [shown["language"] for shown in lists] == expected


def test_two_languages_are_translated_by_cosine_and_csls(tmp_path, monkeypatch):
    model = random_model((), ((),), languages=("en", "it"))
    model.save(tmp_path / "m.laplex")
    app = look(tmp_path / "m.laplex", "languages", monkeypatch, said="entax")
    assert app.selectbox(key="said").value == "entax"
    shown = app.dataframe[0].value
    assert shown["neighbor"].tolist() == translate(model, "entax", "en", "it", 12)["neighbor"].tolist()


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
    units = [model.matrix(language).astype(float) for language in ("en", "it")]
    units = [matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in units]
    mean_back = np.partition(units[1] @ units[0].T, -10)[:, -10:].mean(1)
    for number in (0, 17, 1234, 2999):
        cosine = units[1] @ units[0][number]
        csls = 2 * cosine - np.sort(cosine)[-10:].mean() - mean_back
        best = np.argsort(-csls)[:10]
        frame = translate(model, f"en{number}", "en", "it", 10)
        assert frame["neighbor"].tolist() == [f"it{i}" for i in best]
        np.testing.assert_allclose(frame["csls"], csls[best], atol=1e-5)
        np.testing.assert_allclose(frame["similarity"], cosine[best], atol=1e-5)
        assert frame["rank"].tolist() == (1 + np.argsort(np.argsort(-cosine))[best]).tolist()


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


@pytest.mark.parametrize("view", PAGES)
def test_every_line_of_python_runs(saved, tmp_path, monkeypatch, view):
    if view == "languages":
        KINDS["two languages"].save(saved := tmp_path / "m.laplex")
    blocks = [block.value for block in look(saved, view, monkeypatch).code]
    assert blocks
    for code in blocks:
        exec(code, {})


def test_the_python_of_a_word_gives_what_is_shown(saved, fitted, monkeypatch):
    app = look(saved, "word", monkeypatch, word="tax", graph="true")
    blocks = {
        name: next(b.value for b in app.code if name in b.value) for name in ("counts", "typical", "lx.plots.graph")
    }
    frames = {}
    for name, code in blocks.items():
        defined = {}
        exec(code, defined)
        frames[name] = defined["frame"]
    shown = count_frame(fitted, "tax", None)
    pd.testing.assert_frame_equal(frames["counts"][shown.columns], shown)
    assert set(frames["typical"]["word"]) == {"tax"}
    assert {"one", "two", "weight"} < set(frames["lx.plots.graph"].columns)


def test_a_call_is_written_so_that_python_reads_it_back():
    odd = 'a "quoted"\n\\word\u2028'
    assert eval(code_of_call("list", [odd, ("x",), {"k": 1.5}, None])) == [odd, ("x",), {"k": 1.5}, None]
    assert code_of_call("f", CodeName("a"), b=None, at={"c d": "e"}) == "f(a, at={'c d': 'e'})"


def test_text_is_taken_from_markdown():
    assert escape_markdown("a*b*") == "a\\*b\\*"
    assert escape_markdown("größe 東京") == "größe 東京"


def test_data_keep_their_colors_in_the_dark():
    spec = {"mark": {"color": "#000000"}, "data": {"values": [{"word": "#000000"}]}}
    assert dark_colors(spec) == {"mark": {"color": "#e4e9ee"}, "data": {"values": [{"word": "#000000"}]}}


def test_a_csv_runs_nothing(fitted):
    text = csv(fitted.neighbors("=1+1", 3)).decode()
    assert "\n=1+1" not in text
    assert "'=1+1" in text


@pytest.mark.parametrize("slice", [0, 3, 5])
def test_passages_are_of_the_word_in_its_slice(fitted, decode, slice):
    tokens = tokens_of(fitted)
    texts = decode(tokens)
    found = typical_passages(fitted, tokens, "health", slice, most=5)
    assert len(found) == 5
    assert len({passage.document for passage in found}) == 5
    for passage in found:
        assert fitted.rows.slices.of_document[passage.document] == slice
        whole = " ".join(filter(None, [passage.left, passage.word, passage.right]))
        assert whole in " ".join(texts[passage.document])
        assert len(passage.left.split()) <= CONTEXT_WORDS


def test_the_first_passage_is_the_most_similar_of_all(fitted):
    tokens = tokens_of(fitted)
    word, slice = fitted.id("health", 0), 3
    own = fitted.vector("health", at={"party": "R", "year": "2000"})
    contexts = fitted.contexts()
    best, where = -2.0, -1
    for document in np.flatnonzero(fitted.rows.slices.of_document == slice).tolist():
        ids = tokens.document(document)
        for place in np.flatnonzero(ids == word).tolist():
            around = [*ids[max(0, place - 3) : place], *ids[place + 1 : place + 4]]
            total = contexts[around].sum(0)
            cosine = float(total @ own / np.linalg.norm(total) / np.linalg.norm(own))
            if cosine > best + 1e-6:
                best, where = cosine, document
    assert fitted.rows.slices.keys[slice] == ("R", "2000")
    assert typical_passages(fitted, tokens, "health", slice, most=1)[0].document == where


def test_a_word_that_is_not_in_a_slice_has_no_passages(fitted):
    tokens = tokens_of(fitted)
    assert typical_passages(fitted, tokens, "tax", 99) == []
