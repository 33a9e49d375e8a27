"""The page of a word: its neighbors by slice, its frequency, its distances, passages, and its edges in the prior."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.errors import LaplexError
from laplex.explorer import address, loading, showing
from laplex.reports import choosing, describing

CHART_SIZE: dict[str, Any] = {"width": 440, "height": 250}  # pixels
MAX_LISTS = 24  # slices whose neighbors are shown at once


def show() -> None:
    """Draw the page."""
    fitted = loading.model()
    showing.heading("Word", "The words that are used like a word show what it means in each slice.")
    with address.controls():
        language = address.language_box(fitted)
        word = address.word_box(fitted, language)
        where = address.slice_boxes(fitted)
        k = int(st.number_input("Neighbors", 3, 50, 10, key="k", bind="query-params", width=130))
    _neighbors(fitted, word, language, where, k)
    left, right = st.columns(2, gap="large")
    with left:
        _frequency(fitted, word, language)
    with right:
        _distance(fitted, word, language)
    _passages(fitted, word, language)
    _prior(fitted, word, language, where)


def _neighbors(fitted: Embeddings, word: str, language: str | None, where: dict[str, Any], k: int) -> None:
    frame = fitted.neighbors(word, k, language=language, **where)
    showing.section(f"Words used like “{word}”")
    slices = fitted.chosen(where)
    if len(slices) > MAX_LISTS:
        st.caption(f"The first {MAX_LISTS} of {len(slices):,} slices. Choose values of the columns to see others.")
        slices = slices[:MAX_LISTS]
    if len(slices) > 1:
        st.html(
            '<p class="note"><b style="color: #e57a22">Orange</b>: a neighbor in this slice only. '
            "Faint: a neighbor in all slices. The bar and the number are the cosine similarity. "
            "Click a word to look at it.</p>"
        )
    columns = list(fitted.columns)
    keys = {fitted.rows.slices.keys[slice]: slice for slice in slices}
    shown = frame[[tuple(row) in keys for row in frame[columns].itertuples(index=False)]] if columns else frame
    index = fitted.language(language)
    uses = fitted.counts[index][:, fitted.id(word, index)]
    counts = {", ".join(key): int(uses[slice]) for key, slice in keys.items()}
    free = [name for name in columns if name not in where]
    ordered = [name for name in free if name in choosing.ordered_columns(fitted)]
    across = next(iter([*ordered, *free[::-1], *columns[::-1]]), None)
    groups = showing.neighbors_by_slice(shown, columns, across, counts, language)

    def pick(word: str, _: int) -> None:
        st.session_state["word"] = word

    showing.grid(groups, key="neighbors", pick=pick)
    code = showing.code_of_call("fitted.neighbors", word, k=k, language=language, **where)
    showing.download(frame, f"neighbors {word}", code, key="neighbors")


def _frequency(fitted: Embeddings, word: str, language: str | None) -> None:
    if len(fitted.slices) < 2:
        st.caption(f"{fitted.count(word, language):,} occurrences")
        return
    frame = count_frame(fitted, word, language)
    showing.section(
        "How often", f"{int(frame['count'].sum()):,} occurrences. The chart has occurrences per million words."
    )
    ordered = choosing.ordered_columns(fitted)
    if ordered and len(frame) > 2:
        others = [name for name in fitted.columns if name != ordered[0]]
        color = others[0] if len(others) == 1 else None
        shown = frame.drop(columns="tokens")
        chart = plots.lines(shown, x=ordered[0], y="per_million", color=color, **CHART_SIZE)
    else:
        named = frame[["per_million", "count"]].assign(slice=describing.slice_names(fitted))
        chart = plots.bars(named, x="per_million", y="slice", panels=[], width=CHART_SIZE["width"])
    showing.chart(chart, f"Occurrences of {word} per million words by slice")
    index = fitted.language(language)
    code = f"counts = fitted.counts[{index}]\nframe = fitted.slices.assign(\n    word={word!r},"
    code += f"\n    count=counts[:, fitted.id({word!r}, {index})],\n    tokens=counts.sum(1),\n)"
    code += '\nframe = frame.assign(per_million=1e6 * frame["count"] / frame["tokens"].clip(1))'
    showing.download(frame, f"counts {word}", code, key="counts")


def count_frame(fitted: Embeddings, word: str, language: str | None) -> pd.DataFrame:
    """How often the word occurs in each slice."""
    index = fitted.language(language)
    tokens = fitted.counts[index].sum(1)
    count = fitted.counts[index][:, fitted.id(word, index)]
    frame = fitted.slices.drop(columns="tokens").assign(word=word, count=count, tokens=tokens)
    return frame.assign(per_million=1e6 * count / tokens.clip(1))


def _distance(fitted: Embeddings, word: str, language: str | None) -> None:
    """How far the groups are apart, by period; or whichever of the two there is."""
    ordered, groups = choosing.ordered_columns(fitted), choosing.group_columns(fitted)
    if groups and ordered:
        _distance_along(fitted, word, language, groups[0], ordered[0])
    elif groups:
        showing.section("How far apart", f"The distance between the vectors of “{word}” at two values of {groups[0]}.")
        frame = fitted.distance(word, groups[0], language=language)
        chart = plots.bars(frame, y=groups[0], panels=[], width=CHART_SIZE["width"])
        showing.chart(chart, f"Distance of {word}")
        code = showing.code_of_call("fitted.distance", word, across=groups[0], language=language)
        showing.download(frame, f"distance {word}", code, key="distance")
    elif ordered:
        showing.section("How it changed", f"The similarity of “{word}” to itself at the first {ordered[0]}.")
        frame = fitted.trajectory(word, along=ordered[0], language=language)
        showing.chart(plots.lines(frame, x=ordered[0], **CHART_SIZE), f"Change of {word}")
        code = showing.code_of_call("fitted.trajectory", word, along=ordered[0], language=language)
        showing.download(frame, f"trajectory {word}", code, key="path")


def _distance_along(fitted: Embeddings, word: str, language: str | None, across: str, along: str) -> None:
    showing.section(
        f"How far apart, by {along}",
        f"The distance between the vectors of “{word}” at two values of {across}. Higher: used more differently.",
    )
    options: dict[str, Any] = {"across": across, "along": along, "language": language}
    label = "With intervals (takes a while the first time)"
    if loading.text() is not None and st.toggle(label, key="intervals", bind="query-params"):
        cluster = address.cluster_box(across, "distance_cluster")
        options |= {"interval": loading.INTERVAL, "cluster": cluster, "min_clusters": loading.MIN_CLUSTERS_OF_WORD}
        with st.spinner("Reading the text to estimate how certain that is …"):
            frame = loading.ask("distance", word, **options)
        measured = "estimate"
        st.caption("Estimates without sampling noise, with 90% intervals. Zero: no difference beyond chance.")
        if missing := list(dict.fromkeys(frame.loc[frame["estimate"].isna(), along].astype(str))):
            st.caption(
                showing.escape_markdown(f"Nothing for {', '.join(missing)}: too few speakers use the word there.")
            )
            if len(missing) == frame[along].nunique():
                return
    else:
        frame, measured = fitted.distance(word, **options), "distance"
    shown = frame.drop(columns=["n", "clusters_one", "clusters_two"], errors="ignore")
    color = across if shown[across].nunique() > 1 else None
    chart = plots.lines(shown, x=along, y=measured, color=color, **CHART_SIZE)
    showing.chart(chart, f"Distance of {word} by {along}")
    showing.download(
        frame, f"distance {word}", showing.code_of_call("fitted.distance", word, **options), key="distance"
    )


def _passages(fitted: Embeddings, word: str, language: str | None) -> None:
    tokens = loading.text()
    showing.section(
        "In the text", "Passages with words that are typical of its use in that slice. Rare words are left out."
    )
    if tokens is None:
        st.caption(showing.escape_markdown(f"Not here: {loading.missing_text()}"))
        return
    index = fitted.language(language)
    uses = fitted.counts[index][:, fitted.id(word, index)]
    slices = {name: slice for slice, name in enumerate(describing.slice_names(fitted)) if uses[slice]}
    if not slices:
        return
    name = max(slices, key=lambda name: int(uses[slices[name]]))
    if len(slices) > 1:
        names = list(slices)
        name = st.selectbox("Slice", names, index=names.index(name), key="passages", bind="query-params", width=260)
    slice = slices[name]
    passages = loading.typical_passages(fitted, tokens, word, slice, index)
    lines = [
        f'<p class="passage">{escape(passage.left)} <mark>{escape(passage.word)}</mark> {escape(passage.right)}</p>'
        for passage in passages
    ]
    st.html("".join(lines))
    arguments = (showing.CodeName("fitted"), showing.CodeName("tokens_of(fitted)"), word)
    call = showing.code_of_call("typical_passages", *arguments, slice=slice, language=index)
    code = "import pandas as pd\n\nfrom laplex.explorer.loading import typical_passages\n"
    code += f"from laplex.fitting.provenance import tokens_of\n\nframe = pd.DataFrame({call})"
    showing.download(pd.DataFrame(passages), f"passages {word}", code, key="passages")


def _prior(fitted: Embeddings, word: str, language: str | None, where: dict[str, Any]) -> None:
    box = st.expander("What the prior joins it to", key="graph", on_change="rerun", bind="query-params")
    if not box.open:
        return
    with box:
        try:
            chart = plots.graph(fitted, word, language=language, **where)
            showing.chart(chart, f"{word} in the graph of the prior")
            st.caption("Vectors that the prior assumes to be alike. The wider a line, the stronger the assumption.")
            call = showing.code_of_call("lx.plots.graph", showing.CodeName("fitted"), word, language=language, **where)
            showing.download(chart.frame, f"graph {word}", f"frame = {call}.frame", key="edges")
        except LaplexError as error:
            st.caption(showing.escape_markdown(str(error)))
