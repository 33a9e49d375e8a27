"""Two pages on differences: the words that differ most between groups, and those that changed most over time."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.explorer import address, loading, showing
from laplex.explorer.loading import ask, code_of_call
from laplex.plots.frames import BETWEEN
from laplex.reports import choosing
from laplex.text.tokens import Tokens

ALL_WORDS = 1_000_000_000
TABLE_ROWS = 500
BARS = 20
TESTED_WORDS = (50, 100, 200, 500, 1_000, 5_000)  # more take longer
CHANGED_WORDS = 60
_TEST_HELP = (
    "Tests whether a difference would hold in another sample of text: an estimate without noise, a 90% interval, "
    "and p, adjusted for the number of words. A hundred words take some seconds, a thousand take minutes."
)


def show_contrast() -> None:
    """Draw the page of words that differ most between two groups."""
    fitted = loading.model()
    showing.heading("Contrast", "The words that are used most differently by two groups.")
    with address.controls():
        language = address.language_box(fitted)
        column = address.column_box(choosing.compared_columns(fitted), "column", "Compare the values of")
        where = address.slice_boxes(fitted, without=[column])
        default = choosing.min_count(fitted, column, language)
        least = address.slider("Used at least … times in each", choosing.MIN_COUNTS, default, "min_count", 260)
    with st.container(horizontal=True, vertical_alignment="center", key="switches"):
        content = st.toggle("Without function words and numbers", True, key="content", bind="query-params")
        most, test = _test_boxes(fitted, column)
    options: dict[str, Any] = {"language": language, "at": where}
    frame, _ = ask(fitted, "contrast", column, ALL_WORDS, min_count=least, **options)
    code = f"frame = {code_of_call('fitted.contrast', column, top=len(frame), min_count=least, **options)}"
    pair, pair_code = _choose_pair(frame, column)
    frame, code = frame[frame[column] == pair].reset_index(drop=True), code + pair_code
    if content:
        frame, content_code = _content_words(fitted, frame, language)
        code += content_code
    if test and len(frame):
        frame, code = _test(fitted, frame, column, most, options | test)
        frame, code = frame[frame[column] == pair].reset_index(drop=True), code + pair_code
    if frame.empty:
        st.info("No word is left: lower the number of uses.", icon=":material/filter_alt_off:")
        return
    _show_differences(frame, bool(test), language)
    _show_all_words(frame, code, column, language)


def _test_boxes(fitted: Embeddings, column: str) -> tuple[int, dict[str, Any]]:
    """The number of words to test, and the options of the test; none if there is no test."""
    tokens = loading.text(fitted)
    if not isinstance(tokens, Tokens):
        return 0, {}
    if not st.toggle("Test the differences", key="test", bind="query-params", help=_TEST_HELP):
        return 0, {}
    cluster = address.cluster_box(fitted, tokens, column, "cluster")
    most = address.slider("Words to test", TESTED_WORDS, TESTED_WORDS[0], "most")
    clusters = choosing.min_clusters(tokens, cluster) if cluster is not None else choosing.MAX_MIN_CLUSTERS
    options = {
        "cluster": cluster or "documents",
        "interval": loading.INTERVAL,
        "rank": "evidence",
        "min_clusters": clusters,
    }
    return most, options


def _choose_pair(frame: pd.DataFrame, column: str) -> tuple[str, str]:
    """The pair of values that is compared, and the code that selects it; no code if there is only one."""
    pairs = [str(pair) for pair in dict.fromkeys(frame[column])]
    if len(pairs) < 2:
        return next(iter(pairs), ""), ""
    pair = str(address.select("Between", pairs, "pair", width=320))
    return pair, f"\nframe = frame[frame[{column!r}] == {pair!r}]"


def _content_words(fitted: Embeddings, frame: pd.DataFrame, language: str | None) -> tuple[pd.DataFrame, str]:
    """The rows of content words, and the code that selects them."""
    code = '\nframe = frame[frame["word"].str.isalpha() & (frame["word"].str.len() > 2)]'
    if choosing.function_words(fitted, language):
        name = fitted.languages[fitted.language(language)] or "en"
        code += f'\nframe = frame[~frame["word"].isin(lx.lexicons.stop_words({name!r}))]'
    return frame[choosing.is_content_word(fitted, frame["word"], language)].reset_index(drop=True), code


def _test(
    fitted: Embeddings, frame: pd.DataFrame, column: str, most: int, options: dict[str, Any]
) -> tuple[pd.DataFrame, str]:
    """The most frequent words by the evidence that they differ, and the code. A choice by counts keeps p valid."""
    rarer = frame[["count_one", "count_two"]].min(axis=1)
    words = frame.loc[rarer.sort_values(ascending=False, kind="stable").index[:most], "word"].tolist()
    if len(frame) > most:
        showing.explain(f"The {most:,} most frequent of {len(frame):,} words are tested.")
    with st.spinner("Reading the text to test which differences would hold in another sample …", show_time=True):
        tested, code = ask(fitted, "contrast", column, words=words, **options)
    return tested[tested["estimate"].notna()], f'frame = {code}\nframe = frame[frame["estimate"].notna()]'


def _show_differences(frame: pd.DataFrame, tested: bool, language: str | None) -> None:
    left, right = st.columns([5, 7], gap="large")
    with left:
        showing.section("Most different")
        showing.chart(plots.bars(frame.head(BARS), panels=[], width=300), "The words that differ most")
    with right:
        if tested:
            found = f"{int((frame['p_adjusted'] <= 0.05).sum()):,} of {len(frame):,} words differ"
            text = f"{found} at a false discovery rate of 5%. Click a dot for its word."
            showing.section("How much, and how certain", text)
        else:
            text = "The prior holds rare words together. "
            text += "Look for words far to the right of others that are as frequent."
            showing.section("How much, and how often", text)
        chart = plots.volcano(frame, width=560, height=380)
        answer = showing.chart(chart, "Difference against evidence", key="volcano")
        if picked := answer["selection"].get("picked") if answer else None:
            address.go_to_word(str(picked[0]["_text"]), language)


def _show_all_words(frame: pd.DataFrame, code: str, column: str, language: str | None) -> None:
    showing.section("All words", "Click a row to look at the word.")
    one, two = str(frame[column].iloc[0]).split(BETWEEN)
    labels = {"count_one": f"uses, {one}", "count_two": f"uses, {two}", "clusters_one": f"speakers, {one}"}
    labels |= {"clusters_two": f"speakers, {two}", "p_adjusted": "p, adjusted", "n": "uses"}
    row = showing.table(frame.drop(columns=column).head(TABLE_ROWS), key="contrast_rows", height=420, **labels)
    if len(frame) > TABLE_ROWS:
        st.caption(f"The first {TABLE_ROWS:,} of {len(frame):,} words; the file has all of them.")
    showing.download(frame, f"contrast {column}", code, key="contrast")
    if row is not None:
        address.go_to_word(str(frame["word"].iloc[row]), language)


def show_change() -> None:
    """Draw the page of words that changed most."""
    fitted = loading.model()
    showing.heading("Change", "The words whose vectors moved farthest from the first period to the last.")
    with address.controls():
        language = address.language_box(fitted)
        along = address.column_box(choosing.ordered_columns(fitted), "along", "Along")
        where = address.slice_boxes(fitted, without=[along])
        default = max(choosing.min_count(fitted, along, language), choosing.MIN_COUNT_OF_CHANGE)
        least = address.slider("Used at least … times at both ends", choosing.MIN_COUNTS, default, "min_count", 260)
    options: dict[str, Any] = {"language": language, "at": where}
    frame, code = ask(fitted, "drift", along, top=3 * CHANGED_WORDS, min_count=least, **options)
    frame = frame[choosing.is_content_word(fitted, frame["word"], language)].head(CHANGED_WORDS).reset_index(drop=True)
    if frame.empty:
        st.info("No word is left: lower the number of uses.", icon=":material/filter_alt_off:")
        return
    text = "Distance: from the first period to the last. Path: the sum of all steps. Click a row to follow the word."
    showing.section("Most changed", text)
    labels = {"before": str(frame["from"][0]), "after": str(frame["to"][0])}
    row = showing.table(frame.drop(columns=["from", "to"]), key="drift_rows", height=360, **labels)
    showing.download(frame, f"drift {along}", code, key="drift")
    showing.section("The path of a word")
    with st.container(horizontal=True):
        word = address.word_box(fitted, language, key="moved", default=str(frame["word"].iloc[row or 0]))
    left, right = st.columns([1, 1], gap="large")
    with left:
        st.caption("Its path among its neighbors, in two dimensions. Hollow: not used then, placed by the prior.")
        showing.chart(plots.trajectory(fitted, word, along, **options), f"The path of {word}")
    with right:
        st.caption(f"Its similarity to itself at the first {along}.")
        path, code = ask(fitted, "trajectory", word, along=along, **options)
        showing.chart(plots.lines(path, x=along, width=400, height=220), f"Similarity of {word} to its first vector")
        showing.table(path[[*fitted.columns, "neighbors", "count"]])
    showing.download(path, f"trajectory {word}", code, key="path")
