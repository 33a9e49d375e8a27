"""The pages of models of every kind (without columns, without time, in two languages), and passages of the text."""

from __future__ import annotations

from html import escape

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import laplex as lx
from laplex.explorer import address, loading, showing
from laplex.explorer.app import PAGES, has_page
from laplex.explorer.loading import CodeName, code_of_call
from laplex.explorer.showing import csv, dark_colors, escape_markdown
from laplex.explorer.views.word import count_frame
from laplex.questions.similarity import translate
from laplex.reports.findings import sentence
from laplex.text.slices import Slices

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
    assert views["time"] == ["overview", "word", "change", "dimensions", "map"]
    assert views["gaps"] == ["overview", "word", "contrast", "change", "dimensions", "map"]
    assert views["two languages"] == ["overview", "word", "contrast", "dimensions", "languages", "map"]


@pytest.mark.parametrize("clicked", ["button", "list"])
def test_a_click_on_a_word_leads_to_it_in_its_language(clicked, tmp_path, monkeypatch):
    """In the panel of a word of the contrast, and of a list of extreme words; Streamlit is told what was clicked."""
    visited = []
    monkeypatch.setattr(address.st, "switch_page", lambda page, query_params: visited.append((page, query_params)))
    monkeypatch.setattr(showing, "grid", lambda groups, **_: groups[""][0]["items"][0]["word"])
    KINDS["two languages"].save(tmp_path / "m.laplex")
    state = {"_pages": {"word": "the page"}}
    if clicked == "list":
        poles = {"plus": "ittax", "minus": "itwar", "words": "itarmy"}
        app = look(tmp_path / "m.laplex", "dimensions", monkeypatch, state, language="it", **poles)
    else:
        app = look(tmp_path / "m.laplex", "contrast", monkeypatch, state, language="it", explained="itwar")
        app = app.button(key="_to_word").click().run()
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


def test_words_that_are_not_used_in_a_slice_have_no_place_there(tmp_path, monkeypatch):
    """The lists of extreme words are sent as JSON, which has no NaN."""
    model = random_model(("year",), (("2000",), ("2001",)))
    model.counts[0][1, model.id("army", 0)] = 0
    model.save(tmp_path / "m.laplex")
    lists = []
    monkeypatch.setattr(showing, "grid", lambda groups, **_: lists.extend(groups[""]))
    look(tmp_path / "m.laplex", "dimensions", monkeypatch, plus="war", minus="tax", **{"at.year": "2001"})
    items = [item for shown in lists for item in shown["items"]]
    assert items
    assert "army" not in {item["word"] for item in items}
    assert max(item["share"] for item in items) == pytest.approx(1.0)
    assert min(item["share"] for item in items) >= 0


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


def test_a_map_that_is_stopped_can_be_made_later(tmp_path, monkeypatch):
    KINDS["time"].save(tmp_path / "m.laplex")
    app = look(tmp_path / "m.laplex", "map", monkeypatch, {"_map_stopped": True})
    assert [button.label for button in app.button] == ["Make the map"]
    app.button[0].click().run()
    assert [section.value for section in app.subheader] == ["Click a word"]


def html(app):
    """All HTML of a page."""
    return "".join(element.proto.body for element in app.get("html"))


@pytest.fixture
def without_text(saved, tmp_path):
    """The folder of the model, whose text is no longer there."""
    model = lx.load(saved)
    model.settings["tokens"]["folder"] = str(tmp_path / "gone")
    model.save(tmp_path / "m.laplex")
    return tmp_path / "m.laplex"


@pytest.mark.parametrize(
    ("view", "question", "column"), [("contrast", "contrast", "party"), ("change", "drift", "year")]
)
def test_findings_are_there_also_without_the_text(without_text, fitted, monkeypatch, view, question, column):
    app = look(without_text, view, monkeypatch)
    expected = getattr(fitted.inference(quiet=True), question)(column)
    shown = app.dataframe[0].value
    assert shown["word"].tolist() == expected["word"].tolist()
    assert shown["estimate"].tolist() == pytest.approx(expected["estimate"].tolist())
    assert shown["holds"].tolist() == expected["holds"].tolist()
    assert any(escape_markdown(sentence(expected.attrs["summary"])) in text.value for text in app.markdown)


def test_a_planted_difference_comes_first_and_is_explained_by_both_sides(saved, fitted, monkeypatch):
    app = look(saved, "contrast", monkeypatch, explained="health")
    first = app.dataframe[0].value.iloc[0]
    assert (first["word"], first["holds"]) == ("health", True)
    assert "the" not in set(app.dataframe[0].value["word"])
    found = fitted.inference(quiet=True).explain("health", "party", passages=3)
    for row in found.passages.itertuples():
        assert escape(f"{row.before}") in html(app)
    assert html(app).count("<mark>health</mark>") == 6
    assert "holds." in html(app)


def test_without_the_text_the_panel_says_what_is_missing(without_text, monkeypatch):
    app = look(without_text, "contrast", monkeypatch, explained="health")
    assert any("cannot be shown" in caption.value for caption in app.caption)
    assert "<mark>" not in html(app)
    word = look(without_text, "word", monkeypatch, word="health")
    assert any("Not here" in caption.value for caption in word.caption)
    assert any("By party, D against R" in text.value.replace("\\", "") for text in word.markdown)


