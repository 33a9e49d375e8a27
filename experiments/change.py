"""A yardstick for semantic change in little text: rank words by change, and compare with gold scores.

    python experiments/change.py --text text.parquet --gold graded.tsv --seeds 10 --out results/change

The text has a column of periods and one of text, split at spaces as it is (lemmas, say); the gold scores are lines of a
word and its change. Of several periods the first and the last are compared. Nothing is chosen by the gold scores: all
settings are the defaults of `lx.change`, which were chosen on planted changes (RESULTS.md).

words      every word: its gold score, what `lx.change` says with an interval, and its rank by each method
methods    Spearman's correlation with the gold scores, mean and standard deviation over seeds:

    laplex                        `lx.change`: contexts of uses, averaged over `--refits` fits
    laplex, one model             vectors that vary by period, joined by a prior; cosine of the two vectors
    separate models, aligned      gensim's SGNS for each period, orthogonal alignment, cosine
    compass                       gensim's SGNS, output vectors of the whole text held fixed (Di Carlo et al. 2019)
    temporal referencing          gensim's SGNS on the whole text, targets tagged by period (Dubossarsky et al. 2019)
    frequency                     difference of the logarithms of relative frequencies

A word of the list that the text writes otherwise (without the tag of "attack_nn", say, or in capitals) is found by its
other form. One that occurs in a single period counts as most changed if it occurs ten times there; words of which
nothing is known are put in the middle.
"""

from __future__ import annotations

import argparse
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from peers import Gensim
from report import Report
from scipy import stats
from scipy.linalg import orthogonal_procrustes

import laplex as lx
from laplex.text.periods import in_order

PERIOD, TEXT = "period", "text"
MIN_COUNT = 3
SURELY_USED = 10  # times in one period, of a word that the other does not have
SGNS = lx.Model(likelihood="sgns", dimensions=100, window=10)  # of gensim
SGNS_EPOCHS = 10
ONE_MODEL = lx.Model([PERIOD], lx.Ridge(10.0) + lx.Groups(PERIOD, 100.0), dimensions=50, window=10)
Floats = NDArray[np.float64]


def read_text(path: Path) -> pl.DataFrame:
    """The words of each document, and its period: the first or the last."""
    frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, separator="\t")
    if not {PERIOD, TEXT} <= set(frame.columns):
        frame = frame.select(frame.columns[:2]).rename(dict(zip(frame.columns, (PERIOD, TEXT))))
    frame = frame.select(pl.col(PERIOD, TEXT).cast(pl.String)).drop_nulls()
    periods = in_order(frame[PERIOD].unique().to_list())
    if len(periods) < 2:
        raise SystemExit(f"{path} has one period only, {periods}: there is nothing to compare")
    frame = frame.filter(pl.col(PERIOD).is_in([periods[0], periods[-1]]))
    words = frame[TEXT].str.normalize("NFC").str.extract_all(r"\S+")
    return frame.with_columns(words.alias(TEXT)).filter(words.list.len() > 0)


def read_gold(path: Path) -> dict[str, float]:
    """The score of each word; a first line that has none is a header."""
    gold = {}
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines()):
        word, *rest = line.replace(",", "\t").split("\t") if "\t" not in line else line.split("\t")
        try:
            gold[unicodedata.normalize("NFC", word.strip())] = float(rest[0])
        except (IndexError, ValueError):
            if number and line.strip():
                raise SystemExit(f"{path}, line {number + 1}: {line!r} is not a word and a number") from None
    return gold


def spelled_in(text: pl.DataFrame, words: Sequence[str]) -> dict[str, str]:
    """How the text spells words: as they are, else without their tag or with one, else in other case."""
    counts = dict(text[TEXT].explode().value_counts().iter_rows())
    others: dict[str, str] = {}
    for form in sorted(counts, key=lambda form: counts[form]):  # the most frequent of several is the last
        others |= {form.casefold(): form, form.rpartition("_")[0].casefold() or form: form}
    others |= {form.casefold(): form for form in counts}
    spelled = {}
    for word in words:
        bare = word.rpartition("_")[0] or word
        exact = [form for form in (word, bare) if form in counts]
        spelled[word] = [*exact, others.get(word.casefold(), others.get(bare.casefold(), ""))][0]
    return {word: form for word, form in spelled.items() if form}


