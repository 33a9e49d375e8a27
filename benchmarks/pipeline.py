"""From a Parquet file to a saved model: laplex and the fastest pipeline with gensim, in one run.

    python benchmarks/pipeline.py --data DATA [--texts wikipedia-en] [--likelihoods cbow] [--threads 2]

laplex  one process reads the file, makes the vocabulary, looks a lexicon up, fits and saves the model. The file is not
        in the page cache, the text not in laplex's. The kernels have been compiled before, as after any other fit.
gensim  Polars reads the file, makes words of it and writes the lines that `corpus_file` reads, gensim's fastest mode;
        then come `build_vocab`, `train` and saving. There is no lexicon.

Five epochs are taken for both. One is measured: whole for laplex, on the first 3M tokens with the vocabulary of all for
gensim. The four others take as long. Both have the same window, negatives, subsampling, dimensions and processors.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
from results import Aim, Section

EPOCHS = 5
PART_TOKENS = 3_000_000  # that gensim's epoch is measured on
FIT_TOKENS = 6_000_000  # of the fit without reading
FIT_EPOCHS = 2
WORDS_IN_LINE = 9_000  # gensim cuts a line at 10,000
LEXICON = "lexicons/strong-pairs.txt"
BARS = {"cbow": 4.0, "sgns": 8.0}
FIT_BARS = {"cbow": 3.0, "sgns": 6.0}
TEXTS = ("senate-press", "wikipedia-en")

TEXT = f"""Ratios are gensim's seconds to laplex's, from a Parquet file to a saved model with {EPOCHS} epochs; laplex
also ties the pairs of a lexicon. "before" is everything before the first epoch, imports included."""
FIT_TEXT = f"""`lx.fit` with 46,000 pairs, {FIT_EPOCHS} epochs and two threads, against `train` of gensim with
`corpus_file`. Set-up is everything before the first epoch; judging is that of held-out text, as a share of the
epochs."""


def drop_from_page_cache(path: Path) -> None:
    """Have the next reading of a file come from the disk."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def seconds_of(step: Callable[[], Any]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


# laplex, in a process of its own


def fit_file(path: Path, lexicon: Path, likelihood: str, dimensions: int, threads: int, epochs: int, out: Path) -> None:
    """Read, fit and save; prints the seconds of the epochs and the number of tokens."""
    import laplex as lx

    started = time.perf_counter()
    tokens = lx.Tokens.of(lx.read(path), min_count=5, cache=out.parent / "tokens", quiet=True)
    reading = time.perf_counter() - started
    model = lx.Model(prior=lx.Ridge() + lx.Pairs(lexicon), likelihood=likelihood, dimensions=dimensions)
    fitted = lx.fit(model, tokens, epochs=epochs, threads=threads, quiet=True)
    fitted.save(out)
    read = len(tokens) * 0.99  # without the held-out hundredth
    print(json.dumps({"epoch": read / fitted.history["tokens_per_second"].mean(), "reading": reading}))


def run_laplex(path: Path, data: Path, likelihood: str, dimensions: int, threads: int) -> dict[str, float]:
    """Seconds of the whole process with one epoch, of its epoch, and with all epochs."""
    with tempfile.TemporaryDirectory() as folder:
        drop_from_page_cache(path)
        command = [
            sys.executable,
            str(Path(__file__).resolve()),
            "--data",
            str(data),
            "--step",
            "laplex",
            "--file",
            str(path),
        ]
        options = {"likelihoods": likelihood, "dimensions": dimensions, "threads": threads, "out": f"{folder}/model"}
        command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
        start = time.perf_counter()
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, preexec_fn=limit_to(threads))
        whole = time.perf_counter() - start
    seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {"seconds": whole + (EPOCHS - 1) * seconds["epoch"], "before": whole - seconds["epoch"]} | seconds


def limit_to(threads: int) -> Callable[[], None]:
    """Let a process use as many processors as it has threads."""
    return lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


# gensim


