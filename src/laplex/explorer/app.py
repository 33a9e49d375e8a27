"""The pages of the explorer, as Streamlit runs them: from the top at every click."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from laplex.embeddings import Embeddings
from laplex.errors import LaplexError
from laplex.explorer import address, loading, showing
from laplex.explorer.views import change, comparison, dimensions, languages, map, overview, word
from laplex.reports import choosing

STYLE, ICON = (Path(__file__).with_name(name) for name in ("style.css", "icon.svg"))


PAGES: dict[str, Callable[[], None]] = {
    "overview": overview.show,
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
