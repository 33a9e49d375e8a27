"""The pages of the explorer, as Streamlit runs them: from the top at every click."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from laplex.embeddings import Embeddings
from laplex.errors import LaplexError
from laplex.explorer import address, loading, showing
from laplex.explorer.views import change, comparison, dimensions, map, overview, word
from laplex.reports import choosing

STYLE, ICON = (Path(__file__).with_name(name) for name in ("style.css", "icon.svg"))


PAGES: dict[str, Callable[[], None]] = {
    "overview": overview.show,
    "word": word.show,
    "contrast": comparison.show_contrast,
    "change": change.show,
    "dimensions": dimensions.show,
    "languages": word.show_languages,
    "map": map.show,
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
    fitted = loading.model()
    st.set_page_config(page_title=f"{loading.folder().stem} · laplex", page_icon=str(ICON), layout="wide")
    st.html(f"<style>{STYLE.read_text(encoding='utf-8')}</style>")
    pages = {
        name: st.Page(show, title=name.capitalize(), url_path=name, default=name == "overview")
        for name, show in PAGES.items()
        if has_page(fitted, name)
    }
    page = st.navigation(list(pages.values()), position="top", expanded=True)
    address.remember_pages(pages)
    try:
        page.run()
    except address.UnknownWordError as error:
        address.suggest_words(error)
    except LaplexError as error:
        st.info(showing.escape_markdown(str(error)[:1].upper() + str(error)[1:]) + ".", icon=":material/info:")


if __name__ == "__main__":  # which it is when Streamlit runs it
    main()
