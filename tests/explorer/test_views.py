"""The pages of models of every kind (without columns, without time, in two languages), and passages of the text."""

from __future__ import annotations

import json
from html import escape

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

import laplex as lx
from laplex.explorer import address, loading, showing
from laplex.explorer.app import PAGES, has_page
from laplex.explorer.loading import CodeName, code_of_call
from laplex.explorer.showing import csv, dark_colors, escape_markdown
from laplex.explorer.views.word import count_frame
from laplex.fitting.provenance import value_name
from laplex.inference.inference import Asked
from laplex.questions.similarity import translate
from laplex.reports import choosing
from laplex.reports.describing import corpus_title
from laplex.reports.finding import panel
from laplex.reports.findings import sentence
from laplex.reports.highlights import highlights
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


def rows(app):
    """The table of words of a page: what it sends to the browser, by the names of its columns."""
    (sent,) = [json.loads(table.proto.json) for table in app.get("bidi_component") if '"faint"' in table.proto.json]
    return sent | {column["label"]: column["values"] for column in sent["columns"]}


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
    shown = rows(app)
    assert shown["word"] == expected["word"].tolist()
    ends = next(column["ends"] for column in shown["columns"] if column["label"] == "difference")
    assert ends == [pytest.approx(ends) for ends in zip(expected["lower"], expected["estimate"], expected["upper"])]
    assert shown["adjusted p"] == pytest.approx(expected["p_adjusted"].tolist())
    assert shown["faint"] == (~expected["holds"]).tolist()
    assert escape(sentence(expected.attrs["summary"])) in html(app)


def test_a_planted_difference_comes_first_and_is_explained_by_both_sides(saved, fitted, monkeypatch):
    app = look(saved, "contrast", monkeypatch, explained="health")
    assert (rows(app)["word"][0], rows(app)["faint"][0]) == ("health", False)
    assert "the" not in rows(app)["word"]
    found = fitted.inference(quiet=True).explain("health", "party", passages=3)
    for row in found.passages.itertuples():
        assert escape(f"{row.before}") in html(app)
    assert html(app).count("<mark>health</mark>") == 6
    for side in panel(found, found.values, fitted.inference().excluded()):
        assert {row["word"] for row in side["neighbors"][:3]} <= set(neighbors(app))
    assert "it holds." in html(app)


def neighbors(app):
    """The words of all lists of words of a page."""
    sent = [json.loads(shown.proto.json) for shown in app.get("bidi_component")]
    lists = [one for shown in sent if "groups" in shown for group in shown["groups"] for one in group["lists"]]
    return [item["word"] for one in lists for item in one["items"]]


def test_chart_table_and_panel_show_the_same_words(saved, fitted, monkeypatch):
    """The panel is that of the first word until another is chosen, and the chart rings it."""
    app = look(saved, "contrast", monkeypatch)
    expected = fitted.inference(quiet=True).contrast("party")
    first = expected["word"].iloc[0]
    evidence = next(chart.proto for chart in app.get("vega_lite_chart") if "picked" in chart.proto.spec)
    drawn = [pa.ipc.open_stream(part.data.data).read_pandas() for part in evidence.datasets]
    assert {word for part in drawn if "word" in part for word in part["word"]} == set(expected["word"])
    assert rows(app)["word"] == expected["word"].tolist()
    assert any(part.get("_text", pd.Series()).tolist() == [first] for part in drawn)  # the ring
    assert rows(app)["words"][rows(app)["chosen"]] == first
    assert f"“{first}” <span>differs by party" in html(app)


def test_groups_are_compared_within_the_values_of_other_columns(saved, fitted, monkeypatch):
    app = look(saved, "contrast", monkeypatch, given="year")
    expected = fitted.inference(quiet=True).contrast("party", given=["year"])
    assert rows(app)["word"] == expected["word"].tolist()
    assert rows(app)["adjusted p"] == pytest.approx(expected["p_adjusted"].tolist())
    assert app.multiselect(key="given").value == ["year"]
    assert set(app.multiselect(key="given").options) == {"year", "topic"}


