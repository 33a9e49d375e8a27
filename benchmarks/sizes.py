"""Sizes of differences that compare words: occurrences of a word are renamed by chance, which changes no difference.

    python benchmarks/sizes.py --data DATA [--corpora senate europarl years sotu] [--shares 0.5 0.25 0.1] [--record]

In each round some hundred words are chosen, and a share of the occurrences of each becomes another word, by chance.
Then all is estimated anew, and the renamed word is compared with the rest, between the same groups by the same units.

ratio        the sum of the squared sizes of the renamed words over that of the rest (1 is right), and its error
weighted     the same with each word weighted by the precision of its square, which makes the error smaller
covered      how often the 90% interval of the renamed word holds the size of the rest, which has noise of its own;
             "under" and "over" it otherwise
frequency    Spearman's correlation of size and frequency among the words that were not renamed
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from agreement import QUESTIONS, Question
from numpy.typing import NDArray
from results import record

import laplex as lx
from laplex.inference.score_test import Effect, difference_effect, group_scores
from laplex.inference.scores import ScorePass, ScoreTable
from laplex.inference.units import Options, gather
from laplex.runtime import storage

TEXT = """A share of the occurrences of some hundred words becomes another word, by chance, and everything is
estimated anew: the squared sizes of the renamed words over those of the rest (1 is right), plain and weighted
by precision, with standard errors; how often the 90% interval of a renamed word holds the size of the rest,
which has noise of its own (as much as the renamed word at a share of 0.5, so that less than 90% is to be
expected there); and Spearman's correlation of size and frequency among the rest. Aims: ratios within 10%,
coverage of 85 to 95%. Senate: parties by senator; europarl: two families by speaker, which hardly differ, so that the
ratio means nothing; years: 2005 and 2009 of the same debates by speech; sotu: 1821–1860 and 1941–1980 by paragraph."""
CORPORA = {"senate": "senate", "europarl": "europarl", "years": "europarl-years", "sotu": "sotu-eras"}
WORDS = 300  # of a round
LEAST = 50  # occurrences of a renamed word
LEAST_UNITS = 15  # of each group that use it
INTERVAL = 0.9


def rename(tokens: lx.Tokens, words: NDArray[np.int64], share: float, seed: int, folder: Path) -> lx.Tokens:
    """The tokens with a share of the occurrences of words as other words, which are behind the vocabulary."""
    saved, vocabulary = storage.load(tokens.folder, "tokens"), tokens.vocabularies[0]
    other = np.full(len(vocabulary), -1)
    other[words] = len(vocabulary) + np.arange(len(words))
    ids = np.array(tokens.ids)
    renamed = (other[ids] >= 0) & (np.random.default_rng(seed).random(len(ids)) < share)
    ids[renamed] = other[ids[renamed]]
    names = [*vocabulary.words, *(f"{vocabulary.words[word]}~" for word in words)]
    text, starts = storage.pack(names)
    counts = np.bincount(ids, minlength=len(names)).astype(np.int64)
    arrays = {"ids": ids.astype(np.int32), "counts/0": counts, "words/0/text": text, "words/0/starts": starts}
    storage.save(folder, "tokens", saved.settings, saved.arrays | arrays)
    return lx.Tokens(storage.load(folder, "tokens"))


def round_of(question: Question, tokens: lx.Tokens, share: float, dimensions: int, seed: int) -> pd.DataFrame:
    """A row for each word that could be tested both ways."""
    counts = tokens.vocabularies[0].counts
    frequent = np.flatnonzero((counts * share >= LEAST) & (counts < 30_000))
    words = np.random.default_rng([seed, 1]).permutation(frequent)[:WORDS]
    with tempfile.TemporaryDirectory() as folder:
        text = rename(tokens, words, share, seed, Path(folder) / "text")
        free = lx.fit(lx.Model(dimensions=dimensions), text, holdout=0.0, quiet=True)
        units = gather(text, question.column, question.unit, 0, {})
        ids = [*words.tolist(), *range(len(counts), len(counts) + len(words))]
        read = ScorePass(text, units, free, ids, 0, Options(quiet=True))
        groups = [[label] for label in np.unique(units.label).tolist()]
        enough = (read.counts()[1][:, np.ravel(groups)].min(1) >= LEAST_UNITS).reshape(2, -1).all(0)

        def ask(table: ScoreTable) -> Effect:
            scores = group_scores(table, groups)
            assert scores is not None
            return difference_effect(scores)

        chosen = np.flatnonzero(enough)
        effects = list(read.run([*chosen.tolist(), *(len(words) + chosen).tolist()], ask))
    rest, renamed = effects[: len(chosen)], effects[len(chosen) :]
    ends = np.array([effect.interval(INTERVAL) for effect in renamed])
    return pd.DataFrame(
        {
            "count": counts[words[chosen]],
            "rest": [effect.square for effect in rest],
            "renamed": [effect.square for effect in renamed],
            "precision": [1 / (effect.variance + 1e-6) for effect in renamed],
            "lower": ends[:, 0],
            "upper": ends[:, 1],
        }
    )


def summary(frame: pd.DataFrame) -> dict[str, float]:
    random, truth = np.random.default_rng(0), frame["rest"].clip(lower=0.0)
    samples = random.integers(len(frame), size=(500, len(frame)))
    found: dict[str, float] = {"words": len(frame)}
    # precisions of few words are much larger than the others, and would decide alone
    limited = frame["precision"].clip(upper=frame["precision"].quantile(0.75))
    for name, weight in (("ratio", pd.Series(1.0, frame.index)), ("weighted", limited)):
        one, two = (weight * frame["renamed"]).to_numpy(), (weight * frame["rest"]).to_numpy()
        found |= {name: one.sum() / two.sum(), f"± {name}": (one[samples].sum(1) / two[samples].sum(1)).std()}
    found["covered"] = ((frame["lower"] <= truth) & (truth <= frame["upper"])).mean()
    found |= {"under": (truth < frame["lower"]).mean(), "over": (truth > frame["upper"]).mean()}
    return found | {"frequency": frame["rest"].corr(frame["count"], method="spearman")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the corpora")
    parser.add_argument("--corpora", nargs="+", choices=list(CORPORA), default=list(CORPORA))
    parser.add_argument("--shares", type=float, nargs="+", default=[0.5, 0.25, 0.1])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dimensions", type=int, default=50)
    parser.add_argument("--record", action="store_true", help="write the table into VALIDITY.md")
    arguments = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LAPLEX_CACHE"] = cache
        for name in arguments.corpora:
            question = QUESTIONS[CORPORA[name]]
            tokens = lx.Tokens.of(question.corpus(arguments.data), min_count=20, quiet=True)
            for share in arguments.shares:
                rounds = [
                    round_of(question, tokens, share, arguments.dimensions, seed) for seed in range(arguments.rounds)
                ]
                row = {"corpus": name, "share": share} | summary(pd.concat(rounds, ignore_index=True))
                found.append(pd.DataFrame([row]))
                print(found[-1].to_string(index=False, float_format="{:.3f}".format), flush=True)
    if arguments.record:
        record("Sizes and frequency", TEXT, [pd.concat(found)])


if __name__ == "__main__":
    main()
