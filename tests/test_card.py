"""What notebooks show: true, small, at once, and markup in it is never run."""

from __future__ import annotations

import time
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import laplex as lx
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
    assert page.tags <= {"div", "b", "table", "thead", "tbody", "tr", "th", "td"}
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
    context = pd.DataFrame({"word": ["men", SCRIPT, "gold"], "value": ["D", "D", "R"]})
    passages = pd.DataFrame({"value": ["D"], "before": ["in "], "word": ["uniform"], "after": [f", {IMAGE}"]})
    neighbors = pd.DataFrame({"value": ["D"], "neighbor": ["coat"], "similarity": [0.5]})
    found = lx.inference.Explanation("uniform", "party", ("D", "R"), 1.0, np.ones(2), context, neighbors, passages)
    texts = shown(found)
    assert texts[0] == "“uniform” by party: D and R"
    assert texts[-6:] == ["D", f"men, {SCRIPT}", "R", "gold", "D", f"… in uniform, {IMAGE} …"]


def test_a_large_model_is_shown_at_once(tmp_path):
    embeddings(words=120_000, years=8, dimensions=10).save(tmp_path / "m.laplex")
    model = lx.load(tmp_path / "m.laplex")
    started = time.process_time()
    html = model._repr_html_()
    assert time.process_time() - started < 0.2
    assert len(html) < 20_000


def test_a_long_text_is_cut():
    assert len(card("x" * 10_000, [])) < 1_000
