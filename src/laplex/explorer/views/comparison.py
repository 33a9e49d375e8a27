"""The page of the words that differ between groups, and what it shares with that of the words that change."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.explorer import address, loading, showing
from laplex.explorer.loading import Answer, code_of_call
from laplex.explorer.tables import TableColumn, columns_of_distances, columns_of_findings, show_rows
from laplex.explorer.views.explained import Taken, show_details, show_sentences
from laplex.reports import choosing, describing
from laplex.reports.finding import Finding, Side, finding
from laplex.reports.findings import sentence
from laplex.text.tokens import Tokens

TABLE_ROWS = 500
MOST_DOTS = 2_000
LABELS = 24  # of words in the chart of all words
CHART_WIDTH, CHART_HEIGHT = 550, 350  # pixels
CHOSEN = "explained"  # the key of the word whose panel is open
MAX_VALUES_IN_PAIRS = 12
REST, PAIRS, JOINT_TEST = "each with the rest", "in pairs", "all jointly"
AGAINST = {REST: "rest", PAIRS: "pairs", JOINT_TEST: "joint"}
EVIDENCE, FREQUENCY = "Evidence", "Frequency"
TEXTS = ["context", "context_against", "permutations"]  # columns that the table shows and the chart does not
BARE_TEXT = (
    "Bare distances between the fitted vectors, for every pair of values. They grow with frequency and with noise, and "
    "say nothing about another sample of text."
)


def show_contrast() -> None:
    """Draw the page of words that differ between groups."""
    fitted = loading.model()
    showing.heading("Contrast", "The words that groups use differently: how much, how surely, and with what words.")
    with address.controls():
        language = address.language_box(fitted)
        column = address.column_box(first_tested(fitted, "contrast", language), "column", "Compare the values of")
        against = _against_box(fitted, column)
        page = ComparisonPage(fitted, "contrast", column, language, against)
    page.show()


def first_tested(fitted: Embeddings, question: str, language: str | None) -> list[str]:
    """The columns of a page: those with findings about the question first, and of these where something holds."""
    tests = choosing.inference(fitted, language)
    columns = choosing.ordered_columns(fitted) if question == "drift" else choosing.compared_columns(fitted)
    stored = [name for name in loading.stored_findings(fitted, language) if name in columns]
    ranked = list(dict.fromkeys([*stored, *columns]))
    return sorted(ranked, key=lambda name: tests.question(name) != question)


def _against_box(fitted: Embeddings, column: str) -> str | None:
    """What each value is compared with; None for what is asked if nothing is said."""
    values = len(fitted.values(column))
    if values < 3:
        return None
    options = [REST, PAIRS, JOINT_TEST] if values <= MAX_VALUES_IN_PAIRS else [JOINT_TEST, REST]
    chosen = str(address.select("Compare", options, "against"))
    return None if chosen == options[0] else AGAINST[chosen]


class ComparisonPage:
    """The page of a question about a column: a chart, a table and the panel of one word, all of the same rows."""

    def __init__(
        self, fitted: Embeddings, question: str, column: str, language: str | None, against: str | None
    ) -> None:
        self.fitted, self.question, self.column, self.language = fitted, question, column, language
        where = address.slice_boxes(fitted, without=[column])
        tokens = loading.text(fitted)
        has_text = isinstance(tokens, Tokens)
        given = address.given_box(tokens, column) if isinstance(tokens, Tokens) else []
        unit = address.unit_box(fitted, tokens, column) if isinstance(tokens, Tokens) else None
        self.has_text = has_text
        self.shared: dict[str, Any] = {"unit": unit} | ({"language": language} if language is not None else {})
        # of the question, and of these what an explanation takes too
        self.where: dict[str, Any] = {"at": where} if where else {}
        self.where |= {"given": given} if given else {}
        self.options = self.where | ({} if against is None else {"against": against})
        self.choices = self._choices()

    def show(self) -> None:
        """Draw the findings, or bare distances if these are asked for, or all there is."""
        function_words, bare, may_test = self.choices
        if not bare and may_test:
            try:
                answer = loading.find(self.fitted, self.question, self.column, shared=self.shared, **self.options)
            except InputError as error:
                st.info(showing.escape_markdown(f"Not tested: {error}."), icon=":material/info:")
                if self.options:  # which bare distances do not know
                    return
            else:
                self._show_findings(answer)
                return
        self._show_distances(function_words)

    def _choices(self) -> tuple[bool, bool, bool]:
        """Whether function words are shown, whether bare distances are, and whether a test may take its time."""
        with st.popover("More", icon=":material/tune:"):
            function_words = st.toggle("Function words too", False, key="function_words", bind="query-params")
            bare = st.toggle("Bare distances, without a test", False, key="bare", bind="query-params")
        if function_words:
            self.shared["exclude"] = ()
        return function_words, bare, bare or self._may_test()

    def _may_test(self) -> bool:
        """Whether findings are kept, or what is asked was chosen; else a test is offered, since it may take minutes."""
        kept = choosing.inference(self.fitted, self.language).question(self.column) == self.question
        kept = kept and self.column in loading.stored_findings(self.fitted, self.language)
        if kept or self.options or self.shared["unit"] or not self.has_text:
            return True
        label = "Test all words (reads the text, which may take minutes)"
        return bool(st.toggle(label, False, key="test", bind="query-params"))

    def _show_findings(self, answer: Answer) -> None:
        showing.warnings([sentence(warning) for warning in answer.warnings])
        summary = sentence(answer.frame.attrs["summary"])
        tested = answer.frame[answer.frame["p"].notna()]
        if tested.empty:
            st.info(showing.escape_markdown(summary), icon=":material/info:")
            return
        frame, first, code = self._choose_comparison(tested, f"frame = {answer.code}")
        held = int(frame["holds"].sum())
        text = f"{held:,} of {len(frame):,} words hold" if held else f"none of {len(frame):,} words holds"
        showing.section(f"{first.comparison[:1].upper()}{first.comparison[1:]}: {text}", summary)
        with st.container(key="findings"):
            chart, aside, table = (st.container(key=name, gap="xsmall") for name in ("evidence", "panel", "rows"))
        with chart:
            word = self._draw_findings(frame)
        rows = frame[frame["word"] == word]
        with aside:
            if rows.empty:
                showing.claim(word, "is not in the table.")
                showing.explain("It has too few uses, or is left out as a function word.")
            else:
                found = self._finding(rows.iloc[0].to_dict(), answer.frame)
                show_sentences(found)
            details = st.empty()
        with table:
            self._draw_table(frame, columns_of_findings(frame, first), word, list(~frame["holds"]))
            showing.download(frame, f"{self.question} {self.column}", code, key=self.question)
        if len(rows):
            with details.container():
                self._show_panel(found)

    def _show_panel(self, found: Finding) -> None:
        """What the difference of a word is made of, which takes part of a second and so is drawn last."""
        self.show_path(found.word)
        show_details(Taken(self.fitted, self.shared, self.where), found)
        label, icon = f"All about “{showing.escape_markdown(found.word)}”", ":material/arrow_forward:"
        if st.button(label, key="_to_word", type="tertiary", icon=icon):
            address.go_to_word(found.word, self.language)

    def show_path(self, word: str) -> None:
        """How the use of a word moved, if that is what is asked."""

    def _finding(self, row: dict[Any, Any], frame: pd.DataFrame) -> Finding:
        tests = choosing.inference(self.fitted, self.language)
        return finding(tests, self.column, row, self.question, frame.attrs["facts"]["unit"])

    def _choose_comparison(self, frame: pd.DataFrame, code: str) -> tuple[pd.DataFrame, Finding, str]:
        """The rows of one comparison, the first, and the code that selects them; that with most findings is first."""
        pairs = choosing.comparisons(frame)
        rows = {pair: frame[(frame["value"] == pair[0]) & (frame["against"] == pair[1])] for pair in pairs}
        firsts = {pair: self._finding(part.iloc[0].to_dict(), frame) for pair, part in rows.items()}
        pair, code = self._choose_pair({first.comparison: pair for pair, first in firsts.items()}, code)
        return rows[pair].reset_index(drop=True), firsts[pair], code

    def _choose_pair(self, pairs: dict[str, tuple[str, str]], code: str) -> tuple[tuple[str, str], str]:
        """One of the comparisons, by its name, and the code that selects it."""
        if len(pairs) == 1:
            return next(iter(pairs.values())), code
        value, against = pair = pairs[str(address.select("Comparison", list(pairs), "comparison", width=320))]
        return pair, f'{code}\nframe = frame[(frame["value"] == {value!r}) & (frame["against"] == {against!r})]'

    def _draw_findings(self, frame: pd.DataFrame) -> str:
        """The chart of all words, and the boxes above it; the word that is chosen, or the first."""
        with st.container(horizontal=True, vertical_alignment="bottom", key="above_chart"):
            chosen = self._chosen(frame)
            height = st.segmented_control(
                "Size against",
                [EVIDENCE, FREQUENCY],
                default=EVIDENCE,
                required=True,
                key="height",
                bind="query-params",
            )
        word = chosen or str(frame["word"].iloc[0])
        self._draw_chart(frame, word, height == FREQUENCY)
        return word

    def _draw_chart(self, frame: pd.DataFrame, word: str, by_frequency: bool) -> None:
        shown = frame[(frame.index < MOST_DOTS) | (frame["word"] == word)].drop(columns=TEXTS, errors="ignore")
        by: Any = "uses" if by_frequency else "evidence"
        size: dict[str, Any] = {"width": CHART_WIDTH, "height": CHART_HEIGHT}
        chart = plots.volcano(shown, by=by, words=[word], labels=LABELS, **size)
        # with a key for each word, since a second click on the same dot would not be told
        showing.chart(chart, "Every word by the size of its difference", key=f"evidence_{word}", pick=choose_word)
        if len(shown) < len(frame):
            st.caption(f"The first {len(shown):,} of {len(frame):,} words, in the order of the table.")

    def _draw_table(self, frame: pd.DataFrame, columns: list[TableColumn], word: str, faint: list[bool]) -> None:
        words = frame["word"].astype(str).tolist()
        place = words.index(word) if word in words else 0
        shown = list(range(min(TABLE_ROWS, len(words)))) + ([place] if place >= TABLE_ROWS else [])
        show_rows(
            [words[row] for row in shown],
            [column.at(shown) for column in columns],
            label=f"Words of the comparison, {len(shown):,} of {len(words):,}",
            key=f"{self.question}_rows",
            chosen=word,
            faint=[faint[row] for row in shown],
            pick=choose_word,
        )
        if len(frame) > TABLE_ROWS:
            st.caption(f"The first {TABLE_ROWS:,} of {len(frame):,} words; the file has all of them.")

    def _chosen(self, frame: pd.DataFrame) -> str | None:
        words = frame["word"].astype(str).head(TABLE_ROWS).tolist()
        return address.chosen_word(self.fitted, self.language, words, CHOSEN)

    def _show_distances(self, function_words: bool) -> None:
        """Bare distances: no test, and said so."""
        st.warning(BARE_TEXT, icon=":material/straighten:")
        default = max(choosing.min_count(self.fitted, self.column, self.language), choosing.MIN_COUNT_OF_DISTANCES)
        least = address.slider("Used at least … times on each side", choosing.MIN_COUNTS, default, "min_count", 260)
        options = {name: value for name, value in self.options.items() if name == "at"}
        shared = {name: value for name, value in self.shared.items() if name == "language"}
        frame = loading.bare_distances(self.fitted, self.question, self.column, shared, options)
        asked = code_of_call("fitted.inference", **shared) if shared else "fitted"
        code = f"frame = {code_of_call(f'{asked}.{self.question}', self.column, test=False, **options)}"
        frame = frame[frame[["uses", "uses_against"]].min(axis=1) >= least]
        code += f'\nframe = frame[frame[["uses", "uses_against"]].min(axis=1) >= {least}]'
        if not function_words:
            frame = frame[~frame["word"].isin(list(choosing.function_words(self.fitted, self.language)))]
            code += f'\nframe = frame[~frame["word"].isin({asked}{"" if shared else ".inference()"}.excluded())]'
        if frame.empty:
            st.info("No word is left: lower the number of uses.", icon=":material/filter_alt_off:")
            return
        pairs = {describing.describe_comparison("contrast", *pair): pair for pair in choosing.comparisons(frame)}
        (value, against), code = self._choose_pair(pairs, code)
        frame = frame[(frame["value"] == value) & (frame["against"] == against)].reset_index(drop=True)
        name = describing.describe_comparison("contrast", value, against)
        text = "Few uses make large distances by chance. Look for words to the right of others that are as frequent."
        showing.section(name[:1].upper() + name[1:], text)
        with st.container(key="findings"):
            chart, aside, table = (st.container(key=name, gap="xsmall") for name in ("evidence", "panel", "rows"))
        with chart:
            word = self._chosen(frame) or str(frame["word"].iloc[0])
            self._draw_chart(frame, word, by_frequency=True)
        with aside:
            showing.claim(word, name)
            for row in frame[frame["word"] == word].to_dict("records"):
                showing.explain(describing.describe_distance(row))
            details = st.empty()
        with table:
            columns = columns_of_distances(frame, value, against)
            self._draw_table(frame, columns, word, [False] * len(frame))
            showing.download(frame, f"{self.question} {self.column}", code, key=self.question)
        with details.container():
            self._show_panel(self._untested(word, value, against))

    def _untested(self, word: str, value: str, against: str) -> Finding:
        """A word of two sides that were not tested, for the panel of what its difference is made of."""
        sides = tuple(Side(name, (), 0, 0) for name in (value, against))
        numbers = dict.fromkeys(("estimate", "lower", "upper", "p", "p_adjusted", "interval"), float("nan"))
        counts: dict[str, Any] = {"permutations": 0, "holds": False, "unit": None, **numbers}
        return Finding(word, self.column, self.question, value, against, sides=sides, **counts)


def choose_word(word: str) -> None:
    """Open the panel of a word."""
    st.session_state[CHOSEN] = word
