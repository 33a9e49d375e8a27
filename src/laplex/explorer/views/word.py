"""Two pages on a word: its neighbors, frequency, distances, passages and edges in the prior; and its translations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.errors import LaplexError
from laplex.explorer import address, loading, showing
from laplex.explorer.loading import CodeName, ask, code_of_call
from laplex.plots.frames import BETWEEN
from laplex.questions.similarity import translate
from laplex.reports import choosing, describing
from laplex.reports.finding import MAX_METADATA, passage
from laplex.text.periods import in_order
from laplex.text.tokens import Tokens

CHART_SIZE: dict[str, Any] = {"width": 440, "height": 250}  # pixels
MAX_LISTS = 24  # slices whose neighbors are shown at once
PASSAGES = 4
BEST_WORDS = 12
TABLE_HEIGHT = 35 * (BEST_WORDS + 1) + 3  # pixels


def show() -> None:
    """Draw the page of a word."""
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
        _findings(fitted, word, language)
    _passages(fitted, word, language)
    _prior(fitted, word, language, where)


def _neighbors(fitted: Embeddings, word: str, language: str | None, where: dict[str, Any], k: int) -> None:
    frame, code = ask(fitted, "neighbors", word, k=k, language=language, at=where)
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
    index = fitted.language(language)
    uses = fitted.counts[index][:, fitted.id(word, index)]
    counts = {fitted.rows.slices.keys[slice]: int(uses[slice]) for slice in slices}
    free = [name for name in fitted.columns if name not in where]
    ordered = [name for name in free if name in choosing.ordered_columns(fitted)]
    across = next(iter([*ordered, *free[::-1], *fitted.columns[::-1]]), None)
    groups = neighbors_by_slice(frame, fitted.columns, across, counts, language)
    showing.grid(groups, key="neighbors", pick=lambda word, _: st.session_state.update(word=word))
    showing.download(frame, f"neighbors {word}", code, key="neighbors")


def neighbors_by_slice(
    frame: pd.DataFrame,
    columns: Sequence[str],
    across: str | None,
    counts: dict[tuple[str, ...], int],
    language: str | None,
) -> dict[str, list[dict[str, Any]]]:
    """The neighbors in each slice: a list for each value of `across`, in a group for each value of other columns.

    `counts` has the slices that are shown, with how often the word occurs in each.
    """
    slices = list(frame.groupby(list(columns), sort=False)) if columns else [((), frame)]
    parts = [(tuple(map(str, key)), part) for key, part in slices if key in counts]
    places = in_order({key[columns.index(across)] for key, _ in parts}) if across else [""]
    occurrences = Counter(word for _, part in parts for word in part["neighbor"])
    marks = {1: "only", len(parts): "all"} if len(parts) > 1 else {}
    groups: dict[str, list[dict[str, Any]]] = {}
    for key, part in parts:
        values = dict(zip(columns, key))
        place = values.pop(across) if across else ""
        note = f"{counts[key]:,} uses" if counts[key] else "not used: from the prior"
        items = showing.similar_words(part, lambda word: marks.get(occurrences[word], ""))
        # a slice that does not exist leaves its place empty, so that equal values stand below each other
        empty = [showing.word_list(place, [], language, "no text") for place in places]
        group = groups.setdefault(", ".join(values.values()), empty)
        group[places.index(place)] = showing.word_list(place, items, language, note)
    return groups


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
    lines = [
        f"By {column}, {describing.describe_comparison(question, row['value'], row['against'])}: "
        + describing.describe_finding(question, row)
        for column, rows in found.items()
        for question in [tests.question(column)]
        for row in rows.to_dict("records")
    ]
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
        st.caption(showing.escape_markdown(f"Not tested at {', '.join(missing)}: too few units use the word there."))
    if len(tested):
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
            chart = plots.lines(frame, x=along, y="distance", **CHART_SIZE)
        else:
            named = frame.assign(pair=frame["value"] + BETWEEN + frame["against"])[["pair", "distance", "uses"]]
            chart = plots.bars(named, y="pair", panels=[], width=CHART_SIZE["width"])
        showing.chart(chart, f"Distance of {word}")
        showing.download(frame, f"distance {word}", f"frame = {code}", key="bare")
    else:
        frame, code = ask(fitted, "trajectory", word, along=ordered[0], language=language)
        showing.chart(plots.lines(frame, x=ordered[0], **CHART_SIZE), f"Change of {word}")
        showing.download(frame, f"trajectory {word}", f"frame = {code}", key="bare")


def _passages(fitted: Embeddings, word: str, language: str | None) -> None:
    tokens = loading.text(fitted)
    showing.section("In the text", "Passages that are typical of the word, at most one of a document.")
    if not isinstance(tokens, Tokens):
        st.caption(showing.escape_markdown(f"Not here: {tokens}"))
        return
    index = fitted.language(language)
    uses = fitted.counts[index][:, fitted.id(word, index)]
    slices = {name: slice for slice, name in enumerate(describing.slice_names(fitted)) if uses[slice]}
    if not slices:
        return
    name = max(slices, key=lambda name: int(uses[slices[name]]))
    if len(slices) > 1:
        names = list(slices)
        name = address.select("Slice", names, "passages", names.index(name), 260)
    where = dict(zip(fitted.columns, fitted.rows.slices.keys[slices[name]]))
    shared = {"language": language}
    answer = loading.find(fitted, "passages", word, top=PASSAGES, at=where, shared=shared)
    metadata = [column for column in tokens.columns if column in answer.frame][:MAX_METADATA]
    showing.passages([passage(row, metadata) for row in answer.frame.to_dict("records")])
    showing.download(answer.frame, f"passages {word}", f"frame = {answer.code}", key="passages")


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


def show_languages() -> None:
    """Draw the page of translations: the nearest words of another language by CSLS, and the words around both."""
    fitted = loading.model()
    showing.heading("Languages", "The words of another language that are nearest to a word, and the words around both.")
    with address.controls():
        language = str(address.language_box(fitted, label="From"))
        target = str(address.select("To", [name for name in fitted.languages if name != language], "to"))
        word = address.word_box(fitted, language, key="said")
        where = address.slice_boxes(fitted, every=False)
    frame = translate(fitted, word, language, target, BEST_WORDS, at=where)
    left, right = st.columns([6, 5], gap="large")
    with left:
        showing.section(
            f"“{word}” in {target}",
            "Ordered by CSLS: twice the cosine, less the mean cosine of each of the two words with its ten nearest in "
            "the other language, so that words near to everything come later. Rank: the place by the cosine alone.",
        )
        labels = {"neighbor": target, "csls": "CSLS", "similarity": "cosine"}
        showing.table(frame.drop(columns=[*fitted.columns, "word"]), height=TABLE_HEIGHT, labels=labels)
        call = code_of_call("translate", CodeName("fitted"), word, language, target, k=BEST_WORDS, at=where)
        code = f"from laplex.questions.similarity import translate\n\nframe = {call}"
        showing.download(frame, f"translations {word}", code, key="said")
    with right:
        _surroundings(fitted, {language: word, target: str(frame["neighbor"].iloc[0])}, where)


def _surroundings(fitted: Embeddings, words: dict[str, str], where: dict[str, Any]) -> None:
    """The neighbors of a word and of its translation, by language."""
    showing.section("The words around both", "Each in its own language. Click a word to translate it.")
    languages = list(words)
    frames, lists, calls = [], [], []
    for language, word in words.items():
        frame, call = ask(fitted, "neighbors", word, k=BEST_WORDS, language=language, at=where)
        frames.append(frame.assign(language=language))
        lists.append(showing.word_list(word, showing.similar_words(frame), language, language))
        calls.append(call)

    def pick(word: str, place: int) -> None:
        st.session_state.update(said=word, language=languages[place], to=languages[1 - place])

    showing.grid({"": lists}, key="around", pick=pick)
    code = f"import pandas as pd\n\nframe = pd.concat([\n    {calls[0]},\n    {calls[1]},\n])"
    showing.download(pd.concat(frames), f"around {words[languages[0]]}", code, key="around")
