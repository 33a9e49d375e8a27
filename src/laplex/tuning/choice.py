"""Which candidate is taken, and the table of all.

A finished Race comes in. Two candidates are compared after as many epochs as both have run, document by document: the
standard error is that of the difference, over held-out documents.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import pandas as pd

from laplex.errors import InputError
from laplex.tuning.grid import Candidate
from laplex.tuning.race import Race

Rule = Literal["best", "one-se"]


def check_rule(rule: Any) -> None:
    if rule not in get_args(Rule):
        raise InputError(f'rule={rule!r}: write "best" or "one-se"')


def choose(race: Race, best: Candidate, rule: Rule) -> Candidate:
    """The best, or the simplest that is within one standard error of it; all compared have run to the end."""
    if rule == "best":
        return best
    simplicity = race.grid.simplicity
    simpler = [candidate for candidate in race.outcomes if simplicity(candidate) > simplicity(best)]
    for candidate in sorted(simpler, key=simplicity, reverse=True):
        if _is_within(race, candidate, best):
            race.advance(candidate, race.last)
            if _is_within(race, candidate, best):
                return candidate
    return best


def _is_within(race: Race, candidate: Candidate, best: Candidate) -> bool:
    difference, error = race.compared(candidate, best)
    return difference >= -error


def tabulate(race: Race, best: Candidate, chosen: Candidate) -> pd.DataFrame:
    """A row for each candidate, by strength."""
    rows = []
    for candidate in sorted(race.outcomes, key=lambda one: one.strengths):
        outcomes = race.outcomes[candidate]
        difference, error = race.compared(candidate, best)
        rows.append(
            race.grid.labels(candidate)
            | {
                "log_likelihood": race.judge.mean(outcomes[max(outcomes)].sums)[0],
                "difference": difference,
                "se": error,
                "epochs": max(outcomes),
                "seconds": sum(outcome.seconds for outcome in outcomes.values()),
                "chosen": candidate is chosen,
            }
        )
    return pd.DataFrame(rows)
