"""What does a word mean, here and there, then and now?"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.errors import LaplexError
from laplex.explorer import address, loading
from laplex.explorer.coding import Name, call, literal
from laplex.explorer.grid import by_slice, show_grid
from laplex.explorer.passages import typical_passages
from laplex.explorer.showing import draw, heading, offer, plain, section
from laplex.plots.network import edges
from laplex.report import choosing

WIDE, HIGH = 440, 250  # pixels of a chart
LISTS = 24  # slices whose neighbors are shown at once
INTEGERS = ("n", "clusters_one", "clusters_two")


def show() -> None:
    fitted = loading.model()
    heading("Word", "A word is known by the words that are used like it. Where those differ, its meaning does.")
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        language = address.language_box(fitted)
        word = address.word_box(fitted, language)
        where = address.slice_boxes(fitted)
        k = int(st.number_input("Neighbors", 3, 50, 10, key="k", bind="query-params", width=130))
    _neighbors(fitted, word, language, where, k)
    left, right = st.columns(2, gap="large")
    with left:
        _counts(fitted, word, language)
    with right:
        _distance(fitted, word, language)
    _passages(fitted, word, language)
    _graph(fitted, word, language, where)


def slices_of(fitted: Embeddings, where: dict[str, Any]) -> list[int]:
    """The slices that are shown; those with most text, if there are too many."""
    chosen = fitted.chosen(where)
    if len(chosen) > LISTS:
        st.caption(
            f"{len(chosen):,} slices: choose some by their values to see all of them. The first {LISTS} are shown."
        )
    return chosen[:LISTS]


def _neighbors(fitted: Embeddings, word: str, language: str | None, where: dict[str, Any], k: int) -> None:
    frame = fitted.neighbors(word, k, language=language, **where)
    section(f"Words used like “{word}”")
    shown = slices_of(fitted, where)
    columns = list(fitted.columns)
    if len(shown) > 1:
        st.html(
            '<p class="note"><b style="color: #e57a22">Orange</b>: a neighbor in this slice only. '
            "Faint: in all of them. The bar and the number are the cosine similarity. Click a word to look at it.</p>"
        )
    keys = [fitted.rows.slices.keys[slice] for slice in shown]
    wanted = frame[[tuple(row) in set(keys) for row in frame[columns].itertuples(index=False)]] if columns else frame
    index = fitted.language(language)
    uses = fitted.counts[index][:, fitted.id(word, index)]
    counts = {", ".join(key): int(uses[slice]) for slice, key in zip(shown, keys)}
    ordered = [name for name in columns if name not in where and name in choosing.ordered_columns(fitted)]
    free = [name for name in columns if name not in where]
    across = ordered[0] if ordered else free[-1] if free else columns[-1] if columns else None
    groups = by_slice(wanted, columns, across, counts)
    languages = [language] * max(len(group["lists"]) for group in groups)
    show_grid(groups, key="neighbors", languages=languages, pick=_look_at)
    code = call("fitted.neighbors", word, k=k, language=language, **where)
    offer(frame, f"neighbors {word}", code, key="neighbors")


def _look_at(word: str, _: int) -> None:
    st.session_state["word"] = word


def _counts(fitted: Embeddings, word: str, language: str | None) -> None:
    if len(fitted.slices) < 2:
        st.caption(f"{fitted.count(word, language):,} occurrences")
        return
    frame = count_frame(fitted, word, language)
    section("How often", f"{int(frame['count'].sum()):,} occurrences, for each million running words of a slice.")
    ordered = choosing.ordered_columns(fitted)
    shown = frame.drop(columns="tokens")
    if ordered and len(frame) > 2:
        others = [name for name in fitted.columns if name != ordered[0]]
        color = others[0] if len(others) == 1 else None
        chart = plots.lines(shown, x=ordered[0], y="per_million", color=color, width=WIDE, height=HIGH)
    else:
        named = shown.assign(
            slice=[", ".join(map(str, key)) for key in shown[list(fitted.columns)].itertuples(index=False)]
        )
        chart = plots.bars(named[["slice", "per_million", "count"]], x="per_million", y="slice", panels=[], width=WIDE)
    draw(chart, alt=f"Occurrences of {word} per million words by slice")
    index = fitted.language(language)
    code = f"counts = fitted.counts[{index}]\nframe = fitted.slices.assign(\n    word={literal(word)},"
    code += f"\n    count=counts[:, fitted.id({literal(word)}, {index})],\n    tokens=counts.sum(1),\n)"
    code += '\nframe = frame.assign(per_million=1e6 * frame["count"] / frame["tokens"].clip(1))'
    offer(frame, f"counts {word}", code, key="counts")


def count_frame(fitted: Embeddings, word: str, language: str | None) -> pd.DataFrame:
    """How often the word occurs in each slice."""
    index = fitted.language(language)
    tokens = fitted.counts[index].sum(1)
    count = fitted.counts[index][:, fitted.id(word, index)]
    frame = fitted.slices.drop(columns="tokens").assign(word=word, count=count, tokens=tokens)
    return frame.assign(per_million=1e6 * count / tokens.clip(1))


def _distance(fitted: Embeddings, word: str, language: str | None) -> None:
    compared, ordered = choosing.compared_columns(fitted), choosing.ordered_columns(fitted)
    groups = [name for name in compared if name not in ordered]
    if groups and ordered:
        _distance_along(fitted, word, language, groups[0], ordered[0])
    elif groups:
        section(f"How far apart the values of {groups[0]} are")
        frame = fitted.distance(word, groups[0], language=language)
        draw(plots.bars(frame, y=groups[0], panels=[], width=WIDE), alt=f"Distance of {word}")
        offer(
            frame,
            f"distance {word}",
            call("fitted.distance", word, across=groups[0], language=language),
            key="distance",
        )
    elif ordered:
        section("How it changed", f"The similarity of “{word}” to itself at the first {ordered[0]}.")
        frame = fitted.trajectory(word, along=ordered[0], language=language)
        draw(plots.lines(frame, x=ordered[0], width=WIDE, height=HIGH), alt=f"Change of {word}")
        offer(
            frame,
            f"trajectory {word}",
            call("fitted.trajectory", word, along=ordered[0], language=language),
            key="path",
        )


def _distance_along(fitted: Embeddings, word: str, language: str | None, across: str, along: str) -> None:
    section(
        f"How far apart, by {along}",
        f"The distance between the vectors of “{word}” at two values of {across}. Higher: used more differently.",
    )
    frame: Any = fitted.distance(word, across, along, language=language)
    code = call("fitted.distance", word, across=across, along=along, language=language)
    measured = "distance"
    if loading.text() is not None and st.toggle(
        "With intervals (takes a while the first time)", key="intervals", bind="query-params"
    ):
        cluster = cluster_box(across, "distance_cluster")
        with st.spinner("Reading the text to see how sure that is …"):
            frame = loading.tested_distance(str(loading.folder()), word, across, along, cluster, language)
        code = call(
            "fitted.distance",
            word,
            across=across,
            along=along,
            interval=0.9,
            cluster=cluster,
            min_clusters=loading.FEW_CLUSTERS,
            language=language,
        )
        measured = "estimate"
        st.caption("Estimate without sampling noise, and 90% intervals. Zero: no difference can be told from chance.")
        if lacking := list(dict.fromkeys(frame.loc[frame["estimate"].isna(), along].astype(str))):
            st.caption(plain(f"Nothing for {', '.join(lacking)}: too few use the word there to say how sure it is."))
            if len(lacking) == frame[along].nunique():
                return
    shown = frame.drop(columns=[name for name in INTEGERS if name in frame])
    draw(
        plots.lines(
            shown, x=along, y=measured, color=across if shown[across].nunique() > 1 else None, width=WIDE, height=HIGH
        ),
        alt=f"Distance of {word} by {along}",
    )
    offer(frame, f"distance {word}", code, key="distance")


def cluster_box(column: str, key: str) -> str | None:
    """Who speaks: the column whose values are drawn together."""
    names = loading.clusters(column)
    if not names:
        return None
    likely = loading.likely_cluster(column)
    none = "each document on its own"
    options = [*names, none]
    chosen = st.selectbox(
        "Who speaks",
        options,
        index=options.index(likely) if likely else len(names),
        key=key,
        bind="query-params",
        help="Texts by the same speaker are alike. Naming the column with the speakers keeps one talkative speaker "
        "from looking like a difference between groups.",
        width=260,
    )
    return None if chosen == none else str(chosen)


def _passages(fitted: Embeddings, word: str, language: str | None) -> None:
    tokens = loading.text()
    section("In the text", "Passages whose words are most typical of the word in that slice. Rare words are left out.")
    if tokens is None:
        st.caption(plain(f"Not here: {loading.missing_text()}"))
        return
    index = fitted.language(language)
    uses = fitted.counts[index][:, fitted.id(word, index)]
    keys = [", ".join(key) or "all" for key in fitted.rows.slices.keys]
    used: Sequence[int] = [slice for slice in range(len(keys)) if uses[slice]]
    if not used:
        return
    best = max(used, key=lambda slice: int(uses[slice]))
    slice = best
    if len(used) > 1:
        options = [keys[slice] for slice in used]
        chosen = st.selectbox("Slice", options, index=used.index(best), key="passages", bind="query-params", width=260)
        slice = used[options.index(str(chosen))]
    passages = typical_passages(fitted, tokens, word, slice, index)
    lines = [
        f'<p class="passage">{escape(found.left)} <mark>{escape(found.word)}</mark> {escape(found.right)}</p>'
        for found in passages
    ]
    st.html("".join(lines))
    code = "import pandas as pd\n\nfrom laplex.explorer.passages import typical_passages\n"
    code += "from laplex.provenance import tokens_of\n\n"
    asked = call("typical_passages", Name("fitted"), Name("tokens_of(fitted)"), word, slice=slice, language=index)
    offer(pd.DataFrame(passages), f"passages {word}", f"{code}frame = pd.DataFrame({asked})", key="passages")


def _graph(fitted: Embeddings, word: str, language: str | None, where: dict[str, Any]) -> None:
    opened = st.expander("What the prior joins it to", key="graph", on_change="rerun", bind="query-params")
    if not opened.open:
        return
    with opened:
        try:
            draw(plots.graph(fitted, word, language=language, **where), alt=f"{word} in the graph of the prior")
            st.caption("Vectors that the model believes to be alike before it reads. Wider lines are stronger beliefs.")
            asked = call("edges", Name("fitted"), word, language=language, **where)
            code = f"from laplex.plots.network import edges\n\nframe = {asked}"
            offer(edges(fitted, word, language=language, **where), f"graph {word}", code, key="edges")
        except LaplexError as error:
            st.caption(plain(str(error)))