def write_lines(path: Path, out: Path, tokens: int | None = None) -> None:
    """The words of a text as lines: lower case, without punctuation; only about the first `tokens` of them."""
    text = pl.scan_parquet(path).select(pl.col("text").str.to_lowercase().str.extract_all(r"[\p{L}\p{N}]+"))
    if tokens is not None:
        text = text.filter(pl.col("text").list.len().cum_sum() <= tokens)
    words = text.collect()["text"]
    with open(out, "w") as file:
        for document in words.to_list():
            for start in range(0, len(document), WORDS_IN_LINE):
                file.write(" ".join(document[start : start + WORDS_IN_LINE]) + "\n")


class Gensim:
    """A text as gensim reads it, and what its steps take."""

    def __init__(self, path: Path, folder: Path) -> None:
        from gensim.models import Word2Vec

        self.path, self.folder = path, folder
        drop_from_page_cache(path)
        self.lines, self.part = folder / "lines.txt", folder / "part.txt"
        self.writing = seconds_of(lambda: write_lines(path, self.lines))
        model = Word2Vec(vector_size=1, min_count=5)
        self.counting = seconds_of(lambda: model.build_vocab(corpus_file=str(self.lines)))
        self.counts = {word: model.wv.get_vecattr(word, "count") for word in model.wv.index_to_key}
        self.tokens, self.documents = model.corpus_total_words, model.corpus_count
        write_lines(path, self.part, PART_TOKENS)
        sizes = [len(line.split()) for line in self.part.read_text().splitlines()]
        self.part_tokens, self.part_lines = sum(sizes), len(sizes)  # without the right number of lines it is slower

    def seconds_of_epoch(self, likelihood: str, dimensions: int, threads: int) -> float:
        """Seconds of an epoch over all tokens, measured on the part."""
        from gensim.models import Word2Vec

        model = Word2Vec(
            vector_size=dimensions, window=5, negative=5, sg=int(likelihood == "sgns"), sample=1e-3, workers=threads
        )
        model.build_vocab_from_freq(self.counts, corpus_count=self.documents)
        count = {"total_examples": self.part_lines, "total_words": self.part_tokens, "epochs": 1}
        limit = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, limit[:threads])
        seconds = seconds_of(lambda: model.train(corpus_file=str(self.part), **count))
        os.sched_setaffinity(0, limit)
        self.saving = seconds_of(lambda: model.save(str(self.folder / "model")))
        return seconds * self.tokens / self.part_tokens

    def seconds(self, likelihood: str, dimensions: int, threads: int) -> float:
        """From the file to the saved model."""
        epoch = self.seconds_of_epoch(likelihood, dimensions, threads)
        return self.writing + self.counting + EPOCHS * epoch + self.saving


# the fit alone


def fit_alone(path: Path, data: Path, folder: Path) -> Section:
    """`lx.fit` of tokens that have been read, its set-up and judging, against `train`."""
    import laplex as lx

    frame = pl.read_parquet(path, columns=["text"])
    chosen = frame.head(int((frame["text"].str.count_matches(" ").cum_sum() < FIT_TOKENS).sum()) + 1)
    chosen.write_parquet(folder / "part.parquet")
    tokens = lx.Tokens.of(lx.read(folder / "part.parquet"), min_count=5, cache=folder / "tokens", quiet=True)
    peer = Gensim(folder / "part.parquet", folder)
    rows, aims = [], []
    for likelihood in BARS:
        model = lx.Model(prior=lx.Ridge() + lx.Pairs(data / LEXICON), likelihood=likelihood)
        lx.fit(model, tokens, epochs=1, threads=2, quiet=True)  # compiles
        with Stopwatch() as watch:
            seconds = seconds_of(lambda model=model: lx.fit(model, tokens, epochs=FIT_EPOCHS, threads=2, quiet=True))
        gensim = FIT_EPOCHS * peer.seconds_of_epoch(likelihood, 100, 2)
        ratio, share = gensim / seconds, watch.judging / watch.epochs
        row = {"likelihood": likelihood, "gensim, s": gensim, "laplex, s": seconds, "ratio": ratio}
        rows.append(row | {"set-up, s": seconds - watch.loop, "judging, share": share})
        name = likelihood.upper()
        aims += [Aim(f"{name}, fit alone against train", ratio, "times", at_least=FIT_BARS[likelihood])]
        aims += [Aim(f"{name}, set-up of a fit", seconds - watch.loop, "s", at_most=0.5)]
        aims += [Aim(f"{name}, judging held-out text", 100 * share, "% of an epoch", at_most=5.0)]
    return Section(f"The fit alone, {len(tokens):,} tokens of Wikipedia", FIT_TEXT, [pd.DataFrame(rows)], aims)


