"""The overview of a model: its size, its slices, its prior and its fit."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.explorer import address, loading, showing
from laplex.reports import choosing, describing

MAX_BARS = 40
OFFERED_WORDS = 8


def show() -> None:
    """Draw the page."""
    fitted = loading.model()
    showing.heading(loading.folder().stem, describing.describe_size(fitted))
    _figures(fitted)
    if warning := describing.describe_small_slices(fitted):
        st.warning(showing.escape_markdown(warning), icon=":material/warning:")
    language = choosing.first_language(fitted)
    words = loading.first_words(OFFERED_WORDS, language)
    picked = st.pills(
        "Begin with a word",
        range(len(words)),
        format_func=lambda place: showing.escape_markdown(words[place]),
        key="_begin",
    )
    if picked is not None:
        address.go_to_word(words[picked], language)
    left, right = st.columns([1, 1], gap="large")
    with left:
        _slices(fitted)
        _history(fitted)
    with right:
        showing.section("The prior", "What the model assumes before it reads the text.")
        st.markdown(
            "\n".join(f"- {showing.escape_markdown(sentence)}" for sentence in describing.describe_prior(fitted))
        )
        showing.section("The fit")
        st.markdown("\n".join(f"- {showing.escape_markdown(sentence)}" for sentence in describing.describe_fit(fitted)))


def _figures(fitted: Embeddings) -> None:
    tokens = loading.text()
    held_out = fitted.history["held_out"].dropna() if "held_out" in fitted.history else pd.Series(dtype=float)
    figures = {
        "Running words": f"{int(sum(counts.sum() for counts in fitted.counts)):,}",
        "Documents": f"{tokens.documents:,}" if tokens is not None else None,
        "Vocabulary": f"{len(fitted):,}",
        "Slices": f"{len(fitted.slices):,}",
        "Dimensions": f"{fitted.dimensions}",
        "Held-out log likelihood": f"{held_out.iloc[-1]:.3f}".replace("-", "−") if len(held_out) else None,
    }
    with st.container(horizontal=True, gap="large", key="figures"):
        for name, value in figures.items():
            if value is not None:
                st.metric(name, value, width="content")


def _history(fitted: Embeddings) -> None:
    history = fitted.history.drop(columns="priors", errors="ignore")
    if history.empty:
        return
    showing.section("Training", "Held-out text is not trained on. It shows how well the model predicts new text.")
    showing.chart(plots.history(history), "Log likelihood by epoch")
    showing.download(history, "history", "fitted.history", key="history")


def _slices(fitted: Embeddings) -> None:
    showing.section(
        "The slices", "Running words in each slice. The more text a slice has, the more certain are its vectors."
    )
    frame = fitted.slices
    if len(frame) <= MAX_BARS:
        named = pd.DataFrame({"slice": describing.slice_names(fitted), "tokens": frame["tokens"]})
        showing.chart(plots.bars(named, x="tokens", y="slice", panels=[], width=400), "Tokens by slice")
    else:
        showing.table(frame)
    showing.download(frame, "slices", "fitted.slices", key="slices")
