"""What a tuning gives: the table of all that was tried, the chosen model, and its fit."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pandas as pd

from laplex import plots, storage
from laplex.embeddings import Embeddings
from laplex.exchange import neutral
from laplex.model import Model
from laplex.plots.chart import Chart


@dataclass(frozen=True, eq=False)
class Tuning:
    """Strengths chosen by held-out text.

    table   a row for each candidate: its strengths; the held-out `log_likelihood` of a token after `epochs` epochs; the
            `difference` to the best after the same number of epochs, with its standard error `se` over documents; the
            seconds it took; and which was chosen
    model   the model with the chosen strengths
    fitted  its fit, to all but the held-out documents: what lx.fit gives with the same options
    names   the strengths that were tuned
    """

    table: pd.DataFrame
    model: Model
    fitted: Embeddings
    names: tuple[str, ...]
    rule: str
    documents: int  # held out
    tokens: int

    def plot(self) -> Chart:
        """The curve: how much worse than the best every strength is."""
        return plots.curve(self.table, self.names)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file, as CSV."""
        with storage.replacing(path) as file:
            file.write(neutral(self.table).to_csv(index=False).encode())

    def __repr__(self) -> str:
        chosen = self.table[self.table["chosen"]].iloc[0]
        values = [chosen[name] for name in self.names]
        said = ", ".join(f"{n} {v:g}" if isinstance(v, float) else str(v) for n, v in zip(self.names, values))
        behind = f", {-chosen['difference']:.4f} (± {chosen['se']:.4f}) below the best" if chosen["difference"] else ""
        return (
            f"Tuning: {said} of {len(self.table)} tried, held-out log likelihood {chosen['log_likelihood']:.4f} a token"
            f"{behind} ({self.rule}; {self.documents:,} documents, {self.tokens:,} tokens)"
        )
