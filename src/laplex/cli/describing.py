"""Descriptions of a corpus and of how a saved model was made, as the commands print them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from laplex.cli.printing import show, show_frame
from laplex.embeddings import Embeddings, load
from laplex.fitting.provenance import call_of, command_of, part_of
from laplex.runtime import storage
from laplex.text.periods import in_order
from laplex.text.phrases import phrases_in_words
from laplex.text.summary import Summary
from laplex.text.tokens import Tokens

VALUES_SHOWN_PER_COLUMN = 6
PHRASES_SHOWN = 20


def show_summary(summary: Summary) -> None:
    """Print the size of a corpus, and for each metadata column its most frequent values."""
    show(f"{summary.name}: {summary.documents:,} documents, {summary.tokens:,} tokens")
    if summary.empty:
        show(f"{summary.empty:,} documents without a word")
    if summary.unit is not None:
        show(f"the unit is {summary.unit}, {summary.units:,} of them")
    columns = dict(summary.values)
    if set(summary.languages) != {""}:
        columns = {"language": summary.languages, **columns}
    rows = []
    for name, counts in columns.items():
        known = {value: count for value, count in counts.items() if value is not None}
        top = sorted(in_order(known), key=lambda value: -known[value])[:VALUES_SHOWN_PER_COLUMN]
        shown = ", ".join(f"{value} ({known[value]:,})" for value in top) + (" …" if len(known) > len(top) else "")
        missing = counts.get(None, 0)
        rows.append({"column": name, "values": len(known), "missing": missing, "most frequent (documents)": shown})
    if rows:
        show("")
        show_frame(pd.DataFrame(rows))


def show_phrases(tokens: Tokens) -> None:
    """Print what became of the phrases of a corpus, and the most frequent ones."""
    for line in phrases_in_words(tokens.settings["phrases"], tokens.vocabularies):
        show(line)
    rows = [
        {"phrase": name, "occurs": int(vocabulary.counts[vocabulary[name]])}
        for vocabulary in tokens.vocabularies
        for name in [*vocabulary.phrases][:PHRASES_SHOWN]
    ]
    if rows:
        show("")
        show_frame(pd.DataFrame(rows))


def show_model(folder: str, quiet: bool) -> None:
    """Print how a saved model was made: command, settings, text, versions, hashes."""
    from laplex.cli.highlights import suggest_questions

    fitted = load(folder)
    show(f"{folder}: {fitted!r}")
    settings, command = fitted.settings, command_of(fitted.settings)
    model, training, tokens = (part_of(settings, name) for name in ("model", "training", "tokens"))
    same_bytes = "a refit gives the same bytes" + ("" if training.get("threads") == 1 else " only with threads=1")
    place = tokens.get("folder")
    lines = {
        "command" if command else "in Python": command or call_of(settings),
        "read from": settings.get("read"),
        "baseline": settings.get("baseline"),
        "rotation": settings.get("rotation"),
        "model": {name: value for name, value in model.items() if name != "beliefs"} if command else None,
        "tied": fitted.rows.tied_words(fitted.slot),
        "strengths": part_of(settings, "tuning").get("summary"),
        "training": {name: value for name, value in training.items() if value is not None} if command else None,
        "seed": f"{training.get('seed')}; {same_bytes}" if training else None,
        "machine": settings.get("machine"),
        "text": tokens.get("sources"),
        "unit": tokens.get("unit"),
        "text hash": tokens.get("digest"),
        "tokens": f"{place}{'' if storage.exists(str(place)) else ' (no longer there)'}" if place else None,
        "vocabulary": {name: tokens[name] for name in ("min_count", "max_words", "keep") if tokens.get(name)},
        "phrases": _number_of_phrases(fitted),
        "vectors": f"hash {storage.load(folder).digest}",
        "versions": settings.get("versions"),
    }
    width = max(map(len, lines))
    for name, value in lines.items():
        if description := _join(value):
            show(description, " " * (width + 2), f"{name:<{width}}  ")
    suggest_questions(folder, fitted, quiet=quiet)


def _number_of_phrases(fitted: Embeddings) -> str:
    """The number of phrases in the vocabularies of a model, and how they were chosen; empty without phrases."""
    number = sum(len(vocabulary.phrases) for vocabulary in fitted.rows.vocabularies)
    sought = part_of(part_of(fitted.settings, "tokens"), "phrases").get("sought", "")
    return f"{number:,}{f', by {sought}' if sought else ''}" if number or sought else ""


def _join(values: Any) -> str:
    """Settings as one line of text: a list, a mapping or a single value."""
    if isinstance(values, list):
        return ", ".join(map(str, values))
    if not isinstance(values, Mapping):
        return "" if values is None else str(values)
    return ", ".join(f"{name} {value}" for name, value in values.items())
