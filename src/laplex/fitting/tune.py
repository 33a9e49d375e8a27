"""Tuning: the strengths of a prior are chosen by how well they predict held-out documents."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.errors import InputError, quote
from laplex.fitting.estimate import announce
from laplex.fitting.estimation import keep_tests
from laplex.fitting.grid import Candidate, Grid, Values
from laplex.fitting.race import Race, Results
from laplex.fitting.training import Training, as_tokens, split_token_options, suggest_unit
from laplex.model.likelihoods import Likelihood
from laplex.model.model import Model
from laplex.plots.chart import Chart
from laplex.questions.export import escape_formulas
from laplex.runtime import atomic
from laplex.runtime.display import bar, say
from laplex.text.corpus import Corpus
from laplex.text.tokens import Tokens

Rule = Literal["best", "one-se"]
HELD_OUT_TOKENS = 300_000  # to hold out, if that is not said
MIN_HOLDOUT, MAX_HOLDOUT = 0.01, 0.2  # shares of the documents


@dataclass(frozen=True, eq=False)
class Tuning:
    """Strengths chosen by held-out text: the result of `lx.tune`.

    Attributes:
        table: A row for each candidate: its strengths, the held-out `log_likelihood` per token after `epochs` epochs,
            the `difference` to the best after as many, its standard error `se`, the `seconds`, and which was `chosen`.
        model: The model with the chosen strengths.
        fitted: Its fit to all but the held-out documents: what `lx.fit` gives with the same options.
        names: The names of the strengths that were tuned.
        rule: How it was chosen.
        documents: The number of held-out documents.
        tokens: The number of held-out tokens.
    """

    table: pd.DataFrame
    model: Model
    fitted: Embeddings
    names: tuple[str, ...]
    rule: str
    documents: int
    tokens: int

    def plot(self) -> Chart:
        """How much worse than the best every strength is.

        Returns:
            A Chart.

        Example:
            lx.tune(model, speeches).plot().save("strengths.pdf")
        """
        return plots.curve(self.table, self.names)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a CSV file.

        Args:
            path: The file.

        Example:
            tuning.save("strengths.csv")
        """
        with atomic.replacing(path) as file:
            file.write(escape_formulas(self.table).to_csv(index=False).encode())

    def __repr__(self) -> str:
        chosen = self.table[self.table["chosen"]].iloc[0]
        values = [chosen[name] for name in self.names]
        strengths = ", ".join(f"{n} {v:g}" if isinstance(v, float) else str(v) for n, v in zip(self.names, values))
        behind = f", {-chosen['difference']:.4f} (± {chosen['se']:.4f}) below the best" if chosen["difference"] else ""
        return (
            f"Tuning: {strengths} of {len(self.table)} tried, held-out log likelihood {chosen['log_likelihood']:.4f} a "
            f"token{behind} ({self.rule}; {self.documents:,} documents, {self.tokens:,} tokens)"
        )


