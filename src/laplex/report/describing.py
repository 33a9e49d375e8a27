"""A fitted model in words: what was read, what was believed, how it was fitted.

Embeddings come in; sentences and small tables go out, as plain text that whoever shows it has to escape.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from laplex.embeddings import Embeddings
from laplex.errors import quote

SMALL = 20_000  # tokens; a slice with fewer says little that the prior does not say

_JOINS = {"word-word": "their word vectors", "word-context": "word and context vectors"}
_LIKELIHOODS = {
    "cbow": "a word is predicted from the sum of the words around it (CBOW)",
    "sgns": "each of the words around a word is predicted from it (skip-gram)",
}


def describe_size(fitted: Embeddings) -> str:
    """How much there is, in one sentence."""
    words = " and ".join(
        f"{len(v):,} words" + (f" of {v.language}" if v.language else "") for v in fitted.rows.vocabularies
    )
    tokens = int(sum(counts.sum() for counts in fitted.counts))
    if not fitted.columns:
        return f"{words} in {tokens:,} running words of text, with one vector each."
    by = " and ".join(f"{name} ({len(fitted.values(name))} values)" for name in fitted.columns)
    return (
        f"{words} in {tokens:,} running words of text, with a vector for each of {len(fitted.slices)} slices: by {by}."
    )


def describe_prior(fitted: Embeddings) -> list[str]:
    """What was believed before reading, a sentence a belief."""
    model = fitted.settings.get("model", {})
    beliefs = model.get("beliefs") or ()
    said = [_BELIEFS[part["kind"]](part) for part in beliefs if part["kind"] in _BELIEFS]
    if len(said) < len(beliefs) or not said:
        said += [f"The prior: {model['prior']}."] if model.get("prior") else ["These vectors came without a prior."]
    graph = fitted.graph
    if graph.edges:
        said.append(f"As a graph, that is {graph.edges:,} edges between {len(graph):,} vectors.")
    return said


def describe_fit(fitted: Embeddings) -> list[str]:
    """The likelihood and the computation, in sentences."""
    model, training = fitted.settings.get("model"), fitted.settings.get("training", {})
    if not model:
        return ["These vectors were made elsewhere."]
    said = [
        f"In the likelihood, {_LIKELIHOODS[model['likelihood']]}, {model['window']} words to each side, against "
        f"{model['negatives']} drawn at random. A vector has {model['dimensions']} dimensions."
    ]
    history = fitted.history
    if len(history):
        held_out = history["held_out"].iloc[-1] if "held_out" in history else None
        judged = "" if pd.isna(held_out) else f", and {held_out:.3f} in documents that were held out"
        said.append(
            f"After {len(history)} passes over the text the log likelihood is "
            f"{history['log_likelihood'].iloc[-1]:.3f} per token{judged}."
        )
    if training.get("seed") is not None:
        said.append(f"The seed was {training['seed']}.")
    return said


def small_slices(fitted: Embeddings) -> pd.DataFrame:
    """The slices of which there is too little text to say much on their own."""
    slices = fitted.slices
    return slices[slices["tokens"] < SMALL].reset_index(drop=True)


def describe_small(fitted: Embeddings) -> str | None:
    """A warning about them, or None."""
    small = small_slices(fitted)
    if small.empty or not fitted.columns:
        return None
    named = [f"{', '.join(map(str, row[:-1]))} ({row[-1]:,})" for row in small.itertuples(index=False)]
    return (
        f"{len(small)} of {len(fitted.slices)} slices have under {SMALL:,} running words: {quote(named, 6)}. What is "
        "said of them comes from their neighbors in the prior more than from their own text."
    )


def settings_table(fitted: Embeddings) -> pd.DataFrame:
    """Every setting, for whoever wants to do it again."""
    rows = []
    for part in ("model", "training", "tokens"):
        for name, value in fitted.settings.get(part, {}).items():
            if name not in ("beliefs", "folder") and value not in (None, [], [""]):
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                rows.append({"part": part, "setting": name, "value": text})
    return pd.DataFrame(rows, columns=["part", "setting", "value"])


def _strength(part: Mapping[str, Any]) -> str:
    strength = part.get("strength")
    if strength is None:
        return "with strengths of their own"
    return "with infinite strength: exactly the same" if strength == "inf" else f"strength {strength:g}"


def _ridge(part: Mapping[str, Any]) -> str:
    of = {"words": "Word vectors", "contexts": "Context vectors"}.get(part.get("on", "all"), "Vectors")
    return f"{of} are short unless the text says otherwise ({_strength(part)})."


def _pairs(part: Mapping[str, Any]) -> str:
    joins = _JOINS.get(part.get("joins", ""), "their vectors")
    return f"Words that a lexicon pairs are alike in {joins} ({_strength(part)})."


_BELIEFS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "Ridge": _ridge,
    "Groups": lambda part: f"A word means nearly the same at every value of {part['column']} ({_strength(part)}).",
    "GroupMean": lambda part: f"The values of {part['column']} scatter around a shared meaning ({_strength(part)}).",
    "Chain": lambda part: f"A word changes slowly from one {part['column']} to the next ({_strength(part)}).",
    "Pairs": _pairs,
    "Translations": lambda part: f"Translations have nearly the same vector ({_strength(part)}).",
    "Anchor": lambda part: f"Vectors stay near those that were given ({_strength(part)}).",
    "Edges": lambda part: f"Words that a given graph joins are alike ({_strength(part)}).",
}
