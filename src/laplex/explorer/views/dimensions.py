"""The page of words on a dimension between two poles, by group and through time."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.explorer import address, loading, showing
from laplex.explorer.loading import ask
from laplex.questions.answers import MIN_USES
from laplex.reports import choosing
from laplex.text.tokens import Tokens

PLACED_WORDS, OFFERED_WORDS = 14, 500
MOST_WORDS = 40
RANKED_WORDS = 3_000  # frequent words, among which the most extreme are looked for
EXTREME_WORDS = 12

Axis = tuple[list[str], list[str]]


def show() -> None:
    """Draw the page of words between two poles."""
    fitted = loading.model()
    showing.heading("Dimensions", "Name two poles, and see where words stand between them in each group.")
    with address.controls():
        language = address.language_box(fitted)
        axis = address.pole_boxes(fitted, language)
        groups = choosing.group_columns(fitted)[:1]
        where = address.slice_boxes(fitted, without=groups, every=False)
    words = _words_box(fitted, language, [*axis[0], *axis[1]], where)
    has_text = isinstance(loading.text(fitted), Tokens)
    wanted = has_text and st.toggle("Intervals (reads the text)", key="intervals", bind="query-params")
    drawn = Positions(fitted, axis, language, wanted)
    color = next((name for name in groups if name not in where), None)
    ends = (", ".join(axis[1]), ", ".join(axis[0]))

    def dots(frame: pd.DataFrame) -> plots.Chart:
        return plots.dots(frame.drop(columns=list(where)), color=color, ends=ends, width=400)

    left, right = st.columns([6, 5], gap="large")
    with left:
        text = "0 is the mean of all words of the slice, and 1 is one standard deviation. A wide gap: groups differ."
        showing.section("Where words stand", f"{text} Right: nearer to {ends[1]}.")
        drawn.show(words, where, dots, "Positions of words", "dimension")
    with right:
        _extremes(fitted, axis, language, where)
    _show_along(fitted, words, drawn, ends[1])
    _show_poles(fitted, axis, language)
    drawn.add_intervals()


class Positions:
    """Charts of positions by the fitted vectors, in whose places come those with intervals, if these are wanted."""

    def __init__(self, fitted: Embeddings, axis: Axis, language: str | None, wanted: bool) -> None:
        self.fitted, self._axis, self._language, self._wanted = fitted, axis, language, wanted
        self._later: list[Callable[[], None]] = []

    def show(
        self,
        words: str | list[str],
        where: dict[str, Any],
        chart: Callable[[pd.DataFrame], plots.Chart],
        description: str,
        key: str,
    ) -> None:
        """Draw the positions of some words."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the table of the poles says it
            frame, code = ask(self.fitted, "project", words, axis=self._axis, language=self._language, at=where)
        frame = _in_order(frame)
        status, place = st.container(), st.empty()
        with place.container():
            showing.chart(chart(loading.with_names(self.fitted, frame)), description)
            showing.download(frame, key, f"frame = {code}", key=key)
        if self._wanted:
            self._later.append(lambda: self._add(words, where, chart, description, key, status, place))

    def add_intervals(self) -> None:
        """Put charts with intervals in the place of those without, after all else is drawn, as the text is read."""
        for add in self._later:
            add()

    def _add(
        self,
        words: str | list[str],
        where: dict[str, Any],
        chart: Callable[[pd.DataFrame], plots.Chart],
        description: str,
        key: str,
        status: Any,
        place: Any,
    ) -> None:
        with status:
            try:
                shared = {"language": self._language}
                answer = loading.find(self.fitted, "project", words, axis=self._axis, at=where, shared=shared)
            except InputError as error:
                st.caption(showing.escape_markdown(f"No intervals: {error}."))
                return
            frame = _in_order(answer.frame[answer.frame["estimate"].notna()])
            if missing := len(answer.frame) - len(frame):
                least = choosing.inference(self.fitted, self._language).min_count
                st.caption(f"Without {missing} positions: under {least} uses there, or too few units with the word.")
        if len(frame):
            with place.container():
                showing.chart(chart(loading.with_names(self.fitted, frame)), description)
                showing.download(answer.frame, key, f"frame = {answer.code}", key=f"{key}_intervals")


