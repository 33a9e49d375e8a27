"""Planted differences for `calibration.py`: words that are swapped, and words that are only thinned."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from trial import BANDS, Trial, both_p, difference_of, enough, fit, permuted

import laplex as lx
from laplex.inference.scores import ScorePass, ScoreTable
from laplex.inference.units import Options, Units
from laplex.runtime import storage


def changed(tokens: lx.Tokens, ids: NDArray[np.int32], folder: Path) -> lx.Tokens:
    """The same tokens with other words (−1: taken out), and counted anew."""
    saved = storage.load(tokens.folder, "tokens")
    kept = ids >= 0
    before = np.concatenate([[0], np.cumsum(kept)])
    counts = np.bincount(ids[kept], minlength=len(tokens.vocabularies[0])).astype(np.int64)
    arrays = saved.arrays | {"ids": ids[kept], "offsets": before[tokens.offsets], "counts/0": counts}
    storage.save(folder, "tokens", saved.settings, arrays)
    return lx.Tokens(storage.load(folder, "tokens"))


def some_labelling(trial: Trial, cluster: str | None, seed: int) -> tuple[Units, NDArray[np.bool_], int]:
    """Units with permuted labels; which documents are of the first group, and its label."""
    units = next(permuted(trial.units(cluster), 1, seed))
    first = int(units.label[0])
    inside = np.zeros(trial.tokens.documents, bool)
    inside[units.documents] = np.repeat(units.label == first, np.diff(units.start))
    return units, inside, first


def hide(text: ScorePass, tokens: lx.Tokens, ids: NDArray[np.int32], words: list[int]) -> None:
    """Occurrences that are −1 are none of the word any more, but what others have around them stays as it was."""
    size = len(tokens.vocabularies[0])
    double = np.arange(size, dtype=np.int32)
    double[words] = size + np.arange(len(words))
    inner = text.text
    alpha, keep = (np.concatenate([values, values[words]]) for values in (inner.alpha, inner.keep))
    text.text = inner._replace(ids=np.where(ids < 0, double[tokens.ids], tokens.ids), alpha=alpha, keep=keep)
    text.find_units()


def tested(text: ScorePass, units: Units, words: list[int]) -> Found:
    """(2, words) p-values: as `contrast` gives them, and by the formula."""
    test = difference_of(units, text)

    def ask(table: ScoreTable) -> tuple[float, float]:
        return both_p(table, *test) if enough(table, table.label) else (np.nan, np.nan)

    return np.array(list(text.run(list(range(len(words))), ask))).T


def swapped(
    trial: Trial, inside: NDArray[np.bool_], words: list[int], bands: NDArray[np.int64], share: float, seed: int
) -> NDArray[np.int32]:
    """Pairs of words of a band change places in some documents, at a share of their occurrences."""
    counts = trial.tokens.vocabularies[0].counts
    other = np.arange(len(counts), dtype=np.int32)
    for band in range(len(BANDS)):
        mine = sorted((w for w, b in zip(words, bands) if b == band), key=lambda w: counts[w])
        for one, two in zip(mine[::2], mine[1::2]):
            other[one], other[two] = two, one
    ids = np.array(trial.tokens.ids)
    here = np.repeat(inside, np.diff(trial.tokens.offsets))
    moved = here & (np.random.default_rng([seed, 1]).random(len(ids)) < share)
    ids[moved] = other[ids[moved]]
    return ids


def thinned(trial: Trial, inside: NDArray[np.bool_], words: list[int], seed: int) -> NDArray[np.int32]:
    """Half the occurrences of words are taken out in some documents."""
    chosen = np.zeros(len(trial.tokens.vocabularies[0]), bool)
    chosen[words] = True
    ids = np.array(trial.tokens.ids)
    here = np.repeat(inside, np.diff(trial.tokens.offsets))
    ids[here & chosen[ids] & (np.random.default_rng([seed, 2]).random(len(ids)) < 0.5)] = -1
    return ids


Found = NDArray[np.float64]


def planted(trial: Trial, share: float | None, runs: int, hidden: bool = False) -> pd.DataFrame:
    """Rejections at 5% by band, where a share was swapped, or with None half of some words was taken out.

    A few words are thinned at a time, or the contexts of the others would really differ. Those of the word itself do,
    where it often stands in its own window, unless occurrences are only `hidden`.
    """
    rows = []
    words, bands = trial.words, trial.bands
    for cluster in (trial.source.cluster, None):
        p = np.full((runs, 2, len(words)), np.nan)
        for seed in range(runs):
            mine = np.arange(len(words)) if share is not None else np.arange(seed % 10, len(words), 10)
            some = [words[i] for i in mine]
            units, inside, _ = some_labelling(trial, cluster, seed)
            if share is None:
                ids = thinned(trial, inside, some, seed)
            else:
                ids = swapped(trial, inside, some, bands, share, seed)
            with tempfile.TemporaryDirectory() as folder:
                tokens = trial.tokens if hidden else changed(trial.tokens, ids, Path(folder) / "text")
                model = trial.free if share is None else fit(tokens, trial.free.dimensions)
                text = ScorePass(tokens, units, model, some, 0, Options(quiet=True))
                if hidden:
                    hide(text, tokens, ids, some)
                p[seed][:, mine] = tested(text, units, some)
        for way, label in enumerate(("", ", formula")):
            what = "thinned, hidden" if hidden else "thinned"
            row: dict[str, object] = {"planted": what if share is None else f"{share:.0%} swapped"}
            row["test"] = f"by {cluster or 'document'}{label}"
            rows.append(row | by_band(p[:, way], bands))
    return pd.DataFrame(rows)


def by_band(p: Found, bands: NDArray[np.int64]) -> dict[str, float]:
    """Rejections at 5%; p is (runs, words)."""
    found = {f"{low:,}–{high:,}": rejected(p[:, bands == band]) for band, (low, high) in enumerate(BANDS)}
    return found | {"all": rejected(p)}


def rejected(p: Found) -> float:
    return float((p[np.isfinite(p)] < 0.05).mean())