def tune(
    model: Model | Sequence[Model],
    corpus: Corpus | Tokens,
    grid: Mapping[str, Values] | Sequence[float] | Literal["auto"] = "auto",
    training: Training | None = None,
    *,
    rule: Rule = "best",
    holdout: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    tests: bool = True,
    quiet: bool = False,
    **options: Any,
) -> Tuning:
    """Choose the strengths of a model's prior by how well they predict held-out documents.

    All candidates run a fifth of the epochs, the better half goes on, and so to the last two, which run to the end.
    Documents of the same speakers are in both parts, so the strengths are those that predict more text of theirs.

    Args:
        model: A model; or, instead of a model and a grid, a list of models, the simplest first.
        corpus: A Corpus, or Tokens.
        grid: "auto" for all parts of the prior but Ridge: six values, a factor of ten apart, around the model's own,
            and more where the best is at an end. A list of strengths, if there is one such part. Or, by name,
            `{"party": [1, 10, 100], "period": "auto"}`, of which all combinations are tried. A part is called by its
            column, or by its kind in lower case, such as "ridge" or "pairs".
        training: The computational choices of each fit.
        rule: "best"; or "one-se" for the strongest prior that is within one standard error of the best.
        holdout: The share of documents to judge by; by default 1% to 20%, for about 300,000 tokens.
        checkpoint: A folder for the results; a tuning that was interrupted resumes from there.
        tests: Test the words of the chosen model, as `lx.fit` does.
        quiet: Print nothing.
        **options: Those of `lx.fit`: epochs, seed, threads, min_count, …

    Returns:
        A Tuning, with the table of all candidates, the chosen model and its fit.

    Example:
        model = lx.Model(["party"], lx.Ridge() + lx.Groups("party", 100.0))
        tuning = lx.tune(model, speeches, min_count=20)
        fitted = lx.fit(tuning.model, speeches, min_count=20, holdout=0.0)  # tuning.fitted, with all documents
    """
    if rule not in get_args(Rule):
        raise InputError(f'rule={rule!r}: write "best" or "one-se"')
    candidates = Grid.of(model, grid)
    token_options, rest = split_token_options(options)
    training = _training(candidates.candidates[0].model, training, holdout, rest)
    tokens = as_tokens(corpus, token_options, quiet)
    suggest_unit(candidates.candidates[0].model.vary, tokens, quiet)
    if training.engine != "reference":
        announce(candidates.candidates[0].model, tokens, training, quiet, of="each fit of ")
    if not training.holdout:
        share = HELD_OUT_TOKENS / max(len(tokens), 1)
        training = replace(training, holdout=min(MAX_HOLDOUT, max(MIN_HOLDOUT, share)))
    folder = atomic.scratch() if checkpoint is None else nullcontext(Path(checkpoint))
    with folder as path, bar("tuning", quiet=quiet) as progress:
        race = Race(candidates, tokens, training, Results(path), progress, quiet)
        cost = race.epochs_planned / race.last_rung
        say(f"{len(candidates.candidates)} candidates, about the time of {cost:.1f} fits", quiet=quiet)
        best = race.run()
        chosen = choose(race, best, rule)
        fitted = race.fit(chosen)
        race.delete_checkpoints(keep=chosen)
    for name in candidates.ends(best):
        say(f"the best {name}, {candidates.labels(best)[name]:g}, is at the end of what was tried", quiet=quiet)
    if tests:
        keep_tests(fitted, tokens, training.threads, quiet)
    table, lengths = _tabulate(race, best, chosen), race.text.lengths
    return Tuning(table, chosen.model, fitted, candidates.names, rule, len(lengths), int(lengths.sum()))


def _training(model: Model, training: Training | None, holdout: float | None, options: dict[str, Any]) -> Training:
    """The training of each fit; its holdout is 0 if it depends on the size of the text."""
    known = {field.name for field in fields(Training)}
    for name in options:
        if name not in known:
            raise InputError(f"tune has no {name}=; options of the fits are {quote(sorted(known), 30)}")
    if holdout is not None and not 0 < holdout < 1:
        raise InputError(f"holdout={holdout}: strengths are judged by held-out documents, so it is above 0 and below 1")
    if training is not None and holdout is None:
        holdout = training.holdout
    training = replace(training or Training(), **options, holdout=holdout or 0.0)
    if training.patience is not None:
        raise InputError(f"patience={training.patience}: fits are compared after equal epochs, so none may stop early")
    if training.checkpoint is not None:
        raise InputError("give checkpoint= to tune itself: every fit gets a folder of its own there")
    return training.with_defaults(Likelihood.of(model.likelihood))


def choose(race: Race, best: Candidate, rule: Rule) -> Candidate:
    """The best, or the simplest within one standard error of it; both are run to the end before it is chosen."""
    simplicity = race.grid.simplicity
    simpler = [one for one in race.outcomes if rule == "one-se" and simplicity(one) > simplicity(best)]
    for candidate in sorted(simpler, key=simplicity, reverse=True):
        if race.is_within_error(candidate, best):
            race.advance(candidate, race.last_rung)
            if race.is_within_error(candidate, best):
                return candidate
    return best


def _tabulate(race: Race, best: Candidate, chosen: Candidate) -> pd.DataFrame:
    """A row for each candidate, by strength."""
    rows = []
    for candidate, outcomes in sorted(race.outcomes.items(), key=lambda item: item[0].strengths):
        difference, error = race.compare(candidate, best)
        results = {
            "log_likelihood": race.mean(outcomes[max(outcomes)].sums)[0],
            "difference": difference,
            "se": error,
            "epochs": max(outcomes),
            "seconds": sum(outcome.seconds for outcome in outcomes.values()),
            "chosen": candidate is chosen,
        }
        rows.append(race.grid.labels(candidate) | results)
    return pd.DataFrame(rows)
