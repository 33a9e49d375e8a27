"""What a difference is made of: the context words and the passages of both sides, for a word that is looked into."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.explorer import address, loading, showing
from laplex.explorer.loading import code_of_call
from laplex.reports import choosing, describing
from laplex.reports.finding import JOINT, passages_by_side

PASSAGES = 3  # of each side


def show_explanation(
    fitted: Embeddings,
    frame: pd.DataFrame,
    question: str,
    column: str,
    word: str | None,
    shared: dict[str, Any],
    where: dict[str, Any],
) -> None:
    """Draw the panel of a word of one comparison: nothing if none is chosen."""
    if word is None:
        return
    value, against = (str(frame[name].iloc[0]) for name in ("value", "against"))
    with st.container(border=True, key="explanation"):
        showing.section(f"“{word}”, {describing.describe_comparison(question, value, against)}")
        _numbers(frame[frame["word"] == word], question)
        if (value, against) == JOINT:
            showing.explain("A joint test has no two sides: compare in pairs to see what the difference is made of.")
        else:
            values = None if question == "drift" else [value] if against == "rest" else [value, against]
            _sides(fitted, word, column, values, shared, where)
        if st.button(f"All about “{showing.escape_markdown(word)}”", key="_to_word", type="tertiary"):
            address.go_to_word(word, shared.get("language"))


def _numbers(rows: pd.DataFrame, question: str) -> None:
    """The finding in words; that there is none for a word that was not tested."""
    if rows.empty:
        showing.explain("It is not in the table: it has too few uses, or is left out as a function word.")
        return
    showing.explain(describing.describe_finding(question, rows.iloc[0].to_dict()))


def _sides(
    fitted: Embeddings,
    word: str,
    column: str,
    values: list[str] | None,
    shared: dict[str, Any],
    where: dict[str, Any],
) -> None:
    known = {name: value for name, value in shared.items() if value is not None and name != "exclude"}
    options: dict[str, Any] = {"values": values, "at": where, "passages": PASSAGES}
    try:
        with st.spinner("Reading the passages with the word …", show_time=True):
            found = loading.explain(fitted, word, column, known, options)
            ignored = () if "exclude" in shared else choosing.function_words(fitted, shared.get("language"))
            chart = found.plot(exclude=ignored)
    except InputError as error:
        st.caption(showing.escape_markdown(f"What it is made of cannot be shown: {error}."))
        return
    showing.explain(
        "Context words by their share of the difference, the surest of each side, with intervals. Faint: the interval "
        "reaches zero. Below, the passages that are most typical of each side."
    )
    showing.chart(chart, f"Context words of {word} on both sides")
    passages = passages_by_side(found)
    for place, side in zip(st.columns(2, gap="large"), passages):
        with place:
            st.markdown(f"**{showing.escape_markdown(side)}**")
            showing.passages(passages[side])
    name = code_of_call("fitted.inference", **known) if known else "fitted"
    code = f"found = {code_of_call(f'{name}.explain', word, column, **options)}\nframe = found.context"
    showing.download(found.context, f"explanation {word}", code, key="explanation")
