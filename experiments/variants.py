"""Spelling variants as a prior: do vectors of misspelled words become better?

Errors of one letter are planted into a share of the occurrences of some words of the State of the Union addresses, as a
scan would. `lx.lexicons.variants` finds pairs; they are tied by `lx.Pairs`, and compared with the planted pairs, with
the planted words tied to wrong ones, and with no pairs.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import laplex as lx
from laplex.fitting.held_out import HeldOutText
from laplex.model.likelihoods import Likelihood

Ints = NDArray[np.int64]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def corrupt(word: str, random: np.random.Generator) -> str:
    """A word with one random edit."""
    place, letter = int(random.integers(1, len(word))), LETTERS[random.integers(26)]
    kind = random.integers(4)
    if kind == 0:
        return word[:place] + letter + word[place + 1 :]
    if kind == 1:
        return word[:place] + word[place + 1 :]
    if kind == 2:
        return word[:place] + letter + word[place:]
    return word[: place - 1] + word[place] + word[place - 1] + word[place + 1 :]


def plant(texts: list[list[str]], words: int, share: float, seed: int) -> tuple[list[list[str]], dict[str, str]]:
    """The texts with errors in a share of the occurrences of some words, and the right word of each wrong one."""
    random = np.random.default_rng([seed, 5])
    flat = pl.Series([word for text in texts for word in text]).value_counts(name="count").rename({"": "word"})
    usual = flat.filter(pl.col("count").is_between(60, 1500) & pl.col("word").str.contains(r"^[a-z]{5,}$"))
    chosen = random.permutation(usual.sort("word")["word"].to_numpy())[:words]
    known, right = set(flat["word"]), {}
    forms: dict[str, list[str]] = {}
    for word in chosen.tolist():
        while len(forms.setdefault(word, [])) < 2:
            wrong = corrupt(word, random)
            if wrong not in known and wrong not in right:
                right[wrong] = word
                forms[word].append(wrong)
    changed = [
        [forms[w][random.integers(2)] if w in forms and random.random() < share else w for w in text] for text in texts
    ]
    return changed, right


def token_scores(fitted: lx.Embeddings, text: HeldOutText) -> NDArray[np.float64]:
    """(n) The log likelihood of each held-out token."""
    settings = fitted.settings["model"]
    likelihood = Likelihood.of(settings["likelihood"])
    starts = text._row_starts("model", fitted)
    batches = text.batches(fitted, settings["negatives"], settings["noise_power"])
    prepared = (likelihood.prepare(batch, settings["window"], *starts) for batch in batches)
    return np.concatenate([likelihood.score(tokens, fitted.of_rows(tokens.rows)) for tokens in prepared])


def difference(scores: NDArray[np.float64], document: Ints, chosen: NDArray[np.bool_]) -> tuple[float, float]:
    """The mean of the chosen tokens' differences, and its standard error over documents."""
    if not chosen.any():
        return np.nan, np.nan
    mean = scores[chosen].mean()
    sums = np.bincount(document[chosen], scores[chosen] - mean)
    return float(mean), float(np.sqrt((sums**2).sum()) / chosen.sum())


def nearness(fitted: lx.Embeddings, pairs: Ints) -> tuple[float, float]:
    """The mean cosine of pairs of words, and how often the second is among the ten nearest of the first."""
    unit = fitted.matrix()
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    cosines = unit[pairs[:, 0]] @ unit.T
    own = cosines[np.arange(len(pairs)), pairs[:, 1]]
    rank = (cosines > own[:, None]).sum(1) - 1
    return float(own.mean()), float((rank < 10).mean())


