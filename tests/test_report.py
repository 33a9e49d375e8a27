"""A report is one page that needs nothing else, says what the model says, and runs nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from markupsafe import Markup
from reported import FAMILY, IMAGE, SCRIPT, fit_speeches, model

import laplex as lx
from laplex import plots
from laplex.errors import InputError
from laplex.reports import choosing, describing
from laplex.reports.finding import passage
from laplex.reports.findings import FindingSections, sentence
from laplex.reports.parts import Drawings, inline_svg
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


def test_a_report_needs_no_script_and_loads_nothing():
    page = Page(report(model(), words=["tax", SCRIPT, IMAGE], quiet=True).html)
    assert not {"script", "img", "iframe", "link", "object", "embed", "image"} & set(page.tags)
    for name, value in page.attributes:
        assert not name.startswith("on")
        if name in ("href", "src", "xlink:href"):
            assert value.startswith("#")
        assert "url(" not in (value or "") or "url(#" in value
    text = "".join(page.texts)
    assert SCRIPT in text
    assert IMAGE in text


def test_the_drawings_of_a_report_share_no_names():
    ids = [value for name, value in Page(report(model(), quiet=True).html).attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_a_report_begins_with_what_was_found(fitted):
    page = report(fitted, quiet=True).html
    text = " ".join(Page(page).texts)
    found = fitted.inference(quiet=True).contrast("party")
    best = found.iloc[0]
    assert best["word"] == "health"
    assert best["holds"]
    assert sentence(found.attrs["summary"]) in text
    assert text.index("What differs by party") < text.index("Words used alike") < text.index("The text")
    row = re.search(r"<tr><td>health</td>(.*?)</tr>", page)[1]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", row)
    assert cells[0] == f"{best['estimate']:.2f}"
    assert cells[2] == str(Markup.escape(describing.describe_p(best["p"], best["permutations"])))
    assert cells[4] == "yes"
    assert cells[-2:] == [best["context"], best["context_against"]]
    assert set(cells[-2].split(", ")) <= set(FAMILY)


def test_a_finding_is_explained_by_passages_of_both_sides(fitted):
    page = report(fitted, column="party", quiet=True).html
    explained = fitted.inference(quiet=True).explain("health", "party", passages=1)
    assert "“health”: what the difference is made of" in page
    for row in explained.passages.itertuples():
        assert " ".join(row.before.split()) in page
        assert row.speaker in page
    assert page.count("<mark>health</mark>") == 2


def test_where_nothing_holds_the_report_says_so(fitted):
    page = report(fitted, column="year", quiet=True).html
    found = fitted.inference(quiet=True).drift("year")
    assert not found["holds"].any()
    assert str(Markup.escape(sentence(found.attrs["summary"]))) in page
    assert f"None of {len(found):,} words holds" in page
    assert page.count('<tr class="faint">') == min(len(found), 8)
    assert "what the difference is made of" not in page


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
    shown = FindingSections(tests, Drawings()).table("contrast", joint.head(3))
    assert list(shown.columns) == ["word", "difference", "90% interval", "p", "adjusted", "holds", "uses"]
    assert int(shown["uses"].iloc[0].replace(",", "")) == joint["uses"].iloc[0] + joint["uses_against"].iloc[0]


def test_another_unit_is_tested_anew(fitted):
    page = report(fitted, column="party", unit="documents", quiet=True).html
    assert "480 documents" in page
    assert "documents of one speaker are no independent evidence" in page
    assert "documents of one speaker" not in report(fitted, column="party", quiet=True).html


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


def test_a_fitted_model_is_described_in_words(fitted):
    html = report(fitted, quiet=True).html
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


def test_a_report_is_shown_in_a_frame_that_runs_nothing():
    shown = Page(Report(f"<p>{SCRIPT}</p>")._repr_html_())
    assert shown.tags == ["iframe"]
    assert dict(shown.attributes)["srcdoc"] == f"<p>{SCRIPT}</p>"
    assert "sandbox" in dict(shown.attributes)


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


def test_a_drawing_keeps_its_text_and_nothing_that_runs():
    frame = pd.DataFrame({"word": [SCRIPT, "tax"], "distance": [1.0, 2.0]})
    drawn = inline_svg(plots.bars(frame), "one", "two words")
    root = ElementTree.fromstring(drawn)
    assert root.get("aria-label") == "two words"
    assert SCRIPT in "".join(root.itertext())
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    names = [element.get("id") for element in root.iter() if element.get("id")]
    assert all(name.startswith("one-") for name in names)
    used = set(re.findall(r"url\(#([^)]+)\)", drawn))
    assert used <= set(names)


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
