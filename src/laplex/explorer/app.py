"""The pages of the explorer, as Streamlit runs them: from the top at every click. The first page is an overview."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.errors import LaplexError
from laplex.explorer import address, loading, showing
from laplex.explorer.views import change, comparison, dimensions, languages, map, word
from laplex.reports import choosing, describing
from laplex.reports.findings import sentence
from laplex.text.tokens import Tokens

STYLE, ICON = (Path(__file__).with_name(name) for name in ("style.css", "icon.svg"))
MAX_BARS = 40
OFFERED_WORDS = 8


def show_overview() -> None:
    """Draw the page of the size of a model, its slices, its prior and its fit."""
    fitted = loading.model()
    showing.heading(loading.folder().stem, describing.describe_size(fitted))
    _figures(fitted)
    if warning := describing.describe_small_slices(fitted):
        st.warning(showing.escape_markdown(warning), icon=":material/warning:")
    language = choosing.first_language(fitted)
    words = loading.first_words(fitted, OFFERED_WORDS, language)
    picked = showing.pills("Begin with a word", words, key="_begin")
    if picked is not None:
        address.go_to_word(words[picked], language)
    left, right = st.columns([1, 1], gap="large")
    with left:
        _found(fitted, language)
        showing.section("The slices", describing.SLICES_TEXT)
        if len(fitted.slices) <= MAX_BARS:
            showing.chart(describing.slices_chart(fitted), "Tokens by slice")
        else:
            showing.table(fitted.slices)
        showing.download(fitted.slices, "slices", "fitted.slices", key="slices")
        history = fitted.history.drop(columns="priors", errors="ignore")
        if not history.empty:
            text = "Held-out text is not trained on. It shows how well the model predicts new text."
            showing.section("Training", text)
            showing.chart(plots.history(history), "Log likelihood by epoch")
            showing.download(history, "history", "fitted.history", key="history")
    with right:
        showing.section("The prior", "What the model assumes before it reads the text.")
        showing.sentences(describing.describe_prior(fitted))
        showing.section("The fit")
        showing.sentences(describing.describe_fit(fitted))


def _found(fitted: Embeddings, language: str | None) -> None:
    """What the findings that are kept with the model say, a sentence for each column."""
    if stored := loading.stored_findings(fitted, language):
        showing.section("What was found")
        showing.sentences([sentence(frame.attrs["summary"]) for frame in stored.values()])


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


PAGES: dict[str, Callable[[], None]] = {
    "overview": show_overview,
    "word": word.show,
    "contrast": comparison.show_contrast,
    "change": change.show,
    "dimensions": dimensions.show,
    "languages": languages.show,
    "map": map.show,
}


NEEDS = {
    "contrast": "a column with groups to compare",
    "change": "a column with an order, such as periods of time",
    "languages": "several languages",
}


def has_page(fitted: Embeddings, name: str) -> bool:
    """Whether a page has anything to show for this model."""
    tests = choosing.inference(fitted)
    needs = {
        "contrast": [name for name in choosing.compared_columns(fitted) if tests.question(name) == "contrast"],
        "change": choosing.ordered_columns(fitted),
        "languages": fitted.languages[1:],
    }
    return bool(needs.get(name, True))


def main() -> None:
    """Run the page that the address names. It shows the message of an error instead of failing."""
    st.set_page_config(page_title=f"{' · '.join(loading.names())} · laplex", page_icon=str(ICON), layout="wide")
    st.html(f"<style>{STYLE.read_text(encoding='utf-8')}</style>")
    head = st.container(key="page_head", horizontal=True, vertical_alignment="bottom")
    with head:
        address.model_box()
    fitted = loading.model()
    pages = {
        name: st.Page(show, title=name.capitalize(), url_path=name, default=name == "overview")
        for name, show in PAGES.items()
    }
    page = st.navigation(list(pages.values()), position="hidden")
    shown = {name: each for name, each in pages.items() if has_page(fitted, name)}
    with head:
        address.show_links(shown, page)
    if page not in shown.values():
        showing.heading(page.title, f"This page needs a model with {NEEDS[page.url_path]}.")
        return
    try:
        page.run()
    except address.UnknownWordError as error:
        address.suggest_words(error)
    except LaplexError as error:
        st.info(showing.escape_markdown(str(error)[:1].upper() + str(error)[1:]) + ".", icon=":material/info:")


if __name__ == "__main__":  # which it is when Streamlit runs it
    main()