def test_the_overview_begins_with_findings_that_lead_to_their_page(saved, fitted, monkeypatch):
    visited = []
    monkeypatch.setattr(address.st, "switch_page", lambda page, query_params: visited.append((page, query_params)))
    app = look(saved, "overview", monkeypatch, {"_pages": {"contrast": "contrast", "change": "change"}})
    findings = highlights(choosing.inference(fitted)).findings
    assert findings
    for number, found in enumerate(findings):
        label = app.button(key=f"_finding_{number}").label.replace("\\", "")
        assert label == f"**“{found.word}”** {found.claim}"
        assert escape(found.evidence) in html(app)
        for side in panel(found.explain(choosing.inference(fitted)), found.values):
            assert escape(side["passages"][0]["before"]) in html(app)
    app.button(key="_finding_0").click().run()
    # the page begins with this column, so it is no part of the address
    assert visited == [(findings[0].question, {"explained": findings[0].word})]


def test_the_overview_has_its_findings_without_the_text(without_text, fitted, monkeypatch):
    app = look(without_text, "overview", monkeypatch)
    found = highlights(choosing.inference(fitted)).findings[0]
    assert found.word in app.button(key="_finding_0").label
    assert "<mark>" not in html(app)


def test_the_overview_says_why_nothing_holds(saved, tmp_path, monkeypatch):
    model = lx.load(saved)
    asked = model.inference(quiet=True)
    for column in ("party", "year"):
        question = Asked(asked.question(column), column)
        found = asked._kept(question)
        found.frame["p"] = 0.9
        asked._keep(question, found)
    model.save(tmp_path / "m.laplex")
    app = look(tmp_path / "m.laplex", "overview", monkeypatch)
    assert [title.value for title in app.subheader][:2] == ["Party\\: nothing holds", "Year\\: nothing holds"]
    assert any("What would help" in text.value for text in app.markdown)
    assert app.button(key="_nearest_party_0").label


@pytest.mark.parametrize(
    ("sources", "title"),
    [
        (["/data/senate-press.parquet"], "senate-press"),
        (["C:\\data\\talks.tsv.gz"], "talks"),
        (["https://example.org/press/*.csv"], "press"),
        (["the State of the Union addresses"], "The State of the Union addresses"),
        (["a pandas frame"], "folder"),
        (["12 files"], "folder"),
        (["one.csv", "two.csv"], "folder"),
        ([], "folder"),
    ],
)
def test_a_corpus_is_called_by_its_source(sources, title):
    model = random_model((), ((),))
    model.settings["tokens"] = {"sources": sources}
    assert corpus_title(model, "folder") == title


def test_without_the_text_the_panel_says_what_is_missing(without_text, monkeypatch):
    app = look(without_text, "contrast", monkeypatch, explained="health")
    assert any("cannot be shown" in caption.value for caption in app.caption)
    assert "<mark>" not in html(app)
    word = look(without_text, "word", monkeypatch, word="health")
    assert any("Not here" in caption.value for caption in word.caption)
    assert any("“health” differs by party" in text.value for text in word.markdown)


def test_function_words_are_shown_if_they_are_asked_for(saved, fitted, monkeypatch):
    app = look(saved, "contrast", monkeypatch, function_words="true")
    expected = fitted.inference(quiet=True, exclude=()).contrast("party")
    assert rows(app)["word"] == expected["word"].tolist()
    assert {"the", "of"} <= set(rows(app)["word"])


def test_bare_distances_are_named_so(saved, fitted, monkeypatch):
    app = look(saved, "contrast", monkeypatch, bare="true", min_count="2")
    assert any("Bare distances" in warning.value for warning in app.warning)
    expected = fitted.contrast("party", test=False)
    expected = expected[~expected["word"].isin(fitted.inference().excluded())]
    assert rows(app)["word"] == expected["word"].tolist()
    assert rows(app)["distance"] == pytest.approx(expected["distance"].tolist())


def test_a_model_whose_findings_are_not_kept_offers_to_test(saved, fitted, tmp_path, monkeypatch):
    model = lx.load(saved)
    model.tests.clear()
    model.save(tmp_path / "m.laplex")
    app = look(tmp_path / "m.laplex", "contrast", monkeypatch)
    assert "distance" in rows(app)
    app = app.toggle(key="test").set_value(True).run()
    expected = fitted.inference(quiet=True).contrast("party")
    assert rows(app)["word"] == expected["word"].tolist()


