"""Which words are used most differently?"""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.explorer import address, loading
from laplex.explorer.coding import call, literal
from laplex.explorer.showing import draw, heading, note, offer, section, table
from laplex.explorer.views.word import cluster_box
from laplex.plots.columns import BETWEEN
from laplex.report import choosing

SHOWN = 500  # rows of the table
BARS = 20
TESTED = (50, 100, 200, 500, 1_000, 5_000)  # words that may be tested; more take longer


def show() -> None:
    fitted = loading.model()
    heading(
        "Contrast",
        "The words whose vectors differ most between two groups: used in other company, meaning something else.",
    )
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        language = address.language_box(fitted)
        column = address.column_box(choosing.compared_columns(fitted), "column", "Compare the values of")
        where = address.slice_boxes(fitted, without=[column])
        least = int(
            st.select_slider(
                "Used at least … times in each",
                choosing.STEPS,
                choosing.min_count(fitted, column, language),
                key="min_count",
                bind="query-params",
                width=260,
            )
        )
    with st.container(horizontal=True, vertical_alignment="center", key="switches"):
        content = st.toggle("Without function words and numbers", True, key="content", bind="query-params")
        test = False
        if loading.text() is not None:
            test = st.toggle("Test the differences", key="test", bind="query-params", help=_HELP)
        cluster = cluster_box(column, "cluster") if test else None
        most = int(st.select_slider("Words to test", TESTED, key="most", bind="query-params", width=200)) if test else 0
    path = str(loading.folder())
    frame = loading.contrast(path, column, "euclidean", least, language, loading.fixed(where))
    code = call("fitted.contrast", column, top=len(frame), min_count=least, language=language, **where)
    frame, code = _filtered(fitted, frame, code, column, language, content)
    if test and len(frame):
        frame, code = _tested(frame, most, column, cluster, language, where)
    if frame.empty:
        st.info("No word is left: lower the number of uses.", icon=":material/filter_alt_off:")
        return
    _answer(frame, code, column, test)


_HELP = (
    "Asks whether a difference would hold in another sample of text: an estimate without noise, an interval of 90%, "
    "and p, adjusted for the number of words. Takes some seconds for a hundred words; a thousand take minutes."
)


def _tested(
    frame: pd.DataFrame, most: int, column: str, cluster: str | None, language: str | None, where: dict[str, Any]
) -> tuple[pd.DataFrame, str]:
    """The most frequent of the words, by the evidence that they differ: chosen by their counts, p stays what it is."""
    tokens = loading.text()
    clusters = choosing.min_clusters(tokens, cluster) if cluster is not None and tokens is not None else 25
    rarer = frame[["count_one", "count_two"]].min(axis=1)
    words = tuple(frame.loc[rarer.sort_values(ascending=False, kind="stable").index[:most], "word"])
    if len(frame) > most:
        note(f"Tested are the {most:,} most frequent of {len(frame):,} words.")
    with st.spinner("Reading the text to see which differences would hold in another sample …", show_time=True):
        found = loading.tested(str(loading.folder()), column, words, cluster, clusters, language, loading.fixed(where))
    options: dict[str, Any] = {"cluster": cluster, "interval": 0.9, "rank": "evidence", "min_clusters": clusters}
    code = f"frame = {call('fitted.contrast', column, words=list(words), **options, language=language, **where)}"
    pair = str(frame[column].iloc[0])
    kept = found[(found[column] == pair) & found["estimate"].notna()]
    if found[column].nunique() > 1:
        code += f"\nframe = frame[frame[{literal(column)}] == {literal(pair)}]"
    return kept.reset_index(drop=True), f'{code}\nframe = frame[frame["estimate"].notna()]'


def _filtered(
    fitted: Embeddings, frame: pd.DataFrame, code: str, column: str, language: str | None, content: bool
) -> tuple[pd.DataFrame, str]:
    """One pair of values, and words with a content."""
    code = f"frame = {code}"
    pairs = list(dict.fromkeys(frame[column]))
    if len(pairs) > 1:
        pair = str(st.selectbox("Between", pairs, key="pair", bind="query-params", width=320))
        frame = frame[frame[column] == pair]
        code += f"\nframe = frame[frame[{literal(column)}] == {literal(pair)}]"
    if content:
        without = choosing.function_words(fitted, language)
        frame = frame[choosing.has_content(frame["word"], without)]
        name = fitted.languages[fitted.language(language)] or "en"
        code += '\nframe = frame[frame["word"].str.isalpha() & (frame["word"].str.len() > 2)]'
        if without:
            code += f'\nframe = frame[~frame["word"].isin(lx.lexicons.stop_words({literal(name)}))]'
    return frame.reset_index(drop=True), code


def _answer(frame: pd.DataFrame, code: str, column: str, tested: bool) -> None:
    left, right = st.columns([5, 7], gap="large")
    with left:
        section("Most different")
        draw(plots.bars(frame.head(BARS), panels=[], width=300), alt="The words that differ most")
    with right:
        if tested:
            found = int((frame["p_adjusted"] <= 0.05).sum())
            section(
                "How much, and how sure", f"{found:,} of {len(frame):,} words differ at a false discovery rate of 5%."
            )
        else:
            section(
                "How much, and how often",
                "The prior holds rare words together. Look for words far to the right of others that are as frequent.",
            )
        chosen: Any = draw(
            plots.volcano(frame, width=560, height=380), alt="Difference against evidence", key="volcano", pick=True
        )
        picked = chosen["selection"].get("picked") if chosen else None
        if picked:
            address.go("word", word=str(picked[0]["_text"]))
    section("All words", "Click a row to look at the word.")
    one, two = str(frame[column].iloc[0]).split(BETWEEN)
    labels = {"count_one": f"uses, {one}", "count_two": f"uses, {two}", "clusters_one": f"speakers, {one}"}
    labels |= {"clusters_two": f"speakers, {two}", "p_adjusted": "p, adjusted", "n": "uses"}
    row = table(frame.drop(columns=column).head(SHOWN), key="contrast_rows", height=420, **labels)
    if len(frame) > SHOWN:
        st.caption(f"The first {SHOWN:,} of {len(frame):,}; the file has all.")
    offer(frame, f"contrast {column}", code, key="contrast")
    if row is not None:
        address.go("word", word=str(frame["word"].iloc[row]))