def test_function_words_are_shown_if_they_are_asked_for(saved, fitted, monkeypatch):
    app = look(saved, "contrast", monkeypatch, function_words="true")
    expected = fitted.inference(quiet=True, exclude=()).contrast("party")
    assert app.dataframe[0].value["word"].tolist() == expected["word"].tolist()
    assert {"the", "of"} <= set(app.dataframe[0].value["word"])


def test_bare_distances_are_named_so(saved, fitted, monkeypatch):
    app = look(saved, "contrast", monkeypatch, bare="true", min_count="2")
    assert any("Bare distances" in warning.value for warning in app.warning)
    shown = app.dataframe[0].value
    expected = fitted.contrast("party", test=False)
    expected = expected[~expected["word"].isin(fitted.inference().excluded())]
    assert shown["word"].tolist() == expected["word"].tolist()
    assert shown["distance"].tolist() == pytest.approx(expected["distance"].tolist())


def test_a_model_whose_findings_are_not_kept_offers_to_test(saved, fitted, tmp_path, monkeypatch):
    model = lx.load(saved)
    model.tests.clear()
    model.save(tmp_path / "m.laplex")
    app = look(tmp_path / "m.laplex", "contrast", monkeypatch)
    assert "distance" in app.dataframe[0].value
    app = app.toggle(key="test").set_value(True).run()
    expected = fitted.inference(quiet=True).contrast("party")
    assert app.dataframe[0].value["word"].tolist() == expected["word"].tolist()


@pytest.mark.parametrize(("kind", "view"), [("groups", "contrast"), ("time", "change")])
def test_vectors_without_tests_have_bare_distances(kind, view, tmp_path, monkeypatch):
    KINDS[kind].save(tmp_path / "m.laplex")
    app = look(tmp_path / "m.laplex", view, monkeypatch)
    assert any("Not tested" in info.value for info in app.info)
    assert any("Bare distances" in warning.value for warning in app.warning)
    assert "distance" in app.dataframe[0].value


@pytest.mark.parametrize(
    ("view", "query"),
    [
        ("contrast", {}),
        ("contrast", {"function_words": "true"}),
        ("contrast", {"bare": "true", "min_count": "2"}),
        ("change", {}),
        ("change", {"bare": "true", "min_count": "2"}),
    ],
)
def test_the_python_that_is_shown_gives_the_table(saved, monkeypatch, view, query):
    app = look(saved, view, monkeypatch, **query)
    defined = {}
    exec(app.code[0].value, defined)
    shown = app.dataframe[0].value
    measured = "distance" if "bare" in query else "estimate"
    assert defined["frame"]["word"].tolist() == shown["word"].tolist()
    assert defined["frame"][measured].to_list() == pytest.approx(shown[measured].to_list())


@pytest.mark.parametrize("view", PAGES)
def test_every_line_of_python_runs(saved, tmp_path, monkeypatch, view):
    if view == "languages":
        KINDS["two languages"].save(saved := tmp_path / "m.laplex")
    everything = {"explained": "health"} if view in ("contrast", "change") else {"bare": "true"}
    blocks = [block.value for block in look(saved, view, monkeypatch, **everything).code]
    assert blocks
    for code in blocks:
        exec(code, {})


def test_the_python_of_a_word_gives_what_is_shown(saved, fitted, monkeypatch):
    app = look(saved, "word", monkeypatch, word="tax", graph="true")
    names = ("counts", ".passages(", "fitted.contrast(", "lx.plots.graph")
    blocks = {name: next(b.value for b in app.code if name in b.value) for name in names}
    frames = {}
    for name, code in blocks.items():
        defined = {}
        exec(code, defined)
        frames[name] = defined["frame"]
    shown = count_frame(fitted, "tax", None)
    pd.testing.assert_frame_equal(frames["counts"][shown.columns], shown)
    assert set(frames[".passages("]["word"]) == {"tax"}
    assert all(escape(" ".join(row.before.split())) in html(app) for row in frames[".passages("].itertuples())
    assert set(frames["fitted.contrast("]["word"]) == {"tax"}
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


def test_passages_are_of_the_word_in_its_slice(saved, fitted, monkeypatch):
    app = look(saved, "word", monkeypatch, word="health", passages="R, 2001")
    expected = fitted.passages("health", at={"party": "R", "year": "2001"}, top=4)
    assert set(expected["party"]) == {"R"}
    for row in expected.itertuples():
        assert escape(row.before) in html(app)
    assert html(app).count("<mark>health</mark>") == 4


def test_a_phrase_is_chosen_with_spaces_or_hyphens(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    vocabulary = lx.Vocabulary([*WORDS, "human_rights"], np.arange(13, 0, -1), phrases=[("human", "rights")])
    lx.Embeddings.of([vocabulary], [random.standard_normal((13, 6))]).save(tmp_path / "m")
    for spelling in ("human rights", "Human-Rights"):
        app = look(tmp_path / "m", "word", monkeypatch, word=spelling)
        assert [warning.value for warning in app.warning] == []
    assert "phrases=" in str(address.UnknownWordError("sea level", vocabulary, "word"))
    assert "phrases=" not in str(address.UnknownWordError("sea", vocabulary, "word"))