@pytest.mark.parametrize(("kind", "view"), [("groups", "contrast"), ("time", "change")])
def test_vectors_without_tests_have_bare_distances(kind, view, tmp_path, monkeypatch):
    KINDS[kind].save(tmp_path / "m.laplex")
    app = look(tmp_path / "m.laplex", view, monkeypatch)
    assert any("Not tested" in info.value for info in app.info)
    assert any("Bare distances" in warning.value for warning in app.warning)
    assert "distance" in rows(app)


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
    question = "drift" if view == "change" else "contrast"
    exec(next(block.value for block in app.code if f".{question}(" in block.value), defined)
    measured, label = ("distance", "distance") if "bare" in query else ("p_adjusted", "adjusted p")
    assert defined["frame"]["word"].tolist() == rows(app)["word"]
    assert defined["frame"][measured].to_list() == pytest.approx(rows(app)[label])


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


def test_passages_are_of_the_word_in_the_chosen_parts_side_by_side(saved, fitted, monkeypatch):
    app = look(saved, "word", monkeypatch, word="health", text1="R, 2001", text2="2003")
    for at in ({"party": "R", "year": "2001"}, {"year": "2003"}):
        expected = fitted.passages("health", at=at, top=4)
        for row in expected.itertuples():
            assert escape(row.before) in html(app)
    assert html(app).count("<mark>health</mark>") == 8


def test_passages_begin_with_both_sides_of_the_surest_finding(saved, monkeypatch):
    app = look(saved, "word", monkeypatch, word="health")
    assert (app.selectbox(key="text1").value, app.selectbox(key="text2").value) == ("D", "R")


def periods(folder):
    """A model by party and period of twenty years; "army" has few uses in the first."""
    model = random_model(("party", "period"), tuple((one, two) for one in "DR" for two in ("1861", "1881")))
    model.counts[0][0, model.id("army", 0)] = 3
    model.settings["tokens"] = {"folder": "gone", "digest": "", "period_lengths": {"period": "20y"}}
    model.save(folder)
    return folder


def test_periods_are_shown_with_their_years_and_lists_of_rare_words_are_pale(tmp_path, monkeypatch):
    lists = {}
    monkeypatch.setattr(showing, "grid", lambda groups, **_: lists.update(groups))
    look(periods(tmp_path / "m.laplex"), "word", monkeypatch, word="army")
    shown = {(group, one["title"]): one["pale"] for group in lists for one in lists[group]}
    years = ("1861–1880", "1881–1900")
    assert shown == {(party, period): (party, period) == ("D", "1861–1880") for party in "DR" for period in years}


@pytest.mark.parametrize(
    ("every", "values", "shown"),
    [("20y", ("1861", "1881"), "1861–1880"), ("1w", ("2010-07-05", "2010-07-12"), "2010-07-05")],
)
def test_charts_name_periods_as_long_as_they_know_their_order(every, values, shown):
    model = random_model(("period",), tuple((value,) for value in values))
    model.settings["tokens"] = {"period_lengths": {"period": every}}
    assert value_name(model, "period", values[0]) != values[0]
    frame = loading.with_names(model, pd.DataFrame({"period": [values[0]], "party": ["D"]}))
    assert frame.to_dict("records") == [{"period": shown, "party": "D"}]


def test_an_address_has_the_value_of_a_period_and_not_its_name(tmp_path, monkeypatch):
    app = look(periods(tmp_path / "m.laplex"), "word", monkeypatch, **{"at.period": "1881"})
    box = app.selectbox(key="at.period")
    assert (box.value, box.options) == ("1881", ["all", "1861–1880", "1881–1900"])
    app = box.set_value("1861").run()
    assert app.query_params["at.period"] == "1861"
    app.query_params["at.period"] = "1881"  # as by the back button
    assert app.run().selectbox(key="at.period").value == "1881"
    app = app.selectbox(key="at.period").set_value("all").run()
    assert "at.period" not in app.query_params