def compare(
    train: lx.Tokens, test: lx.Tokens, lists: dict[str, list[tuple[str, str]]], args: argparse.Namespace
) -> None:
    """Fit with each list of pairs and without, and print the held-out likelihood of words that the lists have."""
    vocabulary = train.vocabularies[0]
    ids = {
        name: np.array([[vocabulary[a], vocabulary[b]] for a, b in pairs], np.int64) for name, pairs in lists.items()
    }
    for ridge in args.ridges:
        base: dict[str, NDArray[np.float64]] = {}
        options = [("none", 0.0, False)]
        options += [(name, s, d) for s in args.strengths for name in lists for d in (False, True)]
        for name, strength, directed in options:
            prior: lx.Prior = lx.Ridge(ridge)
            if strength:
                prior = prior + lx.Pairs(lists[name], strength, directed=directed)
            training = lx.Training(epochs=args.epochs, threads=1, seed=args.seed)
            fitted = lx.fit(lx.Model(prior=prior, dimensions=args.dimensions), train, training, quiet=True)
            text = HeldOutText.of_known_words(test, fitted, 0.0, 1, True)
            document = np.repeat(np.arange(len(text.lengths)), text.lengths)
            scores = token_scores(fitted, text)
            base = base or {"scores": scores}
            planted, found = ids.get("planted", np.zeros((0, 2), np.int64)), ids["found"]
            others = found[~np.isin(found[:, 0], planted[:, 0])]
            parts = {"all": np.ones(len(scores), bool), "planted": np.isin(text.ids, planted[:, 0])}
            parts |= {"right": np.isin(text.ids, planted[:, 1]), "other": np.isin(text.ids, others[:, 0])}
            row = f"{ridge:5g} {name:>9} {strength:5g} {'directed' if directed else '':8}"
            for part, chosen in parts.items():
                if not strength and chosen.any():
                    row += f"  {part} {scores[chosen].mean():.4f} (n {chosen.sum():,})"
                elif strength and chosen.any():
                    mean, error = difference(scores - base["scores"], document, chosen)
                    row += f"  {part} {mean:+.4f} ± {error:.4f}"
            if len(planted):
                cosine, near = nearness(fitted, planted)
                row += f"  cosine {cosine:.2f}, {near:.0%} in ten"
            print(row, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--text", type=Path, help="a Parquet file with a column of text; by default lx.demo()")
    parser.add_argument("--planted", type=int, default=300, help="words with errors")
    parser.add_argument("--share", type=float, default=0.15, help="of their occurrences that have errors")
    parser.add_argument("--ridges", type=float, nargs="+", default=[1.0, 10.0, 30.0])
    parser.add_argument("--strengths", type=float, nargs="+", default=[10.0, 100.0])
    parser.add_argument("--min-ratio", type=float, default=3.0, help="of the counts of the two words")
    parser.add_argument("--min-fit", type=float, default=4.0, help="in standard deviations")
    parser.add_argument("--dimensions", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--documents", type=int, help="read so many only")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    corpus = lx.demo() if args.text is None else lx.read(args.text, lowercase=False)
    original = lx.Tokens.of(corpus, min_count=1, quiet=True)
    names = np.array(original.vocabularies[0].words, object)
    order = np.random.default_rng([args.seed, 6]).permutation(original.documents)[: args.documents]
    texts = [names[original.document(i)].tolist() for i in order.tolist()]
    texts, right = plant(texts, args.planted, args.share, args.seed)
    held = len(texts) // 10
    train = lx.Tokens.of(lx.read([{"text": text} for text in texts[held:]]), quiet=True)
    test = lx.Tokens.of(lx.read([{"text": text} for text in texts[:held]]), min_count=1, quiet=True)
    vocabulary = train.vocabularies[0]
    planted = [(wrong, word) for wrong, word in right.items() if wrong in vocabulary and word in vocabulary]
    started = time.process_time()
    pairs = lx.lexicons.variants(train, min_ratio=args.min_ratio, min_fit=args.min_fit, quiet=True)
    seconds = time.process_time() - started
    found = list(zip(pairs.left, pairs.right, strict=True))
    both = set(found) & set(planted)
    print(f"{train}; {len(planted)} planted variants of {len({word for _, word in planted})} words")
    print(f"found {len(found)} pairs in {seconds:.1f} s, {len(both)} of them planted")
    print("others:", ", ".join(f"{rare}→{word}" for rare, word in found if (rare, word) not in both)[:1500])
    lists = {"found": found}
    if planted:
        shuffled = np.random.default_rng(args.seed).permutation([word for _, word in planted]).tolist()
        wrong = [(rare, word) for (rare, _), word in zip(planted, shuffled, strict=True)]
        lists = {"planted": planted, "found": found, "shuffled": wrong}
    compare(train, test, lists, args)


if __name__ == "__main__":
    main()
