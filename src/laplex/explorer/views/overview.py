"""The first page: the findings that a reader should see first, or why nothing holds; the numbers of the model below."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.explorer import address, loading, showing
from laplex.explorer.views.comparison import first_tested
from laplex.explorer.views.explained import Taken
from laplex.reports import choosing, describing
from laplex.reports.finding import Finding
from laplex.reports.findings import sentence
from laplex.reports.highlights import Nothing
from laplex.text.tokens import Tokens

MAX_BARS = 40
OFFERED_WORDS = 8
CHART_WORDS, CHART_WIDTH = 5, 130  # words of each side, and its pixels


def show() -> None:
    """Draw the page of what was found."""
    fitted = loading.model()
    language = choosing.first_language(fitted)
    showing.heading(describing.corpus_title(fitted, loading.folder().stem), describing.describe_size(fitted))
    shown = loading.highlights(fitted, language)
    slots = []
    if shown.findings:
        showing.section("What stands out", _summary(fitted, language))
        for number, found in enumerate(shown.findings):
            slots.append((found, _card(found, f"_finding_{number}", language)))
    for nothing in shown.nothing:
        _show_nothing(nothing, language)
    words = loading.first_words(fitted, OFFERED_WORDS, language)
    picked = showing.pills("Look up a word", words, key="_begin")
    if picked is not None:
        address.go_to_word(words[picked], language)
    _show_model(fitted)
    # last, because the text is read for them; words of one column after another, which share what is read
    for found, slot in sorted(slots, key=lambda pair: pair[0].column):
        with slot.container():
            _show_details(fitted, found, language)


def _summary(fitted: Embeddings, language: str | None) -> str:
    """What the findings that are kept with the model say, a sentence for each column."""
    stored = loading.stored_findings(fitted, language)
    return " ".join(sentence(frame.attrs["summary"]) for frame in stored.values() if frame["holds"].any())


def _card(found: Finding, key: str, language: str | None) -> Any:
    """A finding as a sentence that opens it, and the place of its chart and passages."""
    with st.container(border=True, key=f"card{key}"):
        _show_link(found, key, language)
        showing.explain(f"{found.evidence} {found.sizes}")
        return st.empty()


def _show_link(found: Finding, key: str, language: str | None) -> None:
    """The sentence of a finding; a click opens it on the page of its question."""
    word, claim = (showing.escape_markdown(text) for text in (found.word, found.claim))
    if st.button(f"**“{word}”** {claim}", key=key, type="tertiary", wrap=True, width="stretch"):
        page, box = ("change", "along") if found.question == "drift" else ("contrast", "column")
        first = first_tested(loading.model(), found.question, language)[0]
        # the page would take what it begins with out of its address, and the back button would lead there
        column = {} if found.column == first else {box: found.column}
        address.go_to(page, language, {**column, "explained": found.word})


def _show_details(fitted: Embeddings, found: Finding, language: str | None) -> None:
    """The context words of both sides as a chart, and a passage of each; nothing if the text is not at hand."""
    taken = Taken(fitted, {"language": language})
    try:
        explanation = taken.apart(found, passages=1)
        chart = taken.drawing(explanation, CHART_WORDS, CHART_WIDTH)
    except InputError:
        return
    text, drawing = st.columns([6, 5], gap="large")
    with text:
        for side in taken.sides(found, explanation):
            showing.side(side["name"])
            showing.passages(side["passages"])
    with drawing:
        showing.chart(chart, f"Context words of {found.word} on both sides, by their share of the difference")


def _show_nothing(nothing: Nothing, language: str | None) -> None:
    """That nothing holds about a column, why, and what comes nearest."""
    title = f"{nothing.column}: nothing holds" if nothing.column else "Nothing to compare"
    showing.section(title[:1].upper() + title[1:])
    showing.sentences(nothing.sentences)
    if nothing.nearest:
        showing.label("What comes nearest, none of which is a finding")
        for number, found in enumerate(nothing.nearest):
            _show_link(found, f"_nearest_{nothing.column}_{number}", language)
            showing.explain(found.evidence)


def _show_model(fitted: Embeddings) -> None:
    """The numbers of the model, below what it says."""
    if warning := describing.describe_small_slices(fitted):
        showing.warnings([warning])
    with st.expander("The model: its text, prior and fit", key="about_model"):
        _figures(fitted)
        left, right = st.columns([1, 1], gap="large")
        with left:
            showing.section("The slices", describing.SLICES_TEXT)
            if len(fitted.slices) <= MAX_BARS:
                showing.chart(describing.slices_chart(fitted), "Tokens by slice")
            else:
                showing.table(fitted.slices)
            showing.download(fitted.slices, "slices", "frame = fitted.slices", key="slices")
        with right:
            showing.section("The prior", "What the model assumes before it reads the text.")
            showing.sentences(describing.describe_prior(fitted))
            showing.section("The fit")
            showing.sentences(describing.describe_fit(fitted))
            _show_training(fitted)


def _show_training(fitted: Embeddings) -> None:
    history = fitted.history.drop(columns="priors", errors="ignore")
    if not history.empty:
        text = "Held-out text is not trained on. It shows how well the model predicts new text."
        showing.section("Training", text)
        showing.chart(plots.history(history), "Log likelihood by epoch")
        showing.download(history, "history", "frame = fitted.history", key="history")


def _figures(fitted: Embeddings) -> None:
    tokens = loading.text(fitted)
    held_out = fitted.history["held_out"].dropna() if "held_out" in fitted.history else pd.Series(dtype=float)
    figures = {
        "Running words": f"{int(sum(counts.sum() for counts in fitted.counts)):,}",
        "Documents": f"{tokens.documents:,}" if isinstance(tokens, Tokens) else None,
        "Vocabulary": f"{len(fitted):,}",
        "Slices": f"{len(fitted.slices):,}",
        "Dimensions": f"{fitted.dimensions}",
        "Held-out log likelihood": f"{held_out.iloc[-1]:.3f}".replace("-", "−") if len(held_out) else None,
    }
    with st.container(horizontal=True, gap="large", key="figures"):
        for name, value in figures.items():
            if value is not None:
                st.metric(name, value, width="content")