def test_several_words_are_understood_and_unknown_ones_have_suggestions(saved, monkeypatch):
    app = look(saved, "word", monkeypatch, word="army, helth school")
    assert [warning.value for warning in app.warning] == ["“helth” is not in the vocabulary \\(34 words\\)\\."]
    assert any("Words used like “army”" in one.value for one in app.subheader)
    assert "health" in suggestions(app, "word")
    app = look(saved, "word", monkeypatch, {"word_of_2": 1}, word="army, health")
    assert any("Words used like “health”" in one.value for one in app.subheader)
    assert not app.warning


def suggestions(app, key):
    return [str(option) for option in app.button_group(key=f"{key}_suggested").options]


@pytest.mark.parametrize(("key", "known"), [("plus", "war"), ("minus", "tax"), ("words", "army")])
def test_every_box_of_a_dimension_suggests_words(saved, monkeypatch, key, known):
    query = {"plus": "war", "minus": "tax", "words": "army", key: f"{known}x"}
    with pytest.raises(AssertionError, match=f"“{known}x” is not in the vocabulary"):  # which main() shows
        look(saved, "dimensions", monkeypatch, **query)
    app = look(saved, "dimensions", monkeypatch, **query | {key: f"school, {known}x"})
    assert len(app.warning) == 1
    assert suggestions(app, key)[0] == known


def test_poles_to_begin_with_are_used_everywhere(tmp_path, monkeypatch):
    words = [*WORDS, "rich", "poor", "good", "bad"]
    counts = np.full((2, len(words)), 90)
    counts[1, words.index("poor")] = 4
    vectors = np.random.default_rng(0).standard_normal((2, len(words), 6))
    slices = Slices(("party",), (("D",), ("R",)), np.empty(0, np.int32))
    vocabulary = lx.Vocabulary(words, counts.sum(0))
    lx.Embeddings.of([vocabulary], [vectors], slices=slices, counts=[counts]).save(tmp_path / "m.laplex")
    app = look(tmp_path / "m.laplex", "dimensions", monkeypatch)
    assert [app.text_input(key=key).value for key in ("plus", "minus")] == ["good", "bad"]
    shown = app.dataframe[-1].value
    assert shown["good"].tolist() == [90, 90]


def test_intervals_take_the_place_of_bare_numbers(saved, fitted, monkeypatch):
    app = look(saved, "word", monkeypatch, intervals="true", word="health")
    (code,) = [block.value for block in app.code if "neighbors(" in block.value]
    assert "test=False" not in code
    app = look(saved, "dimensions", monkeypatch, intervals="true", plus="war", minus="tax", words="health")
    assert any("Without 2 positions: under 100 uses there" in one.value for one in app.caption)


def test_two_models_are_shown_side_by_side(saved, tmp_path, monkeypatch):
    lists = {}
    monkeypatch.setattr(showing, "grid", lambda groups, key, **_: lists.update({key: groups}))
    KINDS["time"].save(tmp_path / "other.laplex")
    both = loading.BETWEEN_FOLDERS.join([str(saved), str(tmp_path / "other.laplex")])
    app = look(both, "word", monkeypatch, word="tax", k="3", **{"at.party": "D"})
    assert any(one.value == "In other" for one in app.subheader)
    expected = KINDS["time"].neighbors("tax", 3, test=False)["neighbor"].tolist()
    found = [item["word"] for one in lists["neighbors_1"][""] for item in one["items"]]
    assert found == expected
    code = next(block.value for block in app.code if "other.laplex" in block.value)
    defined = {}
    exec(code.replace("fitted.neighbors", "frame = fitted.neighbors"), defined)
    assert defined["frame"]["neighbor"].tolist() == expected
    app = look(both, "word", monkeypatch, {"model": "2"}, word="navy")
    assert any(one.value == "In small" for one in app.subheader)


def test_a_phrase_is_chosen_with_spaces_or_hyphens(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    vocabulary = lx.Vocabulary([*WORDS, "human_rights"], np.arange(13, 0, -1), phrases=[("human", "rights")])
    lx.Embeddings.of([vocabulary], [random.standard_normal((13, 6))]).save(tmp_path / "m")
    for spelling in ("human rights", "Human-Rights"):
        app = look(tmp_path / "m", "word", monkeypatch, word=spelling)
        assert [warning.value for warning in app.warning] == []
    assert "phrases=" in str(address.UnknownWordError("sea level", vocabulary, "word"))
    assert "phrases=" not in str(address.UnknownWordError("sea", vocabulary, "word"))
