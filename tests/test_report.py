"""A report is one page that needs nothing else, says what the model says, and runs nothing."""

from __future__ import annotations

import os
import re
import shutil
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import small
from markupsafe import Markup

import laplex as lx
from laplex import plots
from laplex.errors import InputError, LaplexError
from laplex.report import Report, choosing, describing, printing, report
from laplex.report.drawing import inline
from laplex.tokens import Slices

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'


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


def model(keys=(("D", "2000"), ("D", "2001"), ("R", "2000"), ("R", "2001")), columns=("party", "year"), seed=0):
    random = np.random.default_rng(seed)
    words = ["tax", "war", "school", "army", "money", "child", SCRIPT, IMAGE, "the"]
    counts = np.tile(np.arange(len(words), 0, -1) * 100, (len(keys), 1))
    vectors = random.standard_normal((len(keys), len(words), 5))
    slices = Slices(columns, keys, np.empty(0, np.int32))
    vocabulary = lx.Vocabulary(words, counts.sum(0))
    return lx.Embeddings.of([vocabulary], [vectors], slices=slices, counts=[counts], contexts=[vectors[0]])


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Fitted, with its text beside it; the speaker has a party."""
    rows = small.documents(count=360, length=30)
    for number, row in enumerate(rows):
        row["speaker"] = f"{row['party']}{number % 12}"
        row["text"] = [f"word{'abcdefghijklmnopqr'[int(k)]}" for k in row["text"]]
    corpus = lx.read(rows, metadata=["party", "year", "speaker"])
    tokens = lx.Tokens.of(corpus, min_count=1, cache=tmp_path_factory.mktemp("cache"), quiet=True)
    prior = lx.Ridge(1.0) + lx.Groups("party", 1.0) + lx.Chain("year", 1.0)
    chosen = lx.Model(vary=["party", "year"], prior=prior, dimensions=4, window=2, negatives=3, subsample=0)
    return lx.fit(chosen, tokens, epochs=3, threads=1, seed=1, holdout=0.05, quiet=True)


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


def test_a_report_says_what_the_questions_answer():
    asked = model()
    text = report(asked, words=["war"], column="party", quiet=True).html
    best = asked.contrast("party", 100, min_count=choosing.min_count(asked, "party"))
    best = best[choosing.has_content(best["word"], choosing.function_words(asked))]
    first = best.iloc[0]
    assert re.search(rf"<td>{first['word']}</td><td[^>]*>{first['distance']:.3f}</td>", text)
    assert not re.search(r"<td>the</td><td[^>]*>\d", text)
    near = asked.neighbors("war", 1, party="D", year="2000")["neighbor"].iloc[0]
    assert str(Markup.escape(near)) in text
    moved = asked.drift("year", 1, words=["tax", "war", "school", "army", "money", "child"]).iloc[0]
    assert re.search(rf"<td>{moved['word']}</td><td[^>]*>{moved['distance']:.3f}</td>", text)


def test_with_a_cluster_differences_are_tested(fitted):
    text = report(fitted, column="party", cluster="speaker", quiet=True).html
    assert "Tested by speaker" in text
    assert "90% interval" in text
    assert "Tested by" not in report(fitted, column="party", quiet=True).html


def test_a_fitted_model_is_described_in_words(fitted):
    html = report(fitted, quiet=True).html
    for sentence in [*describing.describe_prior(fitted), *describing.describe_fit(fitted)]:
        assert str(Markup.escape(sentence)) in html
    said = " ".join(describing.describe_prior(fitted))
    assert "nearly the same at every value of party (strength 1)" in said
    assert "slowly from one year to the next" in said
    assert f"{fitted.graph.edges:,} edges" in said
    assert f"{fitted.history['held_out'].iloc[-1]:.3f}" in " ".join(describing.describe_fit(fitted))
    for name in ("numpy", "laplex"):
        assert f"{name} " in html


def test_small_slices_are_warned_of(fitted):
    assert len(describing.small_slices(fitted)) == 6
    assert "6 of 6 slices" in describing.describe_small(fitted)
    assert describing.describe_small(model(((),), ())) is None


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
    [({"words": ["texas"]}, "texas"), ({"column": "sex"}, "sex"), ({"cluster": "speaker"}, "not fitted here")],
)
def test_what_cannot_be_reported_is_said(options, message):
    with pytest.raises(InputError, match=message):
        report(model(), quiet=True, **options)


def test_a_report_is_written_as_a_page_or_a_pdf_only(tmp_path):
    with pytest.raises(InputError, match=r"has to end in \.html or \.pdf"):
        report(model(), tmp_path / "r.docx", quiet=True)
    assert not list(tmp_path.iterdir())


def test_a_pdf_is_printed_by_the_browser(tmp_path):
    if printing.find_browser() is None and not os.environ.get("CI"):
        pytest.skip("there is no browser here: install chromium to print a report")
    path = tmp_path / "r.pdf"
    report(model(), path, words=["tax", SCRIPT], quiet=True)
    content = path.read_bytes()
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) >= 2
    assert [file.name for file in tmp_path.iterdir()] == ["r.pdf"]


def test_without_a_browser_no_pdf_is_printed(tmp_path, monkeypatch):
    monkeypatch.setattr(printing, "find_browser", lambda: None)
    with pytest.raises(InputError, match=r"no Chromium, Chrome or Edge here.*\.html"):
        Report("<p>").save(tmp_path / "r.pdf")
    assert not list(tmp_path.iterdir())


def test_a_browser_that_prints_nothing_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(printing, "find_browser", lambda: shutil.which("true"))
    with pytest.raises(LaplexError, match="true printed nothing"):
        Report("<p>").save(tmp_path / "r.pdf")


def test_fitted_vectors_report_on_themselves(tmp_path):
    asked = model()
    made = asked.report(tmp_path / "r.html", words="war", quiet=True)
    assert isinstance(made, Report)
    assert "“war”" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_numbers_are_lined_up_and_words_are_not():
    page = report(model(), words=["war"], column="party", quiet=True).html
    assert '<th class="number">distance</th>' in page
    assert "<th>word</th>" in page
    assert "<th>D, 2000<small>800 uses</small></th>" in page


def test_a_drawing_keeps_its_text_and_nothing_that_runs():
    frame = pd.DataFrame({"word": [SCRIPT, "tax"], "distance": [1.0, 2.0]})
    drawn = inline(plots.bars(frame), "one", "two words")
    root = ElementTree.fromstring(drawn)
    assert root.get("aria-label") == "two words"
    assert SCRIPT in "".join(root.itertext())
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    names = [element.get("id") for element in root.iter() if element.get("id")]
    assert all(name.startswith("one-") for name in names)
    used = set(re.findall(r"url\(#([^)]+)\)", drawn))
    assert used <= set(names)


def test_first_choices_are_sensible():
    asked = model()
    assert choosing.compared_columns(asked) == ["party", "year"]
    assert choosing.ordered_columns(asked) == ["year"]
    assert choosing.first_slice(asked) == {"party": "D", "year": "2000"}  # the largest, since none is large
    best = choosing.telling_words(asked, "party", 3)
    frame = asked.contrast("party", words=["tax", "war", "school", "army", "money", "child"])
    assert best == frame["word"].head(3).tolist()
    assert "the" not in choosing.telling_words(asked, most=9)


def test_the_threshold_leaves_about_a_thousand_words():
    counts = np.arange(5_000, 0, -1)[None].repeat(2, 0)
    slices = Slices(("party",), (("D",), ("R",)), np.empty(0, np.int32))
    vocabulary = lx.Vocabulary([f"w{i}" for i in range(5_000)], counts.sum(0))
    asked = lx.Embeddings.of([vocabulary], [np.ones((2, 5_000, 2))], slices=slices, counts=[counts])
    least = choosing.min_count(asked, "party")
    assert least in choosing.STEPS
    assert 1_000 <= (counts[0] >= least).sum() < 5_000