class Stopwatch:
    """Seconds that fits spend in the loop over epochs, in the engine and in judging held-out text."""

    def __enter__(self) -> Stopwatch:
        from laplex.engines.cpu import Cpu
        from laplex.fitting.epochs import EpochLoop
        from laplex.fitting.estimation import Estimation

        self.loop = self.epochs = self.judging = 0.0
        self._original = [
            self._watch(Cpu, "run", "epochs"),
            self._watch(Estimation, "held_out_likelihood", "judging"),
            self._watch(EpochLoop, "_read", "loop"),
            self._watch(EpochLoop, "_finish_epoch", "loop"),
        ]
        return self

    def _watch(self, owner: Any, method: str, total: str) -> tuple[Any, str, Any]:
        original = getattr(owner, method)

        def timed(*arguments: Any, **options: Any) -> Any:
            start = time.perf_counter()
            result = original(*arguments, **options)
            setattr(self, total, getattr(self, total) + time.perf_counter() - start)
            return result

        setattr(owner, method, timed)
        return owner, method, original

    def __exit__(self, *error: object) -> None:
        for owner, method, original in self._original:
            setattr(owner, method, original)


def measure_text(
    name: str, data: Path, likelihoods: list[str], dimensions: list[int], threads: list[int], folder: Path
) -> tuple[list[dict[str, Any]], list[Aim]]:
    """The rows and aims of one text."""
    path, few = data / f"{name}.parquet", folder / "few.parquet"
    pl.read_parquet(path, columns=["text"], n_rows=100).write_parquet(few)
    peer = Gensim(path, folder)
    rows, aims = [], []
    for likelihood in likelihoods:
        for size in dimensions:
            run_laplex(few, data, likelihood, size, max(threads))  # compiles, once on a machine
            for count in threads:
                mine, other = run_laplex(path, data, likelihood, size, count), peer.seconds(likelihood, size, count)
                row = {"text": name, "likelihood": likelihood, "dimensions": size, "threads": count}
                row |= {"gensim, s": other, "laplex, s": mine["seconds"], "ratio": other / mine["seconds"]}
                rows.append(row | {"before, s": mine["before"], "reading, s": mine["reading"]})
                print(rows[-1], file=sys.stderr, flush=True)
        least = min(row["ratio"] for row in rows if row["likelihood"] == likelihood)
        title = f"{likelihood.upper()}, {name}, file to saved model, the least ratio"
        aims.append(Aim(title, least, "times", at_least=BARS[likelihood]))
    return rows, aims


def measure(
    data: Path,
    texts: tuple[str, ...] = TEXTS,
    likelihoods: tuple[str, ...] = ("cbow", "sgns"),
    dimensions: tuple[int, ...] = (100, 300),
    threads: tuple[int, ...] = (1, 2),
) -> list[Section]:
    """All texts, and the fit alone."""
    rows, aims = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in texts:
            found = measure_text(name, data, [*likelihoods], [*dimensions], [*threads], Path(folder))
            rows += found[0]
            aims += found[1]
        alone = fit_alone(data / "wikipedia-en.parquet", data, Path(folder))
    return [Section("From file to saved model", TEXT, [pd.DataFrame(rows)], aims), alone]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", nargs="+", default=TEXTS)
    parser.add_argument("--likelihoods", nargs="+", default=["cbow", "sgns"])
    parser.add_argument("--dimensions", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--step", choices=["laplex"], help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.step:
        sizes = chosen.dimensions[0], chosen.threads[0], 1
        fit_file(chosen.file, chosen.data / LEXICON, chosen.likelihoods[0], *sizes, chosen.out)
        return
    for section in measure(chosen.data, chosen.texts, chosen.likelihoods, chosen.dimensions, chosen.threads):
        print(section.shown(), end="\n\n")


if __name__ == "__main__":
    main()
