"""The pages, as Streamlit runs them: from the top at every click."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from laplex.errors import LaplexError
from laplex.explorer import address, loading
from laplex.explorer.showing import plain
from laplex.explorer.views import change, contrast, dimensions, languages, map, overview, word
from laplex.report import choosing

STYLE, ICON = (Path(__file__).with_name(name) for name in ("style.css", "icon.svg"))


def asked(show: Callable[[], None]) -> Callable[[], None]:
    """A page that says what cannot be answered, instead of failing."""

    def page() -> None:
        try:
            show()
        except address.UnknownWordError as error:
            address.suggest(error)
        except LaplexError as error:
            st.info(plain(str(error)[:1].upper() + str(error)[1:]) + ".", icon=":material/info:")

    return page


def main() -> None:
    fitted = loading.model()
    st.set_page_config(page_title=f"{loading.folder().stem} · laplex", page_icon=str(ICON), layout="wide")
    st.html(f"<style>{STYLE.read_text(encoding='utf-8')}</style>")
    pages = {"overview": st.Page(asked(overview.show), title="Overview", url_path="overview", default=True)}
    pages["word"] = st.Page(asked(word.show), title="Word", url_path="word")
    if choosing.compared_columns(fitted):
        pages["contrast"] = st.Page(asked(contrast.show), title="Contrast", url_path="contrast")
    if choosing.ordered_columns(fitted):
        pages["change"] = st.Page(asked(change.show), title="Change", url_path="change")
    pages["dimensions"] = st.Page(asked(dimensions.show), title="Dimensions", url_path="dimensions")
    if len(fitted.languages) > 1:
        pages["languages"] = st.Page(asked(languages.show), title="Languages", url_path="languages")
    pages["map"] = st.Page(asked(map.show), title="Map", url_path="map")
    address.remember_pages(pages)
    page = st.navigation(list(pages.values()), position="top", expanded=True)
    address.follow_back()
    page.run()


if __name__ == "__main__":  # which it is when Streamlit runs it
    main()
