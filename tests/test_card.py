"""What notebooks show: true, small, at once, and markup in it is never run."""

from __future__ import annotations

import pickle
import time
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from reported import fit_speeches

import laplex as lx
from laplex.inference.table import FindingsTable
from laplex.runtime.display import CARD_ROWS, card
from laplex.text.slices import Slices

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'


class Page(HTMLParser):
    """Its tags, the names of their attributes, and its cells."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.texts = set(), set(), []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.texts.append(data)


def shown(thing):
    page = Page(thing._repr_html_())
    assert page.tags <= {"div", "b", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"}
    assert page.attributes <= {"style"}
    return page.texts


def embeddings(words=3, years=2, languages=("",), dimensions=4):
    slices = Slices(("party", IMAGE), tuple((SCRIPT, str(2000 + i)) for i in range(years)), np.empty(0, np.int32))
    counts = [np.tile(np.arange(words, 0, -1), (years, 1)) for _ in languages]
    vocabularies = [lx.Vocabulary([f"w{i}" for i in range(words)], counts[0].sum(0), name) for name in languages]
    vectors = [np.zeros((years, words, dimensions), np.float32) for _ in languages]
    return lx.Embeddings.of(vocabularies, vectors, slices=slices, counts=counts)


def test_a_corpus_is_counted_only_if_it_was_before():
    rows = [{"text": "a b", "party": SCRIPT}, {"text": "c", "party": IMAGE}]
    corpus = lx.read(rows, metadata=["party"])
    assert shown(corpus) == [
        "Corpus of a list of documents",
        *("metadata", "party"),
        *("documents", "not counted yet: print it to do so"),
    ]
    corpus.summary(quiet=True)
    texts = shown(corpus)
    assert texts[1:5] == ["documents", "2", "tokens", "3"]
    assert texts[5:] == ["party", f"{IMAGE} (1), {SCRIPT} (1)"]


def test_the_languages_of_a_corpus_are_shown():
    corpus = lx.read([{"text": "a"}], language="en") + lx.read([{"text": "b"}], language=SCRIPT)
    corpus.summary(quiet=True)
    assert f"{SCRIPT} (1), en (1)" in shown(corpus)


def test_the_demo_has_a_name_and_no_path():
    corpus = lx.demo()
    for text in (repr(corpus), shown(corpus)[0]):
        assert text.startswith("Corpus of the State of the Union addresses")
        assert "parquet" not in text
    assert str(corpus.where(year=1790)).startswith("Corpus of the State of the Union addresses\n  9 documents")
    with pytest.raises(lx.InputError, match="in the State of the Union addresses"):
        corpus.where(chamber="house")


def test_a_model_shows_all_its_choices():
    model = lx.Model(vary=[SCRIPT], prior=lx.Ridge(1.0) + lx.Groups(SCRIPT, 10.0), dimensions=50)
    texts = shown(model)
    assert texts[1:4] == ["prior", repr(lx.Ridge(1.0)), repr(lx.Groups(SCRIPT, 10.0))]
    pairs = dict(zip(texts[4::2], texts[5::2]))
    assert pairs["vary"] == SCRIPT
    assert pairs["dimensions"] == "50"
    assert pairs["subsample"] == "0.001"


def test_embeddings_show_their_slices():
    texts = shown(embeddings())
    assert texts[:5] == [f"Embeddings by party, {IMAGE}", "words", "3", "dimensions", "4"]
    assert texts[5:] == ["party", IMAGE, "tokens", SCRIPT, "2000", "6", SCRIPT, "2001", "6"]
    assert "… and 8 more" in shown(embeddings(years=CARD_ROWS + 8))
    assert "3 of en, 3 of it" in shown(embeddings(languages=("en", "it")))


def test_fitted_embeddings_show_how_they_were_fitted():
    rows = [{"text": "a b c d " * 5} for _ in range(20)]
    model = lx.Model(dimensions=4, subsample=0)
    fitted = lx.fit(model, lx.read(rows), min_count=1, epochs=2, holdout=0.2, threads=1, quiet=True)
    texts = shown(fitted)
    pairs = dict(zip(texts[1::2], texts[2::2]))
    assert pairs["prior"] == repr(model.prior)
    assert pairs["training"] == f"2 epochs, held-out log likelihood {fitted.history['held_out'].iloc[-1]:.3f} a token"


def test_an_explanation_shows_both_sides():
    numbers = {"contribution": [0.5, 0.2, 0.1], "lower": [0.4, 0.1, 0.0], "upper": [0.6, 0.3, 0.2]}
    uses = {"uses": [9, 4, 3], "uses_other": [1, 0, 2]}
    context = pd.DataFrame({"word": ["men", SCRIPT, "gold"], "value": ["D", "D", "R"], **numbers, **uses})
    passages = pd.DataFrame({"value": ["D"], "before": ["in "], "word": ["uniform"], "after": [f", {IMAGE}"]})
    neighbors = pd.DataFrame({"value": ["D"], "neighbor": [IMAGE], "similarity": [0.5]})
    found = lx.inference.Explanation("uniform", "party", ("D", "R"), 1.0, np.ones(2), context, neighbors, passages)
    texts = shown(found)
    assert texts[0] == "“uniform” by party: D and R"
    assert texts[5:9] == ["D", "men", "0.5 (0.4 to 0.6)", "9 / 1"]
    assert texts[9:11] == ["D", SCRIPT]
    assert IMAGE in texts[texts.index("D: words towards which its vector lies") :]
    assert texts[-3:] == ["1 passages", "D", f"… in uniform, {IMAGE} …"]


def findings(rows=30, question="contrast"):
    """A table of findings whose first word is markup."""
    frame = pd.DataFrame(
        {
            **{"word": [SCRIPT, *(f"w{i}" for i in range(1, rows))], "value": "D", "against": "rest"},
            **{"estimate": np.linspace(2, 0.1, rows), "lower": 0.1, "upper": 3.0, "p": 0.001, "p_adjusted": 0.01},
            **{"holds": True, "uses": 20, "uses_against": 30, "units": 5, "units_against": 6},
            **{"context": IMAGE, "context_against": "gold", "permutations": 999},
        }
    )
    frame.attrs |= {"summary": f"{rows} words differ", "question": question}
    return FindingsTable.of(frame)


def test_findings_are_shown_as_a_card_with_all_below():
    table = findings()
    page = Page(table._repr_html_())
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert page.texts[0] == "30 words differ"
    assert page.texts[1:7] == ["word", "difference", "adjusted p", "holds", "found with: D", "found with: the rest"]
    assert page.texts[7:13] == [SCRIPT, "2.00 (0.10 to 3.00)", "0.01", "yes", IMAGE, "gold"]
    assert f"Rows {CARD_ROWS + 1} to 30 of 30" in page.texts
    assert "w29" in page.texts
    assert "All 16 columns of the first rows" in page.texts
    assert "found with: earlier" in Page(findings(question="drift")._repr_html_()).texts
    assert "Rows" not in " ".join(Page(findings(5)._repr_html_()).texts)


def test_a_card_of_findings_says_what_is_compared_and_what_was_not_tested():
    table = findings(3)
    table["against"] = ["rest", "R", "rest"]
    table.loc[2, ["estimate", "lower", "upper", "p", "p_adjusted"]] = np.nan
    table["holds"] = [True, False, False]
    texts = Page(table._repr_html_()).texts
    assert {"compared", "D – the rest", "D – R", "found with: one side", "not tested", "no"} <= {*texts}
    coefficients = FindingsTable.of(table.rename(columns={"value": "term", "against": "level"}))
    assert "D – R" in Page(coefficients._repr_html_()).texts
    assert Page(FindingsTable.of(table.head(0))._repr_html_()).texts


def test_a_table_of_findings_is_a_frame_like_any_other():
    table = findings()
    plain = pd.DataFrame(table)
    for made in (table.head(3), table[table["holds"]], table.copy(), table.assign(x=1), pd.concat([table, table])):
        assert type(made) is pd.DataFrame
    assert table.head(3).attrs == table.attrs
    again = pickle.loads(pickle.dumps(table))
    assert (type(again), again.attrs) == (FindingsTable, table.attrs)
    pd.testing.assert_frame_equal(pd.DataFrame(again), plain)
    assert pl.from_pandas(table).equals(pl.from_pandas(plain))
    assert pl.DataFrame(table).shape == plain.shape
    assert table.to_csv() == plain.to_csv()
    assert repr(table) == repr(plain)


def test_a_fitted_model_shows_its_findings(tmp_path):
    fitted = fit_speeches(tmp_path, {"R": SCRIPT})
    texts = shown(fitted)
    found = fitted.inference(quiet=True).contrast("party")
    assert isinstance(found, FindingsTable)
    assert any(text.startswith("“health” differs by party: with “") and f"({SCRIPT})" in text for text in texts)
    assert any(text.startswith(f"Difference {found.iloc[0]['estimate']:.2f} (90% interval") for text in texts)
    assert any("words is shown to change along year" in text for text in texts)
    assert texts[texts.index("Tokens by slice") + 1 :][:3] == ["party", "year", "tokens"]


def test_a_large_model_is_shown_at_once(tmp_path):
    embeddings(words=120_000, years=8, dimensions=10).save(tmp_path / "m.laplex")
    model = lx.load(tmp_path / "m.laplex")
    started = time.process_time()
    html = model._repr_html_()
    assert time.process_time() - started < 0.2
    assert len(html) < 20_000


def test_a_long_text_is_cut():
    assert len(card("x" * 10_000, [])) < 1_000
