"""The page of a word: its neighbors, frequency, findings, passages and edges in the prior."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.errors import InputError, LaplexError
from laplex.explorer import address, loading, showing
from laplex.explorer.loading import CodeName, ask, code_of_call
from laplex.explorer.views.passages import show_passages
from laplex.fitting.provenance import value_name
from laplex.plots.frames import BETWEEN
from laplex.reports import choosing, describing
from laplex.reports.finding import finding
from laplex.text.periods import in_order
from laplex.text.tokens import Tokens

CHART_SIZE: dict[str, Any] = {"width": 440, "height": 250}  # pixels
MAX_LISTS = 24  # slices whose neighbors are shown at once
FEW_USES = 20  # of the word in a slice, whose neighbors say little then


def show() -> None:
    """Draw the page of a word."""
    fitted = loading.model()
    showing.heading("Word", "The words that are used like a word show what it means in each slice.")
    with address.controls():
        language = address.language_box(fitted)
        word = address.word_box(fitted, language)
        where = address.slice_boxes(fitted)
        k = int(st.number_input("Neighbors", 3, 50, 10, key="k", bind="query-params", width=130))
    status, lists = _neighbors(fitted, word, language, where, k)
    _other_models(word, language, where, k)
    left, right = st.columns(2, gap="large")
    with left:
        _frequency(fitted, word, language)
    with right:
        _findings(fitted, word, language)
    passages = st.container()
    _prior(fitted, word, language, where)
    # what reads the text comes last, so that nothing else waits for it
    with passages:
        show_passages(fitted, word, language)
    if lists is not None:
        _intervals(fitted, word, language, where, k, status, lists)


def _neighbors(fitted: Embeddings, word: str, language: str | None, where: dict[str, Any], k: int) -> tuple[Any, Any]:
    """The neighbors by the fitted vectors; where those with intervals take their place, None if they are not wanted."""
    frame, code = ask(fitted, "neighbors", word, k=k, language=language, at=where)
    showing.section(f"Words used like “{word}”")
    slices = fitted.chosen(where)
    if len(slices) > MAX_LISTS:
        st.caption(f"The first {MAX_LISTS} of {len(slices):,} slices. Choose values of the columns to see others.")
    if len(slices) > 1:
        st.html(
            '<p class="note"><b style="color: #e57a22">Orange</b>: a neighbor in this slice only. '
            "Faint: a neighbor in all slices. The bar and the number are the cosine similarity. Pale lists are of "
            f"slices with fewer than {FEW_USES} uses of the word, and say little. Click a word to look at it.</p>"
        )
    wanted = isinstance(loading.text(fitted), Tokens) and st.toggle(
        "Intervals (reads the text)", key="intervals", bind="query-params"
    )
    status, lists = st.container(), st.empty()
    with lists.container():
        _show_lists(fitted, word, language, where, frame, "neighbors")
        showing.download(frame, f"neighbors {word}", code, key="neighbors")
    return status, lists if wanted else None


def _intervals(
    fitted: Embeddings, word: str, language: str | None, where: dict[str, Any], k: int, status: Any, lists: Any
) -> None:
    """The neighbors with intervals, in the place of those without."""
    with status:
        try:
            answer = loading.find(fitted, "neighbors", word, k=k, at=where, shared={"language": language})
        except InputError as error:
            st.caption(showing.escape_markdown(f"No intervals: {error}."))
            return
        tests = choosing.inference(fitted, language)
        showing.explain(
            f"Numbers: where the cosine similarity would be in {tests.interval:.0%} of other samples, without the "
            f"noise that draws the fitted one towards zero. Without an interval: under {tests.min_count} uses, or "
            "too few units with both words."
        )
    with lists.container():
        _show_lists(fitted, word, language, where, answer.frame, "neighbors_with_intervals")
        showing.download(answer.frame, f"neighbors {word}", f"frame = {answer.code}", key="neighbors_with")


def _show_lists(
    fitted: Embeddings, word: str, language: str | None, where: dict[str, Any], frame: pd.DataFrame, key: str
) -> None:
    index = fitted.language(language)
    uses = fitted.counts[index][:, fitted.id(word, index)]
    keys = fitted.rows.slices.keys
    counts = {keys[slice]: int(uses[slice]) for slice in list(fitted.chosen(where))[:MAX_LISTS]}
    free = [name for name in fitted.columns if name not in where]
    ordered = [name for name in free if name in choosing.ordered_columns(fitted)]
    across = next(iter([*ordered, *free[::-1], *fitted.columns[::-1]]), None)
    groups = neighbors_by_slice(frame, fitted, across, counts, language)
    showing.grid(groups, key=key, pick=lambda word, _: st.session_state.update(word=word))


def neighbors_by_slice(
    frame: pd.DataFrame,
    fitted: Embeddings,
    across: str | None,
    counts: Mapping[tuple[str, ...], int],
    language: str | None,
) -> dict[str, list[dict[str, Any]]]:
    """The neighbors in each slice: a list for each value of `across`, in a group for each value of other columns.

    `counts` has the slices that are shown, with how often the word occurs in each.
    """
    columns = fitted.columns
    slices = list(frame.groupby(list(columns), sort=False)) if columns else [((), frame)]
    parts = [(tuple(map(str, key)), part) for key, part in slices if key in counts]
    places = in_order({key[columns.index(across)] for key, _ in parts}) if across else [""]
    clear = [part for key, part in parts if counts[key] >= FEW_USES]
    occurrences = Counter(word for part in clear for word in part["neighbor"])
    marks = {1: "only", len(clear): "all"} if len(clear) > 1 else {}
    groups: dict[str, list[dict[str, Any]]] = {}
    for key, part in parts:
        values = dict(zip(columns, key))
        place = values.pop(across) if across else ""
        note = f"{counts[key]:,} uses" if counts[key] else "not used: from the prior"
        of_part = marks if counts[key] >= FEW_USES else {}
        items = showing.similar_words(part, {word: of_part.get(n, "") for word, n in occurrences.items()})
        # a slice that does not exist leaves its place empty, so that equal values stand below each other
        titles = [value_name(fitted, across, name) if across else "" for name in places]
        empty = [showing.word_list(title, [], language, "no text") for title in titles]
        title = ", ".join(value_name(fitted, column, value) for column, value in values.items())
        group = groups.setdefault(title, empty)
        number = places.index(place)
        group[number] = showing.word_list(titles[number], items, language, note, counts[key] < FEW_USES)
    return groups


def _other_models(word: str, language: str | None, where: dict[str, Any], k: int) -> None:
    """The neighbors of the word in the model that the page does not show, if there are two."""
    for place, name in enumerate(loading.names()):
        if place == loading.number():
            continue
        other = loading.model(place)
        language = language if language in other.languages else choosing.first_language(other)
        vocabulary = other.rows.vocabularies[other.language(language)]
        showing.section(f"In {name}")
        found = vocabulary.find(word)
        if found is None:
            close = ", ".join(vocabulary.close(word))
            near = f" Spelled like it: {close}." if close else ""
            st.caption(showing.escape_markdown(f"“{word}” is not used there.{near}"))
            continue
        at = {column: value for column, value in where.items() if column in other.columns}
        at = {column: value for column, value in at.items() if value in other.values(column)}
        frame, code = ask(other, "neighbors", vocabulary.words[found], k=k, language=language, at=at)
        _show_lists(other, vocabulary.words[found], language, at, frame, f"neighbors_{place}")
        showing.download(frame, f"neighbors {word}", code, key=f"neighbors_{place}", fitted=other)


def _frequency(fitted: Embeddings, word: str, language: str | None) -> None:
    if len(fitted.slices) < 2:
        st.caption(f"{fitted.count(word, language):,} occurrences")
        return
    frame = count_frame(fitted, word, language)
    text = f"{int(frame['count'].sum()):,} occurrences. The chart has occurrences per million words."
    showing.section("How often", text)
    ordered = choosing.ordered_columns(fitted)
    if ordered and len(frame) > 2:
        others = [name for name in fitted.columns if name != ordered[0]]
        color = others[0] if len(others) == 1 else None
        shown = loading.with_names(fitted, frame.drop(columns="tokens"))
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


def _findings(fitted: Embeddings, word: str, language: str | None) -> None:
    """What was found about the word, and on request how it goes along a column, or bare distances."""
    showing.section("What was found", "Whether its use differs would hold in another sample of text.")
    _stored(fitted, word, language)
    ordered, groups = choosing.ordered_columns(fitted), choosing.group_columns(fitted)
    if groups and ordered and isinstance(loading.text(fitted), Tokens):
        label = showing.escape_markdown(f"Compare {groups[0]} at each {ordered[0]} (reads the text)")
        if st.toggle(label, key="along", bind="query-params"):
            _distance_along(fitted, word, language, groups[0], ordered[0])
    if (groups or ordered) and st.toggle("Bare distances, without a test", key="bare", bind="query-params"):
        _bare_distances(fitted, word, language, groups, ordered)


def _stored(fitted: Embeddings, word: str, language: str | None) -> None:
    """The findings about the word that are kept with the model."""
    stored = loading.stored_findings(fitted, language)
    if not stored:
        st.caption(
            "No findings are kept with this model. The pages Contrast and Change can test it, if its text is there."
        )
        return
    found = {column: frame[frame["word"] == word] for column, frame in stored.items()}
    tests = choosing.inference(fitted, language)
    lines = []
    for column, rows in found.items():
        for row in rows[rows["p"].notna()].to_dict("records"):
            one = finding(tests, column, row, unit=rows.attrs.get("facts", {}).get("unit"))
            lines.append(f"{one.sentence[:-1]}. {one.evidence} {one.sizes}")
    if lines:
        showing.sentences(lines)
        rows = pd.concat([rows.assign(column=column) for column, rows in found.items() if len(rows)])
        calls = [
            f"fitted.{tests.question(column)}({column!r}, {word!r})" for column, rows in found.items() if len(rows)
        ]
        code = "import pandas as pd\n\nframe = pd.concat([" + ", ".join(calls) + "])"
        showing.download(rows, f"findings {word}", code, key="findings")
    elif word in choosing.function_words(fitted, language):
        st.caption("It is a function word, which findings leave out.")
    else:
        st.caption("It was not tested: it has too few uses, or too few units use it.")


def _distance_along(fitted: Embeddings, word: str, language: str | None, across: str, along: str) -> None:
    shared = {"language": language}
    answer = loading.find(fitted, "distance", word, across=across, along=along, shared=shared)
    tested = answer.frame[answer.frame["p"].notna()]
    missing = [str(value) for value in dict.fromkeys(answer.frame[along]) if value not in set(tested[along])]
    if missing:
        where = ", ".join(value_name(fitted, along, value) for value in missing)
        st.caption(showing.escape_markdown(f"Not tested at {where}: too few units use the word there."))
    if len(tested):
        tested = loading.with_names(fitted, tested)
        showing.chart(plots.lines(tested, x=along, **CHART_SIZE), f"Difference of {word} by {along}")
        showing.download(answer.frame, f"distance {word}", f"frame = {answer.code}", key="distance")


def _bare_distances(
    fitted: Embeddings, word: str, language: str | None, groups: Sequence[str], ordered: Sequence[str]
) -> None:
    """How far the vectors are apart, by period; or whichever of the two there is."""
    st.caption("Between the fitted vectors. They grow with noise, and say nothing about another sample of text.")
    if groups:
        along = ordered[0] if ordered else None
        frame, code = ask(fitted, "distance", word, across=groups[0], along=along, language=language)
        if along:
            chart = plots.lines(loading.with_names(fitted, frame), x=along, y="distance", **CHART_SIZE)
        else:
            named = frame.assign(pair=frame["value"] + BETWEEN + frame["against"])[["pair", "distance", "uses"]]
            chart = plots.bars(named, y="pair", panels=[], width=CHART_SIZE["width"])
        showing.chart(chart, f"Distance of {word}")
        showing.download(frame, f"distance {word}", f"frame = {code}", key="bare")
    else:
        frame, code = ask(fitted, "trajectory", word, along=ordered[0], language=language)
        shown = loading.with_names(fitted, frame)
        showing.chart(plots.lines(shown, x=ordered[0], **CHART_SIZE), f"Change of {word}")
        showing.download(frame, f"trajectory {word}", f"frame = {code}", key="bare")


def _prior(fitted: Embeddings, word: str, language: str | None, where: dict[str, Any]) -> None:
    box = st.expander("What the prior joins it to", key="graph", on_change="rerun", bind="query-params")
    if not box.open:
        return
    with box:
        try:
            chart = plots.graph(fitted, word, language=language, at=where)
            showing.chart(chart, f"{word} in the graph of the prior")
            st.caption("Vectors that the prior assumes to be alike. The wider a line, the stronger the assumption.")
            call = code_of_call("lx.plots.graph", CodeName("fitted"), word, language=language, at=where)
            showing.download(chart.frame, f"graph {word}", f"frame = {call}.frame", key="edges")
        except LaplexError as error:
            st.caption(showing.escape_markdown(str(error)))