def cosine_distances(one: Floats, two: Floats) -> Floats:
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(two, axis=1)
    return np.asarray(1 - (one * two).sum(1) / np.maximum(lengths, 1e-12))


class Change:
    """The methods, each of which gives the change of all words from a seed."""

    def __init__(self, text: pl.DataFrame, words: Sequence[str], refits: int) -> None:
        self.text, self.words, self.refits = text, list(words), refits
        self.tokens = self._tokens(text, words)
        self.vocabulary = self.tokens.vocabularies[0]
        self.documents = [np.flatnonzero(self.tokens.codes(PERIOD) == period).tolist() for period in (0, 1)]
        self.counts = self.tokens.counts(self.tokens.slices([PERIOD]))  # (2, V)
        self.ids = self.vocabulary.ids(self.words)
        self.uses = self.counts[:, self.ids]  # (2, n)
        self.values = self.tokens.values(PERIOD)
        self.tables: list[pd.DataFrame] = []  # of `lx.change`, by seed

    @staticmethod
    def _tokens(text: pl.DataFrame, keep: Sequence[str]) -> lx.Tokens:
        corpus = lx.read(text, metadata=[PERIOD])
        return lx.Tokens.of(corpus, min_count=MIN_COUNT, keep=keep, originals=False, quiet=True)

    def methods(self) -> Iterator[tuple[str, Callable[[int], Floats]]]:
        yield "laplex", self.contexts
        yield "laplex, one model", self.one_model
        if find_spec("gensim") is not None:
            yield "separate models, aligned", self.aligned
            yield "compass", self.compass
            yield "temporal referencing", self.temporal_referencing
        yield "frequency", self.frequency

    def contexts(self, seed: int) -> Floats:
        first = (seed - 1) * self.refits + 1  # no fit is used twice
        table = lx.change(self.tokens, PERIOD, self.words, refits=self.refits, seed=first, threads=1, quiet=True)
        self.tables.append(table.set_index("word").loc[self.words])
        return self.tables[-1]["estimate"].to_numpy(np.float64)

    def one_model(self, seed: int) -> Floats:
        options = {"epochs": 10, "drawn": 8, "holdout": 0.0, "threads": 1, "tests": False, "quiet": True}
        fitted = lx.fit(ONE_MODEL, self.tokens, seed=seed, **options)
        one, two = (fitted.matrix(at={PERIOD: value})[self.ids].astype(np.float64) for value in self.values)
        return cosine_distances(one, two)

    def _gensim(self, seed: int, tokens: lx.Tokens | None = None) -> Gensim:
        return Gensim(tokens or self.tokens, SGNS, epochs=SGNS_EPOCHS, threads=1, seed=seed)

    def aligned(self, seed: int) -> Floats:
        """Both sets of vectors have length one and mean zero over shared words before they are rotated."""
        gensim = self._gensim(seed)
        shared = self.counts.min(0) >= MIN_COUNT
        blocks = []
        for documents in self.documents:
            block = gensim.vectors(gensim.train(documents)).astype(np.float64)
            block /= np.linalg.norm(block, axis=1, keepdims=True)
            blocks.append(block - block[shared].mean(0))
        matrix = orthogonal_procrustes(blocks[0][shared], blocks[1][shared])[0]
        return cosine_distances(blocks[0][self.ids] @ matrix, blocks[1][self.ids])

    def compass(self, seed: int) -> Floats:
        """gensim holds its input vectors fixed, so those are the compass, and output vectors change."""
        gensim = self._gensim(seed)
        whole = gensim.train()
        blocks = [gensim.vectors(gensim.train(documents, compass=whole), outputs=True) for documents in self.documents]
        one, two = (block[self.ids].astype(np.float64) for block in blocks)
        return cosine_distances(one, two)

    @cached_property
    def tagged(self) -> lx.Tokens:
        """The text with a tag of the period on each use of the target words."""
        is_target = pl.col(TEXT).is_in(self.words)
        tagged = pl.when(is_target).then(pl.col(TEXT) + "@" + pl.col(PERIOD)).otherwise(pl.col(TEXT))
        uses = self.text.with_row_index("row").explode(TEXT).with_columns(tagged.alias(TEXT))
        text = uses.group_by("row", maintain_order=True).agg(pl.col(PERIOD).first(), TEXT).drop("row")
        return self._tokens(text, [f"{word}@{value}" for word in self.words for value in self.values])

    def temporal_referencing(self, seed: int) -> Floats:
        tokens = self.tagged
        gensim, vocabulary = self._gensim(seed, tokens), tokens.vocabularies[0]
        vectors = gensim.vectors(gensim.train()).astype(np.float64)
        ids = [vocabulary.ids([f"{word}@{value}" for word in self.words]) for value in self.values]
        distance = cosine_distances(vectors[ids[0]], vectors[ids[1]])
        return np.where((ids[0] >= 0) & (ids[1] >= 0), distance, np.nan)

    def frequency(self, seed: int) -> Floats:
        shares = (self.uses + 0.5) / self.counts.sum(1, keepdims=True)
        return np.asarray(np.abs(np.diff(np.log(shares), axis=0))[0])

    def filled(self, change: Floats) -> Floats:
        """What is known of the words that one period lacks."""
        known = np.isfinite(change) & (self.uses.min(0) > 0)
        middle, most = (np.median(change[known]), change[known].max()) if known.any() else (0.0, 0.0)
        lost = (self.uses.min(0) == 0) & (self.uses.max(0) >= SURELY_USED)
        return np.where(known, change, np.where(lost, most, middle))


