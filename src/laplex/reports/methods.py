"""The methods paragraph of a report: what was done, in plain text that can be pasted into a paper.

It says what the model and its tests keep, and nothing that they do not: the corpus, the sampled unit, the model, its
strengths and how they were chosen, the tests, and the versions with which it can be repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from laplex.embeddings import Embeddings
from laplex.fitting.provenance import part_of, value_name
from laplex.model.likelihoods import Likelihood
from laplex.reports import describing

MAX_VALUES = 6  # of a column that are named


def methods(fitted: Embeddings, tests: Any, tables: Mapping[str, pd.DataFrame]) -> str:
    """A paragraph on how the findings of a report were made.

    Args:
        fitted: The model.
        tests: The `laplex.inference.Inference` that was asked.
        tables: The tables of findings, by column.

    Returns:
        Sentences of plain text.

    Example:
        print(methods(fitted, tests, {"party": tests.contrast("party")}))
    """
    sentences = [*_corpus(fitted), *_model(fitted)]
    for column, frame in tables.items():
        sentences += _comparison(tests, column, frame)
    if tables:
        sentences += _tests(tests, list(tables.values()))
    version = part_of(fitted.settings, "versions").get("laplex")
    used = f"laplex {version}" if version else "laplex"
    sentences.append(f"All was done with {used}, an implementation of PELP (Yrjänäinen and Magnusson, 2022).")
    return " ".join(sentences)


def _corpus(fitted: Embeddings) -> list[str]:
    tokens = part_of(fitted.settings, "tokens")
    rules = [rule for rule in tokens.get("tokenizers") or [] if isinstance(rule, Mapping)]
    documents = sum(int(rule.get("documents") or 0) for rule in rules)
    number = sum(int(counts.sum()) for counts in fitted.counts)
    words = " and ".join(
        f"{len(known):,} words{f' of {known.language}' if known.language else ''}" for known in fitted.rows.vocabularies
    )
    of = f" in {documents:,} documents" if documents else ""
    sentences = [f"The corpus has {number:,} running words{of}, of a vocabulary of {words}."]
    if (least := tokens.get("min_count") or 0) > 1:
        sentences.append(f"Words that occur fewer than {least} times were left out.")
    names = [str(rule.get("rule") or "") for rule in rules]
    if rules and not any(names):
        lower = "in lower case" if all(rule.get("lowercase") for rule in rules) else "in their case"
        sentences.append(f"Words are runs of letters and digits, {lower}.")
    elif rules:
        sentences.append(f"The tokenizer was {', '.join(dict.fromkeys(name or 'the default' for name in names))}.")
    if unit := tokens.get("unit"):
        sentences.append(f"The sampled unit is {unit}.")
    return sentences


def _model(fitted: Embeddings) -> list[str]:
    model, training = part_of(fitted.settings, "model"), part_of(fitted.settings, "training")
    if not model:
        return ["The vectors were not fitted by laplex."]
    varied = [f"{name} ({_values(fitted, name)})" for name in fitted.columns]
    by = (
        f"with a vector of each word for every combination of {' and '.join(varied)}" if varied else "one vector a word"
    )
    sentences = [
        f"Word vectors of {model['dimensions']} dimensions were estimated under a graph prior, {by}.",
        f"In the likelihood, {Likelihood.of(model['likelihood']).description}, {model['window']} words to each side, "
        f"against {model['negatives']} words drawn at random from the {model['noise_power']:g} power of their "
        "frequencies"
        + (f"; frequent words were subsampled at {model['subsample']:g}." if model.get("subsample") else "."),
        f"Under the prior, {'; '.join(_lower(part) for part in describing.describe_prior(fitted))}.",
    ]
    if fitted.tuning is not None:
        summary = str(fitted.tuning.attrs["summary"])
        sentences.append(f"Strengths were {summary.rstrip('.')}.")
    elif fitted.columns:
        sentences.append("Strengths were set, and not chosen by held-out text.")
    if training:
        threads = training.get("threads")
        sentences.append(
            f"The posterior mode was sought in {training['epochs']} passes over the text (seed {training['seed']}"
            + (f", {threads} thread{'s' if threads != 1 else ''})." if threads else ").")
        )
    return sentences


def _lower(sentence: str) -> str:
    """A sentence as a part of another."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _values(fitted: Embeddings, column: str) -> str:
    values = [value_name(fitted, column, value) for value in fitted.values(column)]
    if len(values) <= MAX_VALUES:
        return ", ".join(values)
    return f"{len(values)} values, {values[0]} to {values[-1]}" if fitted.ordered(column) else f"{len(values)} values"


def _comparison(tests: Any, column: str, frame: pd.DataFrame) -> list[str]:
    """What was asked about a column, and how many words it was found for."""
    facts, question = frame.attrs.get("facts", {}), frame.attrs.get("question", tests.question(column))
    unit = facts.get("unit")
    by = f"{facts.get('units', 0):,} {f'values of {unit}' if unit else 'documents'}"
    tested, held = (frame.loc[rows, "word"].nunique() for rows in (frame["p"].notna(), frame["holds"]))
    how = (
        f"whether its contexts move along {column}"
        if question == "drift"
        else f"whether its contexts differ by {column}"
    )
    return [
        f"For each word with {facts.get('min_count'):,} uses or more, by at least {facts.get('min_units'):,} units "
        f"on each side, it was tested {how} ({by}); {held:,} of {tested:,} words do."
    ]


def _tests(tests: Any, tables: list[pd.DataFrame]) -> list[str]:
    """How p, its adjustment and the intervals were made, which is the same for all columns."""
    counted = pd.concat([frame.loc[frame["p"].notna(), "permutations"] for frame in tables])
    least, most = (int(counted.min()), int(counted.max())) if len(counted) else (0, 0)
    if most:
        number = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        p = (
            f"p was counted over {number} permutations of the residuals of whole units (Freedman and Lane; seed "
            f"{tests.seed}), or of their signs where units are on several sides"
        )
    else:
        p = "p was taken from a formula"
    return [
        "How often a side uses a word, and what it talks about in general, was taken out first; units with much text "
        "have less weight than in proportion to it.",
        f"{p}, and adjusted over the words of a table by Benjamini and Hochberg.",
        f"The size of a difference is the standard deviation, over the contexts of a word, of the difference in the "
        f"log odds that it occurs there, without noise; its {tests.interval:.0%} interval is over samples of units.",
        f"A difference is taken to hold if its adjusted p is at most {tests.level:g} and its interval begins at "
        f"{tests.min_effect:g} or more.",
    ]