def _in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Words by their mean position, the nearest to the first pole first."""
    measured = "estimate" if "estimate" in frame else "position"
    order = frame.groupby("word", sort=False)[measured].mean().sort_values(ascending=False).index
    return frame.set_index("word").loc[order].reset_index()


def _words_box(fitted: Embeddings, language: str | None, poles: Sequence[str], where: dict[str, Any]) -> list[str]:
    """The words that are placed: those that were chosen, or the first of a model that these slices use often enough."""
    index = fitted.language(language)
    least = fitted.counts[index][fitted.chosen(where)].min(0)
    enough = choosing.inference(fitted, language).min_count
    first = loading.first_words(fitted, OFFERED_WORDS, language)
    first = sorted(first, key=lambda word: least[fitted.id(word, index)] < enough)
    words = [word for word in first if word not in poles][:PLACED_WORDS]
    chosen = st.multiselect(
        "Words to place",
        fitted.words(language)[: address.OFFERED_WORDS],
        words,
        key="words",
        bind="query-params",
        accept_new_options=True,
        filter_mode="prefix",
        max_selections=MOST_WORDS,
        help="Type words or phrases, with commas between several.",
    )
    vocabulary = fitted.rows.vocabularies[fitted.language(language)]
    return address.known_words(chosen or words, vocabulary, "words")


def _extremes(fitted: Embeddings, axis: Axis, language: str | None, where: dict[str, Any]) -> None:
    frequent = pd.Series(fitted.words(language)[:RANKED_WORDS], dtype=object)
    frequent = frequent[choosing.is_content_word(fitted, frequent, language)]
    if frequent.empty:
        return
    text = f"Of {len(frequent):,} frequent words, on average over the groups. Click one to see it."
    showing.section("The most extreme words", text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        frame, _ = ask(fitted, "project", frequent.tolist(), axis, language=language, at=where)
    frame = frame[frame["uses"] >= MIN_USES]
    mean = frame.groupby("word", sort=False)["position"].mean().dropna().sort_values()
    lists, largest = [], max(float(mean.abs().max()), 1e-9) if len(mean) else 1.0
    for pole, ranked in ((axis[0], mean.iloc[::-1]), (axis[1], mean)):
        items = [
            showing.item(str(word), abs(float(value)) / largest, f"{value:+.2f}".replace("-", "−"))
            for word, value in ranked.head(EXTREME_WORDS).items()
        ]
        lists.append(showing.word_list(", ".join(pole), items, language))
    if picked := showing.grid({"": lists}, key="extremes"):
        address.go_to_word(picked, language)


def _show_along(fitted: Embeddings, words: list[str], drawn: Positions, first_pole: str) -> None:
    """The positions of one word along an ordered column, if there is one."""
    ordered = choosing.ordered_columns(fitted)
    if not ordered:
        return
    showing.section(f"By {ordered[0]}", f"Up: nearer to {first_pole}.")
    word = str(address.select("Word", words, "followed", width=address.WORD_BOX_WIDTH))
    others = [name for name in fitted.columns if name != ordered[0]]
    color = others[0] if len(others) == 1 else None

    def lines(frame: pd.DataFrame) -> plots.Chart:
        return plots.lines(frame, x=ordered[0], color=color, width=520, height=260)

    drawn.show(word, {}, lines, f"{word} on the dimension", "dimension_along")


def _show_poles(fitted: Embeddings, axis: Axis, language: str | None) -> None:
    """How often every slice uses the words of the poles."""
    text = f"How often each slice uses them. Where a word has under {MIN_USES} uses, it is left out of its pole."
    showing.section("The words of the poles", text)
    index = fitted.language(language)
    table = loading.with_names(fitted, fitted.slices.drop(columns="tokens"))
    for word in [*axis[0], *axis[1]]:
        table[word] = fitted.counts[index][:, fitted.id(word, index)]
    showing.table(table)
    code = f"frame = fitted.slices\nfor word in {[*axis[0], *axis[1]]!r}:\n"
    code += f"    frame[word] = fitted.counts[{index}][:, fitted.id(word, {index})]"
    showing.download(table, "poles", code, key="poles")
