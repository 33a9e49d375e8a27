"""Choosing strengths by the text that is held out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal

from laplex import storage
from laplex.corpus import Corpus
from laplex.errors import InputError, quote
from laplex.model import Model
from laplex.progress import bar, say
from laplex.rows import Rows
from laplex.tokens import Tokens
from laplex.training import TOKEN_OPTIONS, Training
from laplex.tuning.choice import Rule, check_rule, choose, tabulate
from laplex.tuning.grid import Candidate, Grid, Values
from laplex.tuning.race import Race, planned
from laplex.tuning.result import Tuning
from laplex.tuning.results import Results

ENOUGH = 300_000  # held-out tokens
LEAST, MOST = 0.01, 0.2  # of the documents


def tune(
    model: Model | Sequence[Model],
    corpus: Corpus | Tokens,
    grid: Mapping[str, Values] | Sequence[float] | Literal["auto"] = "auto",
    training: Training | None = None,
    *,
    rule: Rule = "best",
    holdout: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    quiet: bool = False,
    **options: Any,
) -> Tuning:
    """Choose the strengths of a model's beliefs by how well they predict documents that were held out.

    grid        "auto" for all beliefs but Ridge: six values, a factor of ten apart, around the model's own, and more
                where the best stands at an end. A list of strengths if there is one such belief. Or, by name,
                {"party": [1, 10, 100], "period": "auto"}: all combinations are tried. A belief is called by its column,
                or by its kind in lower case, such as "ridge" or "pairs"
    rule        "best"; or "one-se": the strongest beliefs that are within one standard error of the best
    holdout     the share of documents to judge by; by default 1% to 20%, for about 300,000 tokens
    checkpoint  a folder to keep results in: a tuning that was stopped goes on from there
    options     those of `fit`: epochs, seed, threads, min_count, …

    Everyone runs a fifth of the epochs, the better half goes on, and so to the last two, which run to the end. A list
    of models may be given instead of a model and a grid, the simplest first.

        model = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 100.0))
        tuning = lx.tune(model, speeches, min_count=20)
        tuning.table, tuning.model, tuning.plot()
        fitted = lx.fit(tuning.model, speeches, min_count=20, holdout=0.0)     # tuning.fitted, with all documents

    Documents of the same speakers are in both parts, so the strengths are those that predict more text of theirs.
    """
    check_rule(rule)
    chosen_grid = Grid.of(model, grid)
    first = chosen_grid.candidates[0].model
    settings = {name: options.pop(name) for name in TOKEN_OPTIONS & set(options)}
    training = _training(first, training, holdout, options)
    if isinstance(corpus, Tokens) and settings:
        raise InputError(f"{', '.join(sorted(settings))} were chosen when the tokens were made")
    tokens = corpus if isinstance(corpus, Tokens) else Tokens.of(corpus, quiet=quiet, **settings)
    if not training.holdout:
        training = replace(training, holdout=min(MOST, max(LEAST, ENOUGH / max(len(tokens), 1))))
    _say_coverage(chosen_grid.candidates[0], tokens, quiet)
    with _folder(checkpoint) as folder, bar("tuning", quiet=quiet) as progress:
        race = Race(chosen_grid, tokens, training, Results(folder), progress, quiet)
        cost = planned(race.rungs, len(chosen_grid.candidates)) / race.last
        say(f"{len(chosen_grid.candidates)} candidates, about the time of {cost:.1f} fits", quiet=quiet)
        best = race.run()
        chosen = choose(race, best, rule)
        fitted = race.fit(chosen)
        race.finish(chosen)
    _say_ends(race, best, quiet)
    table = tabulate(race, best, chosen)
    lengths = race.judge.lengths
    return Tuning(table, chosen.model, fitted, chosen_grid.names, rule, len(lengths), int(lengths.sum()))


def _training(model: Model, training: Training | None, holdout: float | None, options: dict[str, Any]) -> Training:
    """Its hold-out is 0 if it is to be chosen by the size of the text."""
    known = {field.name for field in fields(Training)}
    for name in options:
        if name not in known:
            raise InputError(f"tune has no {name}=; options of the fits are {quote(sorted(known), 30)}")
    if holdout is not None and not 0 < holdout < 1:
        raise InputError(f"holdout={holdout}: strengths are judged by held-out documents, so it is above 0 and below 1")
    if training is not None and holdout is None:
        holdout = training.holdout
    whole = replace(training or Training(), **options, holdout=holdout or 0.0).completed(model.likelihood)
    if whole.patience is not None:
        raise InputError(f"patience={whole.patience}: fits are compared after equal epochs, so none may stop early")
    if whole.checkpoint is not None:
        raise InputError("give checkpoint= to tune itself: every fit gets a folder of its own there")
    return whole


@contextmanager
def _folder(checkpoint: str | os.PathLike[str] | None) -> Iterator[Path]:
    if checkpoint is not None:
        yield Path(checkpoint)
        return
    with storage.scratch() as folder:
        yield folder


def _say_coverage(candidate: Candidate, tokens: Tokens, quiet: bool) -> None:
    rows = Rows(tokens.vocabularies, tokens.slices(candidate.model.vary))
    for part in candidate.model.prior.parts:
        if found := part.coverage(rows):
            say(found, quiet=quiet)


def _say_ends(race: Race, best: Candidate, quiet: bool) -> None:
    for name in race.grid.ends(best):
        value = race.grid.labels(best)[name]
        say(f"the best {name}, {value:g}, is at the end of what was tried", quiet=quiet)