def run(report: Report, text: pl.DataFrame, gold: dict[str, float], seeds: int, refits: int) -> tuple[float, float]:
    spelled = spelled_in(text, list(gold))
    for word in gold:
        if spelled.get(word) != word:
            print(f"{word} is {'not in the text' if word not in spelled else f'{spelled[word]} in the text'}")
    if len(spelled) < 2:
        raise SystemExit("the text has fewer than two of the words")
    forms = list(dict.fromkeys(spelled.values()))
    change = Change(text, forms, refits)
    scores, rows = {}, []
    frame = pd.DataFrame({"word": list(gold), "gold": list(gold.values())})
    for name, method in change.methods():
        found = np.array([change.filled(method(seed)) for seed in range(1, seeds + 1)])
        by_word = np.array([[*of_seed, np.median(of_seed)] for of_seed in found])  # the last of words that are unknown
        place = [forms.index(spelled[word]) if word in spelled else len(forms) for word in gold]
        by_word = by_word[:, place]
        correlations = [float(stats.spearmanr(of_seed, frame["gold"]).statistic) for of_seed in by_word]
        scores[name] = correlations
        spread = float(np.std(correlations, ddof=1)) if seeds > 1 else 0.0
        row = {"method": name, "spearman": float(np.mean(correlations)), "sd": spread}
        rows.append(row | {"lowest": min(correlations), "highest": max(correlations)})
        frame[name] = stats.rankdata(-by_word.mean(0), "ordinal")
        print(f"{name}: {row['spearman']:.3f} sd {spread:.3f}", flush=True)
        if name == "laplex":
            numbers = pd.concat(change.tables).groupby(level=0)[["estimate", "lower", "upper"]].mean()
            numbers = numbers.join(change.tables[0][["uses", "uses_against"]])
            frame = frame.join(numbers.reindex([spelled.get(word) for word in gold]).reset_index(drop=True))
    report.table("words", frame.sort_values("laplex"), "Change of words: gold scores, lx.change, and ranks by method")
    report.table("methods", pd.DataFrame(rows), f"Spearman's correlation with the gold scores, {seeds} seeds")
    pd.DataFrame(scores).to_csv(report.out / "seeds.csv", index_label="seed")
    return rows[0]["spearman"], rows[0]["sd"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--gold", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--refits", type=int, default=5, help="the number of fits that are averaged for each seed")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    text, gold = read_text(arguments.text), read_gold(arguments.gold)
    with Report(arguments.out, vars(arguments)) as report:
        mean, spread = run(report, text, gold, arguments.seeds, arguments.refits)
    print(f"\nspearman {mean:.3f} sd {spread:.3f}")


if __name__ == "__main__":
    main()
