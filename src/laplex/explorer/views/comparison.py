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
from laplex.explorer.views.explained import show_explanation
from laplex.reports import choosing, describing
from laplex.reports.findings import sentence
from laplex.text.tokens import Tokens

TABLE_ROWS = 500
BARS = 20
LABELS = 16  # of words in the chart of all words
CHOSEN = "explained"  # the key of the word that is looked into
MAX_VALUES_IN_PAIRS = 12
REST, PAIRS, JOINT = "each with the rest", "in pairs", "all jointly"
AGAINST = {REST: "rest", PAIRS: "pairs", JOINT: "joint"}
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
    options = [REST, PAIRS, JOINT] if values <= MAX_VALUES_IN_PAIRS else [JOINT, REST]
    chosen = str(address.select("Compare", options, "against"))
    return None if chosen == options[0] else AGAINST[chosen]


class ComparisonPage:
    """The page of a question about a column: its choices, and what it shows."""

    def __init__(
        self, fitted: Embeddings, question: str, column: str, language: str | None, against: str | None
    ) -> None:
        self.fitted, self.question, self.column, self.language = fitted, question, column, language
        self.where = address.slice_boxes(fitted, without=[column])
        tokens = loading.text(fitted)
        unit = address.unit_box(fitted, tokens, column) if isinstance(tokens, Tokens) else None
        self.shared: dict[str, Any] = {"unit": unit} | ({"language": language} if language is not None else {})
        self.options: dict[str, Any] = {"at": self.where} if self.where else {}
        if against is not None:
            self.options["against"] = against

    def show(self) -> str | None:
        """Draw the findings, or bare distances if these are asked for, or all there is; the first word."""
        with st.container(horizontal=True, vertical_alignment="center", key="switches"):
            function_words = st.toggle("Function words too", False, key="function_words", bind="query-params")
            bare = st.toggle("Bare distances, without a test", False, key="bare", bind="query-params")
            may_test = bare or self._may_test()
        if function_words:
            self.shared["exclude"] = ()
        if not bare and may_test:
            try:
                answer = loading.find(self.fitted, self.question, self.column, shared=self.shared, **self.options)
            except InputError as error:
                st.info(showing.escape_markdown(f"Not tested: {error}."), icon=":material/info:")
            else:
                return self._show_findings(answer)
        return self._show_distances(function_words)

    def _may_test(self) -> bool:
        """Whether findings are kept, or what is asked was chosen; else a test is offered, since it may take minutes."""
        kept = choosing.inference(self.fitted, self.language).question(self.column) == self.question
        kept = kept and self.column in loading.stored_findings(self.fitted, self.language)
        if kept or self.options or self.shared["unit"] or not isinstance(loading.text(self.fitted), Tokens):
            return True
        label = "Test all words (reads the text, which may take minutes)"
        return bool(st.toggle(label, False, key="test", bind="query-params"))

    def _show_findings(self, answer: Answer) -> str | None:
        for warning in answer.warnings:
            st.warning(showing.escape_markdown(sentence(warning)), icon=":material/warning:")
        st.markdown(f"**{showing.escape_markdown(sentence(answer.frame.attrs['summary']))}**")
        tested = answer.frame[answer.frame["p"].notna()]
        if tested.empty:
            return None
        frame, code = self._choose_comparison(tested, f"frame = {answer.code}")
        value, against = (str(frame[name].iloc[0]) for name in ("value", "against"))
        one, two = describing.describe_sides(self.question, value, against)
        held = int(frame["holds"].sum())
        name = describing.describe_comparison(self.question, value, against)
        text = f"{held:,} of {len(frame):,} words hold, and come first. " if held else f"None of {len(frame):,} holds. "
        text += "Difference: by how much the log odds of the word in a context typically differ, with a 90% interval. "
        showing.section(name[:1].upper() + name[1:], text + "Click a row to see what the difference is made of.")
        self._table(table_of_findings(frame), frame, code, labels_of_findings(one, two))
        show_explanation(self.fitted, frame, self.question, self.column, self._chosen(frame), self.shared, self.where)
        self._charts(frame, "How much, and how surely", "Click a dot to look into its word.")
        return str(frame["word"].iloc[0])

    def _show_distances(self, function_words: bool) -> str | None:
        """Bare distances: no test, and said so."""
        st.warning(BARE_TEXT, icon=":material/straighten:")
        default = max(choosing.min_count(self.fitted, self.column, self.language), choosing.MIN_COUNT_OF_DISTANCES)
        least = address.slider("Used at least … times on each side", choosing.MIN_COUNTS, default, "min_count", 260)
        options = {name: value for name, value in self.options.items() if value not in ("rest", "joint")}
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
            return None
        frame, code = self._choose_comparison(frame, code)
        value, against = (str(frame[name].iloc[0]) for name in ("value", "against"))
        name = describing.describe_comparison("contrast", value, against)
        showing.section(name[:1].upper() + name[1:], "The most distant words first. Click a row to look into the word.")
        labels = {"uses": f"uses, {value}", "uses_against": f"uses, {against}", "cosine": "cosine distance"}
        self._table(frame.drop(columns=["value", "against"]), frame, code, labels)
        show_explanation(self.fitted, frame, self.question, self.column, self._chosen(frame), self.shared, self.where)
        text = (
            "Few uses make large distances by chance. Look for words far to the right of others that are as frequent."
        )
        self._charts(frame, "How far, and how often", text)
        return str(frame["word"].iloc[0])

    def _choose_comparison(self, frame: pd.DataFrame, code: str) -> tuple[pd.DataFrame, str]:
        """The rows of one comparison, and the code that selects them; the one with most findings to begin with."""
        pairs = choosing.comparisons(frame)
        pair = pairs[0]
        if len(pairs) > 1:
            names = {describing.describe_comparison(self.question, *one): one for one in pairs}
            pair = names[str(address.select("Comparison", list(names), "comparison", width=320))]
            code += f'\nframe = frame[(frame["value"] == {pair[0]!r}) & (frame["against"] == {pair[1]!r})]'
        rows = frame[(frame["value"] == pair[0]) & (frame["against"] == pair[1])]
        return rows.reset_index(drop=True), code

    def _table(self, shown: pd.DataFrame, frame: pd.DataFrame, code: str, labels: dict[str, str]) -> None:
        words = frame["word"].astype(str).tolist()

        def pick(row: int) -> None:
            st.session_state[CHOSEN] = words[row]

        showing.table(shown.head(TABLE_ROWS), key=f"{self.question}_rows", height=420, pick=pick, labels=labels)
        if len(frame) > TABLE_ROWS:
            st.caption(f"The first {TABLE_ROWS:,} of {len(frame):,} words; the file has all of them.")
        showing.download(frame, f"{self.question} {self.column}", code, key=self.question)

    def _chosen(self, frame: pd.DataFrame) -> str | None:
        words = frame["word"].astype(str).head(TABLE_ROWS).tolist()
        return address.chosen_word(self.fitted, self.language, words, CHOSEN)

    def _charts(self, frame: pd.DataFrame, title: str, text: str) -> None:
        def pick(word: str) -> None:
            st.session_state[CHOSEN] = word

        showing.section(title, text)
        left, right = st.columns([5, 7], gap="large")
        with left:
            showing.chart(plots.bars(frame.head(BARS), panels=[], width=280), "The words that come first")
        with right:
            chart = plots.volcano(frame, labels=LABELS, width=560, height=380)
            showing.chart(chart, "Difference against evidence", key="volcano", pick=pick)


def table_of_findings(frame: pd.DataFrame) -> pd.DataFrame:
    """The findings of one comparison as they are shown: what is used with what next to the word, p in words."""
    shown = frame.drop(columns=["value", "against", "permutations"])
    p = [describing.describe_p(p, n) for p, n in zip(frame["p"], frame["permutations"])]
    first = ["word", "holds", "context", "context_against", "estimate", "lower", "upper", "p", "p_adjusted"]
    return shown.assign(p=p)[[*first, *(name for name in shown.columns if name not in first)]]


def labels_of_findings(one: str, two: str) -> dict[str, str]:
    """The names of the columns of findings, for two sides."""
    labels = {"estimate": "difference", "p_adjusted": "adjusted p"}
    for name, label in (("context", "used with"), ("uses", "uses"), ("units", "units")):
        labels |= {name: f"{label}, {one}", f"{name}_against": f"{label}, {two}"}
    return labels
