"""A report is one page that needs nothing else, says what the model says, and runs nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from markupsafe import Markup
from reported import FAMILY, IMAGE, MONEY, SCRIPT, fit_speeches, model, speeches

import laplex as lx
from laplex.errors import InputError
from laplex.reports import choosing, describing
from laplex.reports.evidence import evidence
from laplex.reports.finding import passage
from laplex.reports.findings import ComparisonTable, ask, limit_rows, sentence, shown_comparison, words_with_panels
from laplex.reports.findings import data_of as data_of_comparison
from laplex.reports.highlights import highlights
from laplex.reports.methods import methods
from laplex.reports.writing import Report, report
from laplex.text.slices import Slices


class Page(HTMLParser):
    """The tags of a page, their attributes, and its text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    return fit_speeches(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def shown(fitted):
    """The page of the model."""
    return report(fitted, quiet=True).html


@pytest.fixture(scope="module")
def scripted(tmp_path_factory):
    """The same model of speeches in which a word and a party are markup."""
    return fit_speeches(tmp_path_factory.mktemp("cache"), {"health": SCRIPT, "R": IMAGE})


def data_of(html):
    """The data of a page, which its script reads."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1])


def test_a_report_loads_nothing_and_runs_only_its_own_script():
    html = report(model(), words=["tax", SCRIPT, IMAGE], quiet=True).html
    page = Page(html)
    assert page.tags.count("script") == 2
    assert not {"img", "iframe", "link", "object", "embed", "image", "base"} & set(page.tags)
    for name, value in page.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "style")
        if name == "href":
            assert value.startswith("#")
        assert "url(" not in (value or "")
    text = "".join(page.texts)
    assert SCRIPT in text
    assert IMAGE in text


def test_the_policy_of_a_report_names_its_style_and_its_script():
    html = report(model(), quiet=True).html
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    allowed = dict(part.strip().split(" ", 1) for part in policy.replace("&#39;", "'").split(";"))
    assert allowed["default-src"] == "'none'"
    for kind, tag in (("style-src", "style"), ("script-src", "script")):
        (part,) = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert allowed[kind] == f"'sha256-{digest}'"


def test_the_data_of_a_report_cannot_end_its_element(scripted):
    html = report(scripted, quiet=True).html
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert "<" not in text
    assert SCRIPT in data_of(html)[0]["word"]
    assert Page(html).tags.count("script") == 2
    assert "".join(Page(html).texts).count(SCRIPT) > 5  # in findings, tables, plots and passages


def test_a_title_is_text_whatever_it_is():
    title = "{{ js }} @@data@@ </title>" + SCRIPT
    page = Page(report(model(), title=title, quiet=True).html)
    assert page.texts.count(title) == 2
    assert page.tags.count("script") == 2


def test_the_parts_of_a_page_share_no_names():
    ids = [value for name, value in Page(report(model(), quiet=True).html).attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_a_report_begins_with_what_was_found(fitted, shown):
    text = " ".join(Page(shown).texts)
    found = fitted.inference(quiet=True).contrast("party")
    best = found.iloc[0]
    assert best["word"] == "health"
    assert best["holds"]
    assert sentence(found.attrs["summary"]) in text
    starts = [text.index(part) for part in ("differs by party: with", "What differs by party", "Words used alike")]
    assert starts == sorted(starts)
    row = re.search(
        r'<tr><td>health</td>(<td class="number">\d.*?)</tr>', shown[shown.index("What differs by party") :]
    )[1]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", row)
    assert cells[:2] == [f"{best['estimate']:.2f}", f"{best['lower']:.2f}–{best['upper']:.2f}"]
    assert cells[3] == "yes"
    assert cells[-2:] == [best["context"], best["context_against"]]
    assert set(cells[-2].split(", ")) <= set(FAMILY)


def test_a_finding_has_words_and_passages_of_both_sides(fitted, shown):
    explained = fitted.inference(quiet=True).explain("health", "party", passages=1)
    card = shown[shown.index('<article class="finding">') : shown.index("</article>")]
    assert card.count("<mark>health</mark>") == 2
    for row in explained.passages.itertuples():
        assert " ".join(row.before.split()) in card
        assert row.speaker in card
    words = re.findall(r'<tr><td>(\w+)</td><td class="bar">', card)
    assert {*words} & {*FAMILY}
    assert {*words} & {*MONEY}


def test_without_passages_no_text_is_in_the_page(fitted, shown):
    """Neither passages nor anything else that only the text has, such as the names of speakers."""
    page = report(fitted, text=False, quiet=True).html
    runs = [" ".join(row["text"][start : start + 3]) for row in speeches() for start in range(0, 27, 3)]
    assert any(run in shown for run in runs)
    assert not any(run in page for run in runs)
    speakers = {row["speaker"] for row in speeches()}
    assert any(re.search(rf"\b{name}\b", shown) for name in speakers)
    assert not any(re.search(rf"\b{name}\b", page) for name in speakers)
    assert "<mark>" not in page
    assert "no passages of the text" in page
    assert '<td class="bar">' in page  # context words are there


def test_the_page_has_all_tested_words(fitted, shown):
    tests = fitted.inference(quiet=True)
    for one, frame in zip(data_of(shown), (tests.contrast("party"), tests.drift("year"))):
        assert one["word"] == frame["word"].tolist()
        assert one["held"] == frame["holds"].sum()
        for name in ("estimate", "lower", "upper", "p", "p_adjusted"):
            np.testing.assert_allclose(one[name], frame[name], rtol=1e-3)
        for name in ("uses", "uses_against", "units", "units_against", "permutations"):
            assert one[name] == frame[name].tolist()
        assert one["context"].get("0", ["", ""]) == frame.loc[0, ["context", "context_against"]].tolist()


def test_a_page_does_not_grow_without_bounds(fitted):
    tests = fitted.inference(quiet=True)
    asked = ask(tests, "party")
    (one,) = asked.comparisons
    limit_rows(asked.comparisons, 4)
    assert len(one.rows) == min(one.tested, 15)
    limit_rows(asked.comparisons * 2, 32)
    assert len(data_of_comparison(one)["word"]) == min(one.tested, 15)
    text = shown_comparison(tests, one, 0, 0)["text"]
    assert f"of {one.tested:,} words hold" in text
    assert ("the first 15 of them" in text) == (one.tested > 15)


def test_where_nothing_holds_the_report_says_so(fitted):
    page = report(fitted, column="year", quiet=True).html
    found = fitted.inference(quiet=True).drift("year")
    assert not found["holds"].any()
    assert str(Markup.escape(sentence(found.attrs["summary"]))) in page
    assert f"None of {len(found):,} words holds" in page
    assert f"None of {len(found):,} words is shown to change along year" in page
    assert page.count('<tr class="faint">') == min(len(found), 8)
    assert "<article" not in page


def test_panels_are_as_many_as_asked_for(fitted):
    assert "<article" not in report(fitted, panels=0, words=["health"], quiet=True).html.partition('class="panels"')[2]
    held = fitted.inference(quiet=True).contrast("party")["holds"].sum()
    page = report(fitted, panels=1, quiet=True).html
    assert held > 1
    assert page.count('<article class="finding" data-word=') == len(highlights(fitted.inference(quiet=True)).findings)
    page = report(fitted, panels=40, words=["army"], quiet=True).html
    assert re.search(r'<article class="finding" data-word="army">', page)  # also where it does not hold


def test_without_the_text_the_findings_are_there_and_passages_are_not(fitted, tmp_path):
    fitted.save(tmp_path / "m.laplex")
    alone = lx.load(tmp_path / "m.laplex")
    alone.settings["tokens"] = alone.settings["tokens"] | {"folder": str(tmp_path / "gone")}
    page = report(alone, column="party", quiet=True).html
    assert sentence(fitted.inference(quiet=True).contrast("party").attrs["summary"]) in " ".join(Page(page).texts)
    assert "Not shown: the text of this model is needed" in page
    assert "<mark>" not in page


def test_a_joint_test_has_no_sides(fitted):
    tests = fitted.inference(quiet=True)
    joint = tests.contrast("year", against="joint")
    one = ComparisonTable("year", "any", "others", "Any value against the others", (), joint, len(joint))
    made = shown_comparison(tests, one, 0, 0)
    assert [cell["text"] for cell in made["rows"][0]["cells"]][4:] == [
        f"{joint['uses'][0] + joint['uses_against'][0]:,}"
    ]
    assert made["plot"]["y_title"] == "uses"
    assert words_with_panels([one], 10, joint["word"].tolist()) == []


def test_dots_and_labels_are_in_the_plot(fitted):
    found = fitted.inference(quiet=True).contrast("party")
    drawn = evidence(found, 0.1, ["army"])
    box = drawn["box"]
    for path, held in ((drawn["sure"], True), (drawn["doubtful"], False)):
        dots = [tuple(map(int, dot)) for dot in re.findall(r"M(\d+) (\d+)h0", path)]
        assert len(dots) == (found["holds"] == held).sum()
        assert all(box["left"] <= x <= box["right"] and box["top"] <= y <= box["bottom"] for x, y in dots)
    (x, _), *_ = [tuple(map(int, dot)) for dot in re.findall(r"M(\d+) (\d+)h0", drawn["sure"])]
    share = found["estimate"][0] / drawn["ends"]["x"][1]
    assert x == pytest.approx(box["left"] + share * (box["right"] - box["left"]), abs=1)
    assert "health" in [label["text"] for label in drawn["labels"]]
    assert evidence(found.head(0), 0.1) is None


def test_the_methods_say_what_was_done(fitted):
    tests = fitted.inference(quiet=True)
    found = tests.contrast("party")
    text = methods(fitted, tests, {"party": found})
    assert f"{int(fitted.counts[0].sum()):,} running words in 480 documents" in text
    assert "The sampled unit is speaker." in text
    assert "4 dimensions" in text
    assert "party (D, R) and year (2000, 2001, 2002)" in text
    assert "(strength 1)" in text
    assert "Strengths were set, and not chosen" in text
    assert f"(24 values of speaker); {found['holds'].sum()} of {len(found)} words do." in text
    assert "seed 1" in text
    assert f"laplex {lx.__version__}" in text
    assert "nan" not in text


def test_the_methods_say_how_strengths_were_chosen(fitted, monkeypatch):
    table = pd.DataFrame()
    table.attrs["summary"] = "chosen by held-out text: strength of Groups 30"
    monkeypatch.setattr(type(fitted), "tuning", table)
    text = methods(fitted, fitted.inference(quiet=True), {})
    assert "Strengths were chosen by held-out text: strength of Groups 30." in text


def test_another_unit_is_tested_anew(fitted, shown):
    page = report(fitted, column="party", unit="documents", panels=0, quiet=True).html
    assert "480 documents" in page
    assert "documents of one speaker are no independent evidence" in page
    assert "documents of one speaker" not in shown


def test_vectors_without_tests_have_bare_distances_at_the_end():
    embeddings = model()
    page = report(embeddings, words=["war"], column="party", quiet=True).html
    text = " ".join(Page(page).texts)
    assert "Not tested: these vectors were not fitted here" in text
    assert text.index("The fit") < text.rindex("Bare distances between vectors") < text.index("With these the fit")
    best = embeddings.contrast("party", test=False)
    first = best[choosing.is_content_word(embeddings, best["word"])].iloc[0]
    assert re.search(rf"<td>{first['word']}</td>.*<td[^>]*>{first['distance']:.3f}</td>", page)
    assert "<td>the</td>" not in page[page.rindex("Bare distances") :]
    near = embeddings.neighbors("war", 1, at={"party": "D", "year": "2000"})["neighbor"].iloc[0]
    assert str(Markup.escape(near)) in page


def test_a_fitted_model_is_described_in_words(fitted, shown):
    html = shown
    for said in [*describing.describe_prior(fitted), *describing.describe_fit(fitted)]:
        assert str(Markup.escape(said)) in html
    said = " ".join(describing.describe_prior(fitted))
    assert "nearly the same at every value of party (strength 1)" in said
    assert "slowly from one year to the next" in said
    assert f"{fitted.graph.edges:,} edges" in said
    assert f"{fitted.history['held_out'].iloc[-1]:.3f}" in " ".join(describing.describe_fit(fitted))
    for name in ("numpy", "laplex"):
        assert f"{name} " in html


def test_small_slices_are_warned_of(fitted):
    assert "6 of 6 slices" in describing.describe_small_slices(fitted)
    assert describing.describe_small_slices(model(((),), ())) is None


@pytest.mark.parametrize(
    ("keys", "columns"),
    [
        (((),), ()),
        ((("D",), ("R",)), ("party",)),
        ((("2000",), ("2001",)), ("year",)),
        ((("D", "1"), ("R", "2")), ("a", "b")),
    ],
    ids=["plain", "groups", "time", "nothing to compare"],
)
def test_every_kind_of_model_has_a_report(keys, columns, tmp_path):
    path = tmp_path / "r.html"
    made = report(model(keys, columns), path, quiet=True)
    assert path.read_text(encoding="utf-8") == made.html
    assert len(made.html) < 5_000_000


def test_a_report_is_shown_in_a_frame_apart_from_the_notebook():
    shown = Page(Report(f"<p>{SCRIPT}</p>")._repr_html_())
    assert shown.tags == ["iframe"]
    assert dict(shown.attributes)["srcdoc"] == f"<p>{SCRIPT}</p>"
    assert dict(shown.attributes)["sandbox"] == "allow-scripts allow-downloads"


@pytest.mark.parametrize(
    ("options", "message"),
    [({"words": ["texas"]}, "texas"), ({"column": "sex"}, "sex"), ({"cluster": "speaker"}, 'write unit="speaker"')],
)
def test_what_cannot_be_reported_is_said(options, message):
    with pytest.raises(InputError, match=message):
        report(model(), quiet=True, **options)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("r.docx", r'"r.docx" has to end in \.html'),
        ("r", "has to end in"),
        ("R.PDF", r'write "R\.html", open it and print'),
    ],
)
def test_a_report_is_written_as_a_page_only(name, message, tmp_path):
    for write in (lambda path: report(model(), path, quiet=True), Report("<p>").save):
        with pytest.raises(InputError, match=message):
            write(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_fitted_vectors_report_on_themselves(tmp_path):
    embeddings = model()
    made = embeddings.report(tmp_path / "r.html", words="war", quiet=True)
    assert isinstance(made, Report)
    assert "“war”" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_numbers_are_lined_up_and_words_are_not():
    page = report(model(), words=["war"], column="party", quiet=True).html
    assert '<th class="number">distance</th>' in page
    assert '<td class="number">' in page
    assert "<th>word</th>" in page
    assert "<th>D, 2000<small>800 uses</small></th>" in page


def test_slices_are_chosen_by_the_question():
    """As many of each value of the compared column, not the largest, which may be all of one value."""
    keys = tuple((region, str(year)) for region in "ABCDEF" for year in range(2000, 2009))
    embeddings = model(keys, ("region", "year"))
    embeddings.counts[0] *= np.arange(1, 55)[:, None]  # the last region is the largest
    chosen = {
        column: [keys[i] for i in choosing.slices_to_show(embeddings, column, 8)] for column in ("region", "year", None)
    }
    assert [region for region, _ in chosen["region"]] == list("ABCDEF")
    assert len({year for _, year in chosen["region"]}) == 1
    assert [year for _, year in chosen["year"]] == ["2000", "2008"] * 4
    assert {region for region, _ in chosen[None]} == {"F"}
    assert choosing.slices_to_show(model(), "party", 8) == [0, 1, 2, 3]
    page = report(embeddings, column="region", words=["war"], quiet=True).html
    assert all(f"<th>{region}, " in page for region in "ABCDEF")
    (table,) = describing.slices_tables(embeddings)
    assert table["heads"] == ["year", *"ABCDEF"]
    assert sum(cell["tokens"] for row in table["rows"] for cell in row["cells"]) == embeddings.counts[0].sum()


def test_first_choices_are_sensible():
    embeddings = model()
    assert choosing.compared_columns(embeddings) == ["party", "year"]
    assert choosing.ordered_columns(embeddings) == ["year"]
    assert choosing.first_slice(embeddings) == {"party": "D", "year": "2000"}  # the largest, since none is large
    best = choosing.first_words(embeddings, "party", 3)
    frame = embeddings.contrast("party", ["tax", "war", "school", "army", "money", "child"], test=False)
    assert best == frame["word"].head(3).tolist()
    assert "the" not in choosing.first_words(embeddings, count=6)


def test_the_first_words_are_those_of_stored_findings(fitted):
    found = fitted.inference(quiet=True).contrast("party")
    held = found.loc[found["holds"], "word"].tolist()
    assert choosing.first_words(fitted, count=len(held)) == held
    assert list(choosing.stored_findings(fitted)) == ["party", "year"]
    assert choosing.comparisons(found) == [("D", "R")]
    assert choosing.stored_findings(model()) == {}


def test_function_words_are_those_that_tables_leave_out(fitted):
    assert choosing.function_words(fitted) == fitted.inference().excluded()
    assert "the" in choosing.function_words(fitted)


def test_phrases_are_content_words(fitted):
    words = pd.Series(["human_rights", "on-line", "people's", "the", "2007", "ab", SCRIPT])
    assert choosing.is_content_word(fitted, words).tolist() == [True, True, True, False, False, False, False]


def test_a_passage_keeps_the_spaces_of_the_text():
    row = {"before": "men  in\n", "word": "uniform", "after": ", brave", "speaker": "s1", "party": "D", "name": "s1"}
    shown = passage(row, ["speaker", "party", "name"])
    assert shown["before"] + shown["word"] + shown["after"] == "men in uniform, brave"
    assert shown["source"] == "s1, D"


def test_the_threshold_leaves_about_a_thousand_words():
    counts = np.arange(5_000, 0, -1)[None].repeat(2, 0)
    slices = Slices(("party",), (("D",), ("R",)), np.empty(0, np.int32))
    vocabulary = lx.Vocabulary([f"w{i}" for i in range(5_000)], counts.sum(0))
    embeddings = lx.Embeddings.of([vocabulary], [np.ones((2, 5_000, 2))], slices=slices, counts=[counts])
    least = choosing.min_count(embeddings, "party")
    assert least in choosing.MIN_COUNTS
    assert 1_000 <= (counts[0] >= least).sum() < 5_000
