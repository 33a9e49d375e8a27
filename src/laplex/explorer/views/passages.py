"""Passages with a word in two parts of the text, side by side."""

from __future__ import annotations

from functools import partial

import streamlit as st

from laplex.embeddings import Embeddings
from laplex.errors import LaplexError
from laplex.explorer import address, loading, showing
from laplex.fitting.provenance import value_name
from laplex.reports import choosing
from laplex.reports.finding import passage, source_columns
from laplex.text.tokens import Tokens

PASSAGES = 4  # of each part
EVERYWHERE = "all"
FEW_USES = 20  # in a part of the text, which is not shown first then


def show_passages(fitted: Embeddings, word: str, language: str | None) -> None:
    """Passages with the word in two parts of the text, side by side."""
    tokens = loading.text(fitted)
    showing.section("In the text", "Passages that are typical of the word, at most one of a document.")
    if not isinstance(tokens, Tokens):
        st.caption(showing.escape_markdown(f"Not here: {tokens}"))
        return
    parts = parts_of_text(fitted, word, language)
    names = {part: ", ".join(value_name(fitted, *each) for each in at.items()) for part, at in parts.items()}
    first = [next(part for part in parts if parts[part] == at) for at in two_sides(fitted, word, language)]
    chosen = []
    for number, (place, part) in enumerate(zip(st.columns(max(len(first), 1), gap="large"), first), 1):
        with place:
            box = partial(address.select, f"Text {number}", list(parts), f"text{number}", list(parts).index(part), 320)
            chosen.append((box(format_func=lambda part: names[part] or EVERYWHERE), st.container()))
    for number, (part, place) in enumerate(chosen, 1):
        with place:
            if part in [other for other, _ in chosen[: number - 1]]:
                st.caption("The same text.")
            else:
                _passages_of(fitted, tokens, word, language, parts[part], str(number))


def _passages_of(
    fitted: Embeddings, tokens: Tokens, word: str, language: str | None, at: dict[str, str], key: str
) -> None:
    try:
        answer = loading.find(fitted, "passages", word, top=PASSAGES, at=at, shared={"language": language})
    except LaplexError as error:
        st.caption(showing.escape_markdown(f"No passages: {error}."))
        return
    metadata = source_columns([column for column in tokens.columns if column in answer.frame], fitted)
    showing.passages([passage(row, metadata) for row in loading.with_names(fitted, answer.frame).to_dict("records")])
    showing.download(answer.frame, f"passages {word}", f"frame = {answer.code}", key=f"passages{key}")


def parts_of_text(fitted: Embeddings, word: str, language: str | None) -> dict[str, dict[str, str]]:
    """The parts of the text that have the word, by name: everything, each value of a column, each slice."""
    index = fitted.language(language)
    uses = fitted.counts[index][:, fitted.id(word, index)]
    slices = [dict(zip(fitted.columns, fitted.rows.slices.keys[slice])) for slice in uses.nonzero()[0].tolist()]
    used = {(name, at[name]) for at in slices for name in fitted.columns}
    single = [{name: value} for name in fitted.columns for value in fitted.values(name) if (name, value) in used]
    parts: dict[str, dict[str, str]] = {EVERYWHERE: {}}
    for at in [*single, *slices]:
        parts.setdefault(", ".join(at.values()), at)
    return parts


def two_sides(fitted: Embeddings, word: str, language: str | None) -> list[dict[str, str]]:
    """The two parts of the text to begin with: the sides of the surest finding about the word, or else of a column."""
    index = fitted.language(language)
    uses = fitted.counts[index][:, fitted.id(word, index)]
    stored = loading.stored_findings(fitted, language)
    rows = {column: frame[(frame["word"] == word) & frame["p"].notna()] for column, frame in stored.items()}
    best = sorted((name for name in rows if len(rows[name])), key=lambda name: float(rows[name]["p_adjusted"].min()))
    columns = [*best, *choosing.ordered_columns(fitted), *choosing.compared_columns(fitted)]
    for column in dict.fromkeys(columns):
        of_value = {value: int(uses[fitted.chosen({column: value})].sum()) for value in fitted.values(column)}
        known = [value for value, number in of_value.items() if number >= FEW_USES]
        pair = [known[0], known[-1]] if known else []
        if column in best and choosing.inference(fitted, language).question(column) == "contrast":
            row = rows[column].sort_values("p_adjusted").iloc[0]
            value, against = str(row["value"]), str(row["against"])
            others = [other for other in known if other != value]
            pair = [value, against if against in known else others[0]] if value in known and others else pair
        if len(set(pair)) == 2:
            return [{column: value} for value in pair]
    return [{}]
