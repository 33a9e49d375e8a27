"""A fitted model described in sentences and small tables: its text, its prior, its fit and its settings.

The sentences are plain text, which has to be escaped in HTML and Markdown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.errors import quote
from laplex.fitting.provenance import value_name
from laplex.model.likelihoods import Likelihood
from laplex.model.priors.prior import saved_priors
from laplex.plots.frames import name_of_side

SMALL_SLICE_TOKENS = 20_000  # the vectors of smaller slices depend mostly on the prior
NO_BREAK = "\xa0"  # a space at which no line ends
MAX_TABLE_COLUMNS, MAX_TABLE_ROWS = 8, 60  # of a table of slices
SLICES_TEXT = "Running words in each slice. The more text a slice has, the more certain are its vectors."


def describe_p(p: float, permutations: int) -> str:
    """A p-value; where it is the smallest that its permutations can give, that is said.

    >>> describe_p(0.001, 999), describe_p(0.0214, 999), describe_p(float("nan"), 0)
    ('<\\xa00.001', '0.021', '')
    """
    if pd.isna(p):
        return ""
    least = 1 / (permutations + 1)
    return f"<{NO_BREAK}{least:.1g}" if permutations and p <= least * (1 + 1e-9) else f"{p:.2g}"


def describe_comparison(question: str, value: str, against: str) -> str:
    """A comparison as a heading.

    >>> describe_comparison("contrast", "D", "rest"), describe_comparison("drift", "1789", "2021")
    ('D against the rest', 'from 1789 to 2021')
    """
    if question == "drift":
        return f"from {value} to {against}"
    if (value, against) == ("any", "others"):
        return "any value against the others"
    return f"{value} against {name_of_side(against)}"


def describe_distance(row: Mapping[Any, Any]) -> str:
    """A row of a table of bare distances in a sentence."""
    return (
        f"Distance {row['distance']:.3f}; {row['uses']:,} uses ({row['value']}) and {row['uses_against']:,} "
        f"({row['against']})."
    )


def slice_names(fitted: Embeddings) -> list[str]:
    """The name of each slice, such as "D, 2010–2019"; "all" if there is only one."""
    keys = [zip(fitted.columns, key) for key in fitted.rows.slices.keys]
    return [", ".join(value_name(fitted, *each) for each in key) or "all" for key in keys]


def slices_chart(fitted: Embeddings) -> plots.Chart:
    """The running words in each slice as bars."""
    frame = pd.DataFrame({"slice": slice_names(fitted), "tokens": fitted.slices["tokens"]})
    return plots.bars(frame, x="tokens", y="slice", panels=[], width=400)


def corpus_title(fitted: Embeddings, otherwise: str) -> str:
    """The name of the text that a model was fitted on, made from that of its source, or `otherwise` if it has none.

    A source is a file, a folder or a glob, or is described in words ("the State of the Union addresses").
    """
    sources = (fitted.settings.get("tokens") or {}).get("sources") or []
    if len(sources) != 1 or sources[0].startswith("a ") or re.fullmatch(r"\d+ files", sources[0]):
        return otherwise  # a frame, a list, or several files
    name = next((part for part in reversed(re.split(r"[/\\]", sources[0])) if part and "*" not in part), "")
    name = re.sub(r"(\.[A-Za-z]\w{0,7})+$", "", name) or otherwise
    return name[:1].upper() + name[1:] if " " in name else name


def slices_tables(fitted: Embeddings) -> list[dict[str, Any]]:
    """The running words of each slice as a table by two columns; of more columns, a table for each.

    A table has "heads" and "rows", each row a "name" and "cells" with "tokens" and their share of the largest.
    """
    if not fitted.columns:
        return []
    names = sorted(fitted.columns, key=lambda name: (not fitted.ordered(name), -len(fitted.values(name))))
    if len(names) == 2 and len(fitted.values(names[1])) <= MAX_TABLE_COLUMNS:
        tables = [(names[0], fitted.slices.pivot_table(index=names[0], columns=names[1], values="tokens", sort=False))]
        tables[0] = (names[0], tables[0][1].reindex(columns=fitted.values(names[1])))
    else:
        tables = [(name, fitted.slices.groupby(name, sort=False)[["tokens"]].sum()) for name in names]
    made = []
    for name, table in tables:
        table = table.reindex(fitted.values(name)).fillna(0).astype(int)
        most = max(int(table.to_numpy().max()), 1)
        is_crossed = len(tables) == 1 and len(names) == 2
        heads = [value_name(fitted, names[1], str(value)) for value in table.columns] if is_crossed else ["tokens"]
        rows = [
            {
                "name": value_name(fitted, name, str(value)),
                "cells": [{"tokens": int(n), "share": round(100 * int(n) / most, 1)} for n in numbers],
            }
            for value, numbers in zip(table.index, table.to_numpy())
        ]
        made.append({"heads": [name, *heads], "rows": rows[:MAX_TABLE_ROWS], "left_out": len(rows[MAX_TABLE_ROWS:])})
    return made


def describe_size(fitted: Embeddings) -> str:
    """The numbers of words, tokens and slices, in one sentence."""
    words = " and ".join(
        f"{len(v):,} words" + (f" of {v.language}" if v.language else "") for v in fitted.rows.vocabularies
    )
    size = f"{words} in {int(sum(counts.sum() for counts in fitted.counts)):,} running words of text"
    if not fitted.columns:
        return f"{size}, with one vector each."
    by = " and ".join(f"{name} ({len(fitted.values(name))} values)" for name in fitted.columns)
    return f"{size}, with a vector for each of {len(fitted.slices)} slices: by {by}."


def describe_prior(fitted: Embeddings) -> list[str]:
    """What the prior assumes, a sentence for each of its parts."""
    parts = [prior.sentence(described) for prior, described in saved_priors(fitted.settings)]
    sentences = [sentence for sentence in parts if sentence is not None]
    if len(sentences) < len(parts) or not parts:
        prior = fitted.settings.get("model", {}).get("prior")
        sentences.append(f"The prior: {prior}." if prior else "These vectors came without a prior.")
    if tied := fitted.rows.tied_words(fitted.slot):
        sentences.append(f"Words of one language that it ties: {tied}.")
    if edges := fitted.graph.edges:
        sentences.append(f"As a graph, that is {edges:,} edges between {len(fitted.graph):,} vectors.")
    return sentences


def describe_fit(fitted: Embeddings) -> list[str]:
    """The likelihood and the course of the fit, in sentences."""
    model, seed = fitted.settings.get("model"), fitted.settings.get("training", {}).get("seed")
    if not model:
        return ["These vectors were not fitted by laplex."]
    sentences = [
        f"In the likelihood, {Likelihood.of(model['likelihood']).description}, {model['window']} words to each side, "
        f"against {model['negatives']} drawn at random. A vector has {model['dimensions']} dimensions."
    ]
    history = fitted.history
    if len(history):
        held_out = history["held_out"].iloc[-1] if "held_out" in history else None
        judged = "" if pd.isna(held_out) else f", and {held_out:.3f} in documents that were held out"
        sentences.append(
            f"After {len(history)} passes over the text the log likelihood is "
            f"{history['log_likelihood'].iloc[-1]:.3f} per token{judged}."
        )
    if seed is not None:
        sentences.append(f"The seed was {seed}.")
    return sentences


def describe_small_slices(fitted: Embeddings) -> str | None:
    """A warning about slices with little text; None if there are none."""
    tokens = fitted.slices["tokens"].tolist()
    small = [f"{name} ({n:,})" for name, n in zip(slice_names(fitted), tokens) if n < SMALL_SLICE_TOKENS]
    if not small or not fitted.columns:
        return None
    return (
        f"{len(small)} of {len(tokens)} slices have fewer than {SMALL_SLICE_TOKENS:,} running words: "
        f"{quote(small, 6)}. Their vectors depend more on the prior than on their own text."
    )


def settings_table(fitted: Embeddings) -> list[dict[str, str]]:
    """All settings of the model, its training and its text, with which the fit can be repeated."""
    rows = []
    for part in ("model", "training", "tokens"):
        for name, value in fitted.settings.get(part, {}).items():
            if name not in ("beliefs", "folder") and value not in (None, [], [""]):
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                rows.append({"part": part, "setting": name, "value": text})
    return rows
