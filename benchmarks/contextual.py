"""Contextual vectors: the speed of encoding and of the exact fit, and level and power of tests by senator.

    python benchmarks/contextual.py --data DATA [--encoder FOLDER] [--words 100] [--most 150] [--labellings 20]

speed    occurrences encoded a second by `lx.encode`'s batches and threads, against a plain loop over `transformers`
         with one text at a time; and the exact posterior of 1,000 words in 40 slices of a chain
level    party permuted by senator: the share of p-values under 5% and 1%
power    in one of the permuted groups, a share of the occurrences of two words of a band is swapped: the text of an
         occurrence has the other word in its place and is encoded again. The share of p-values under 5%, beside that of
         laplex's test with the contexts of CBOW on the same words, documents and labels

Nothing was chosen by these texts but the size of the sample of occurrences.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from planted import changed, some_labelling, swapped, tested
from results import record, shown_number
from trial import BANDS, SOURCES, Trial, begin, read

import laplex as lx
from laplex.engines.gaussian import GaussianPosterior, OccurrenceSums
from laplex.fitting.exact import word_graph
from laplex.inference.scores import ScorePass
from laplex.inference.units import Options
from laplex.model.rows import Rows
from laplex.runtime.processors import available_threads
from laplex.text.encoding import Encoder, encoded, rows_at, sample
from laplex.text.slices import Slices

SHARES = (0.1, 0.25, 0.5)
TIMED = 400  # occurrences
ALONE = 100  # of these, in the plain loop
GROUP, SENATOR = "party", "senator"
SAID = """At most {options.most} occurrences of each of {options.words} words, by senator in turn, encoded by MiniLM-L6
(last layer, mean of word pieces). The static test reads all occurrences of the same documents."""


def opened(folder: Path) -> Encoder:
    return Encoder(folder, [-1], "mean", 128, False, available_threads())


def plain_loop(rows: pl.DataFrame, folder: Path) -> float:
    """Occurrences a second by the documentation's way: one text at a time."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = transformers.AutoModel.from_pretrained(folder, local_files_only=True).eval()
    started = time.monotonic()
    for text, start, end in rows.select("text", "start", "end").iter_rows():
        split = tokenizer(text, return_offsets_mapping=True, return_tensors="pt", truncation=True, max_length=256)
        places = split.pop("offset_mapping")[0].tolist()
        with torch.no_grad():
            hidden = model(**split, output_hidden_states=True).hidden_states[-1][0]
        hidden[[i for i, (a, b) in enumerate(places) if a < end and b > start and b > a]].mean(0)
    return len(rows) / (time.monotonic() - started)


def speed(rows: pl.DataFrame, folder: Path, scratch: Path) -> pd.DataFrame:
    """Encoding, in turns of both ways, and the posterior."""
    some, alone, found = rows.head(TIMED), rows.head(ALONE), []
    for turn in range(3):
        encoder, started = opened(folder), time.monotonic()
        encoded(encoder, some, scratch / f"speed-{turn}", lambda *_: None)
        found.append((TIMED / (time.monotonic() - started), plain_loop(alone, folder)))
    ours, plain = np.median(found, axis=0)
    return pd.DataFrame(
        {
            "what": ["occurrences a second", "a plain loop", "ratio", "posterior of 1,000 words in 40 slices, s"],
            "measured": [ours, plain, float(np.median([a / b for a, b in found])), solve()],
        }
    )


def solve(words: int = 1_000, slices: int = 40, dimensions: int = 384) -> float:
    """The seconds of the exact posterior, means and variances."""
    random = np.random.default_rng(0)
    names = [f"w{i:04}" for i in range(words)]
    years = tuple((str(1980 + i),) for i in range(slices))
    slice_of = np.repeat(np.arange(slices, dtype=np.int32), words)
    vocabulary = lx.Vocabulary(names, np.full(words, slices))
    rows = Rows([vocabulary], Slices(("year",), years, slice_of))
    prior = lx.Ridge(1.0) + lx.Chain("year", 10.0)
    word = np.tile(np.arange(words), slices)
    vectors = random.standard_normal((2 * len(word), dimensions), np.float32)
    started = time.monotonic()
    graph, slot = word_graph(prior.parts, rows)
    row = slot[slice_of.astype(np.int64) * words + word].astype(np.int64)
    sums = OccurrenceSums.of(vectors, np.tile(row, 2), np.tile(word, 2), graph.own, words)
    GaussianPosterior(graph, sums).variance()
    return time.monotonic() - started


