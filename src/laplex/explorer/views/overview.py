"""What is in this model?"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.explorer import address, loading
from laplex.explorer.showing import draw, heading, offer, plain, section, table
from laplex.report import choosing, describing

BARS = 40


def show() -> None:
    fitted = loading.model()
    heading(loading.folder().stem, describing.describe_size(fitted))
    _figures(fitted)
    if warning := describing.describe_small(fitted):
        st.warning(plain(warning), icon=":material/warning:")
    _doors(fitted)
    left, right = st.columns([1, 1], gap="large")
    with left:
        _slices(fitted)
        _history(fitted)
    with right:
        section("What was believed before reading")
        st.markdown("\n".join(f"- {plain(sentence)}" for sentence in describing.describe_prior(fitted)))
        section("How it was fitted")
        st.markdown("\n".join(f"- {plain(sentence)}" for sentence in describing.describe_fit(fitted)))


def _figures(fitted: Embeddings) -> None:
    tokens = loading.text()
    held_out = fitted.history["held_out"].dropna() if "held_out" in fitted.history else pd.Series(dtype=float)
    figures = [
        ("Running words", f"{int(sum(counts.sum() for counts in fitted.counts)):,}"),
        ("Documents", f"{tokens.documents:,}" if tokens is not None else None),
        ("Vocabulary", f"{len(fitted):,}"),
        ("Slices", f"{len(fitted.slices):,}"),
        ("Dimensions", f"{fitted.dimensions}"),
        ("Held-out log likelihood", f"{held_out.iloc[-1]:.3f}".replace("-", "−") if len(held_out) else None),
    ]
    with st.container(horizontal=True, gap="large", key="figures"):
        for name, value in figures:
            if value is not None:
                st.metric(name, value, width="content")


def _doors(fitted: Embeddings) -> None:
    """Where to begin."""
    language = choosing.first_language(fitted)
    words = loading.telling_words(8, language)
    picked = st.pills(
        "Begin with a word", range(len(words)), format_func=lambda place: plain(words[place]), key="_begin"
    )
    if picked is not None:
        address.go("word", word=words[picked], language=language)


def _history(fitted: Embeddings) -> None:
    history = fitted.history.drop(columns="priors", errors="ignore")
    if history.empty:
        return
    section("Training", "Text that was held out is predicted as well as the model will predict new text.")
    draw(plots.history(history), alt="Log likelihood by epoch")
    offer(history, "history", "fitted.history", key="history")


def _slices(fitted: Embeddings) -> None:
    section("The slices", "Running words in each. A vector is as sure as there is text behind it.")
    frame = fitted.slices
    labelled = frame.assign(slice=[", ".join(map(str, row[:-1])) or "all" for row in frame.itertuples(index=False)])
    if len(frame) <= BARS:
        draw(
            plots.bars(labelled[["slice", "tokens"]], x="tokens", y="slice", panels=[], width=400),
            alt="Tokens by slice",
        )
    else:
        table(frame)
    offer(frame, "slices", "fitted.slices", key="slices")