def both_encoded(
    trial: Trial, folder: Path, most: int, scratch: Path
) -> tuple[pl.DataFrame, NDArray[np.floating[Any]], NDArray[np.floating[Any]], dict[str, str]]:
    """Occurrences of the words, their vectors, those with the partner in their place, and the partners."""
    tokens = trial.tokens
    rows = rows_at(tokens, *sample(tokens, trial.words, [], most, 1), lambda *_: None)
    counts, spelled = tokens.vocabularies[0].counts, tokens.vocabularies[0].words
    partner: dict[str, str] = {}
    for band in range(len(BANDS)):
        mine = sorted((w for w, b in zip(trial.words, trial.bands) if b == band), key=lambda w: counts[w])
        for one, two in zip(mine[::2], mine[1::2]):
            partner |= {spelled[one]: spelled[two], spelled[two]: spelled[one]}
    texts, ends = [], []
    for word, text, start, end in rows.select("word", "text", "start", "end").iter_rows():
        other = partner.get(word, word)
        texts.append(text[:start] + other + text[end:])
        ends.append(start + len(other))
    changed = rows.with_columns(pl.Series("text", texts), pl.Series("end", ends))
    encoder = opened(folder)
    one, two = (encoded(encoder, some, scratch / name, said) for some, name in ((rows, "own"), (changed, "swapped")))
    return rows, one, two, partner


def said(share: float, text: str) -> None:
    print(f"encoding: {share:.0%} {text}", end="\r", flush=True)


def contextual_p(
    rows: pl.DataFrame, vectors: NDArray[np.floating[Any]], words: list[str], labels: dict[str, str]
) -> NDArray[np.float64]:
    """(words) p of the difference between labels of senators."""
    party = [labels.get(name, "") for name in rows[SENATOR]]
    kept = np.array([bool(one) for one in party])
    some = rows.with_columns(pl.Series(GROUP, party)).filter(pl.Series(kept))
    found = lx.occurrences(some, vectors[kept].astype(np.float32), metadata=[GROUP], unit=SENATOR)
    fitted = lx.fit(lx.Model([GROUP], lx.Ridge(1.0) + lx.Groups(GROUP, 10.0)), found, tests=False, quiet=True)
    table = fitted.inference(min_count=50, min_units=20, quiet=True).contrast(GROUP, words)
    return table.set_index("word")["p"].reindex(words).to_numpy(np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, required=True, help="the folder of an encoder")
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument("--most", type=int, default=150, help="occurrences of a word")
    parser.add_argument("--labellings", type=int, default=20)
    parser.add_argument(
        "--scratch", type=Path, required=True, help="a folder for the vectors, from which a run goes on"
    )
    parser.add_argument("--record", action="store_true", help="write VALIDITY.md")
    options = parser.parse_args()
    trial = begin(SOURCES["senate"], read(options.data, SOURCES["senate"]), 100, "cbow", options.words // len(BANDS))
    words = [trial.tokens.vocabularies[0].words[i] for i in trial.words]
    rows, own, other, partner = both_encoded(trial, options.encoder, options.most, options.scratch)
    tables = [speed(rows, options.encoder, options.scratch)]
    print(f"\n{tables[0].to_string(index=False)}", flush=True)
    senators = np.array(trial.tokens.values(SENATOR))
    found: dict[str, list[NDArray[np.float64]]] = {}
    for seed in range(options.labellings):
        units, inside, first = some_labelling(trial, SENATOR, seed)
        of_unit = trial.tokens.codes(SENATOR)[units.documents[units.start[:-1]]]
        labels = {str(senators[i]): "DR"[int(label == first)] for i, label in zip(of_unit, units.label)}
        found.setdefault("level", []).append(contextual_p(rows, own, words, labels))
        if seed >= options.labellings // 4:
            continue
        random = np.random.default_rng([seed, 1]).random(len(rows))
        for share in SHARES:
            moved = np.array([labels.get(name) == "R" for name in rows[SENATOR]]) & (random < share)
            named = [partner.get(w, w) if m else w for w, m in zip(rows["word"], moved)]
            vectors = np.where(moved[:, None], other, own)
            p = contextual_p(rows.with_columns(pl.Series("word", named)), vectors, words, labels)
            found.setdefault(f"{share:.0%} swapped", []).append(p)
            found.setdefault(f"{share:.0%} swapped, CBOW", []).append(static_p(trial, units, inside, share, seed))
    by_band = []
    for name, p in found.items():
        values, row = np.array(p), {"what": name}
        for band, (low, high) in enumerate(BANDS):
            mine = values[:, trial.bands == band]
            row[f"{low:,}–{high:,}"] = shown_number(float((mine[np.isfinite(mine)] < 0.05).mean()))
        values = values[np.isfinite(values)]
        row |= {"at 5%": shown_number(float((values < 0.05).mean())), "tests": f"{len(values):,}"}
        by_band.append(row | {"at 1%": shown_number(float((values < 0.01).mean()))})
    tables.append(pd.DataFrame(by_band))
    print(f"\n{tables[1].to_string(index=False)}")
    if options.record:
        text = (__doc__ or "").partition("\n\n    python")[0] + " " + SAID.format(options=options)
        record("Contextual vectors", text, tables)


def static_p(trial: Trial, units: Any, inside: NDArray[np.bool_], share: float, seed: int) -> NDArray[np.float64]:
    """p of laplex's test of text for the same swaps, with contexts that were fitted before them."""
    ids = swapped(trial, inside, trial.words, trial.bands, share, seed)
    with tempfile.TemporaryDirectory() as folder:
        tokens = changed(trial.tokens, ids, Path(folder) / "text")
        text = ScorePass(tokens, units, trial.free, trial.words, 0, Options(quiet=True))
        return tested(text, units, trial.words)[0]


if __name__ == "__main__":
    main()
