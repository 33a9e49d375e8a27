"""`laplex fit`, `laplex tune` and `laplex demo`: estimate a model from a corpus and save it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

import laplex as lx
from laplex.cli.app import Csv, Plot, Quiet, answer, command, show, show_frame
from laplex.cli.corpora import Documents, Encoding, LanguageColumn, Missing, TextColumn, Tokenizer, show_summary
from laplex.errors import InputError
from laplex.fitting.estimation import DivergedError
from laplex.fitting.grid import Values
from laplex.model import likelihoods
from laplex.runtime.distributed import communicator
from laplex.text.tokens import Tokens

CorpusFile = Annotated[str, Argument(help="A corpus: a file, a folder or a glob in quotes.")]
Group = Annotated[list[str] | None, Option(help="A column of groups, such as the party; may be repeated.")]
GroupStrength = Annotated[float, Option(help="The strength of the prior that groups use a word alike.")]
KeptColumn = Annotated[
    list[str] | None, Option(help="A further column to keep, such as the speaker for later tests; may be repeated.")
]
Time = Annotated[str | None, Option(help="A column that holds dates or years.")]
Every = Annotated[str, Option(help="The length of a period: 1y, 10y, 6m, 2w.")]
TimeStrength = Annotated[float, Option(help="The strength of the prior that successive periods use a word alike.")]
PairFiles = Annotated[list[Path] | None, Option(help="A file of pairs of words of similar meaning; may be repeated.")]
PairsStrength = Annotated[float, Option(help="The strength of the prior that paired words have similar vectors.")]
Joined = Literal["word-word", "word-context", "context-context"]
Joins = Annotated[Joined, Option(help="Which vectors of the two words of a pair are joined.")]
TranslationFile = Annotated[Path | None, Option(help="A file of words and their translations.")]
TranslationsStrength = Annotated[
    float, Option(help="The strength of the prior that translations have similar vectors; with inf they share one.")
]
RidgeStrength = Annotated[float, Option(help="The strength of the prior that vectors are short.")]
Likelihood = Annotated[
    str, Option(help=f"How a word depends on the words around it: {' or '.join(likelihoods.Likelihood.names())}.")
]
Dimensions = Annotated[int, Option(help="The number of dimensions of a vector.")]
Window = Annotated[int, Option(help="The number of words on each side that form the context of a word.")]
Negatives = Annotated[int, Option(help="The number of negative samples for each occurrence of a word.")]
Subsample = Annotated[float, Option(help="Subsample words whose share of the text is larger; 0 keeps all.")]
MinCount = Annotated[int, Option(help="Leave out words that occur less often than this.")]
MaxWords = Annotated[int | None, Option(help="Keep at most this number of words, the most frequent.")]
Keep = Annotated[list[str] | None, Option(help="A word to keep even if it is rare; may be repeated.")]
Epochs = Annotated[int, Option(help="The number of passes over the text.")]
Threads = Annotated[int | None, Option(help="The number of threads. Default: all cores.")]
Seed = Annotated[int, Option(help="The random seed; with one thread, the same seed gives the same model.")]
Checkpoint = Annotated[Path | None, Option(help="A folder for checkpoints, from which an interrupted run continues.")]
Engine = Annotated[
    Literal["auto", "cpu", "torch", "reference"],
    Option(help="The engine that maximizes the posterior; auto uses a GPU if there is one, else the CPU."),
]

MODEL_OPTIONS = ("likelihood", "dimensions", "window", "negatives", "subsample", "absent")
READ_OPTIONS = ("text", "language_column", "tokenizer", "documents", "missing", "encoding")
TRAINING_OPTIONS = (
    *("engine", "epochs", "threads", "seed", "checkpoint", "checkpoint_minutes"),
    *("inference", "device", "precision", "merge_tokens"),
)


@command(
    "laplex fit speeches.parquet --text speech --group party --time date --every 2y "
    "--min-count 50 --out speeches.laplex"
)
def fit(
    file: CorpusFile,
    out: Annotated[Path, Option(help="The folder to save the model in.")],
    text: TextColumn = "text",
    group: Group = None,
    group_strength: GroupStrength = 100.0,
    column: KeptColumn = None,
    time: Time = None,
    every: Every = "1y",
    time_strength: TimeStrength = 100.0,
    pairs: PairFiles = None,
    pairs_strength: PairsStrength = 10.0,
    joins: Joins = "word-context",
    translations: TranslationFile = None,
    translations_strength: TranslationsStrength = math.inf,
    ridge: RidgeStrength = 1.0,
    likelihood: Likelihood = "cbow",
    dimensions: Dimensions = 100,
    window: Window = 5,
    negatives: Negatives = 5,
    subsample: Subsample = 1e-3,
    absent: Annotated[
        Literal["kept", "filled"],
        Option(
            help="Estimate vectors also in slices without the word (kept), or derive those from the prior (filled)."
        ),
    ] = "kept",
    language_column: LanguageColumn = None,
    min_count: MinCount = 5,
    max_words: MaxWords = None,
    keep: Keep = None,
    tokenizer: Tokenizer = None,
    documents: Documents = "lines",
    missing: Missing = "error",
    encoding: Encoding = "utf-8",
    epochs: Epochs = 5,
    threads: Threads = None,
    seed: Seed = 1,
    engine: Engine = "auto",
    device: Annotated[str | None, Option(help="The device of the torch engine: cuda, mps or cpu.")] = None,
    precision: Annotated[
        Literal["full", "mixed"],
        Option(help="The precision of the torch engine; mixed computes products in half precision."),
    ] = "full",
    rotate: Annotated[
        bool | None, Option(help="Rotate languages onto each other after an epoch. Default: if a prior joins them.")
    ] = None,
    merge_tokens: Annotated[
        int, Option(help="With several processes: tokens that each reads before their vectors are merged.")
    ] = 1_000_000,
    inference: Annotated[
        Literal["map", "variational"], Option(help="Estimate the posterior mode, or also standard deviations.")
    ] = "map",
    checkpoint: Checkpoint = None,
    checkpoint_minutes: Annotated[
        float | None, Option(help="Minutes between checkpoints, in addition to one after each epoch.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Fit word embeddings by group and through time, and save the model.

    Several processes, on one machine or many, can fit one model: torchrun --nproc-per-node 4 -m laplex fit ...
    """
    options = locals()
    is_first_rank = communicator().rank == 0
    quiet = quiet or not is_first_rank
    model = build_model(options)
    tokens = read_tokens(options, quiet)
    training = lx.Training(
        rotate="auto" if rotate is None else rotate, **{name: options[name] for name in TRAINING_OPTIONS}
    )
    try:
        fitted = lx.fit(model, tokens, training, quiet=quiet)
    except DivergedError as error:
        if error.last_good is not None and is_first_rank:
            error.last_good.save(out)
            show(f"the model after epoch {len(error.last_good.history)} is saved in {out}")
        raise
    if is_first_rank:
        fitted.save(out)
        show(f"{fitted!r}, saved in {out}")


def build_model(options: Mapping[str, Any]) -> lx.Model:
    """The model that the options of `laplex fit` or `laplex tune` describe: the sum of their priors, and the rest."""
    groups = dict.fromkeys(options["group"] or [])
    prior: lx.Prior = lx.Ridge(options["ridge"])
    for column in groups:
        prior = prior + lx.Groups(column, options["group_strength"])
    if options["time"]:
        prior = prior + lx.Chain("period", options["time_strength"])
    for path in dict.fromkeys(options["pairs"] or []):
        prior = prior + lx.Pairs(path, options["pairs_strength"], joins=options["joins"])
    if options["translations"]:
        prior = prior + lx.Translations(options["translations"], options["translations_strength"])
    vary = [*groups, *(["period"] if options["time"] else [])]
    return lx.Model(vary, prior, **{name: options[name] for name in MODEL_OPTIONS if name in options})


def read_tokens(options: Mapping[str, Any], quiet: bool) -> Tokens:
    """The tokens of the corpus that the options of `laplex fit` or `laplex tune` describe."""
    time = options["time"]
    columns = [*(options["group"] or []), *(options.get("column") or []), *([time] if time else [])]
    corpus = lx.read(options["file"], metadata=columns, **{name: options[name] for name in READ_OPTIONS})
    if time:
        corpus = corpus.periods(time, every=options["every"])
    words = {"min_count": options["min_count"], "max_words": options["max_words"], "keep": options["keep"] or ()}
    return Tokens.of(corpus, quiet=quiet, **words)


@command(
    "laplex tune speeches.parquet --text speech --group party --time date --strength "
    "party=1,10,100,1000 --strength period=auto --plot curve.pdf --out speeches.laplex"
)
def tune(
    file: CorpusFile,
    out: Annotated[Path | None, Option(help="The folder to save the chosen model in.")] = None,
    text: TextColumn = "text",
    strength: Annotated[
        list[str] | None,
        Option(
            help='Strengths to try: "1,10,100", or for one prior, named by its column or kind, "party=1,10" or '
            '"pairs=auto"; may be repeated. Default: auto for all priors except the ridge.'
        ),
    ] = None,
    rule: Annotated[
        Literal["best", "one-se"],
        Option(help="Choose the best strengths, or the largest within one standard error of the best."),
    ] = "best",
    holdout: Annotated[float | None, Option(help="The share of documents to hold out. Default: 0.01 to 0.2.")] = None,
    group: Group = None,
    group_strength: GroupStrength = 100.0,
    time: Time = None,
    every: Every = "1y",
    time_strength: TimeStrength = 100.0,
    pairs: PairFiles = None,
    pairs_strength: PairsStrength = 10.0,
    joins: Joins = "word-context",
    translations: TranslationFile = None,
    translations_strength: TranslationsStrength = 1e4,
    ridge: RidgeStrength = 1.0,
    likelihood: Likelihood = "cbow",
    dimensions: Dimensions = 100,
    window: Window = 5,
    negatives: Negatives = 5,
    subsample: Subsample = 1e-3,
    language_column: LanguageColumn = None,
    min_count: MinCount = 5,
    max_words: MaxWords = None,
    keep: Keep = None,
    tokenizer: Tokenizer = None,
    documents: Documents = "lines",
    missing: Missing = "error",
    encoding: Encoding = "utf-8",
    epochs: Epochs = 5,
    threads: Threads = None,
    seed: Seed = 1,
    checkpoint: Checkpoint = None,
    csv: Csv = None,
    plot: Plot = None,
    quiet: Quiet = False,
) -> None:
    """Choose the strengths of priors by how well the model predicts held-out documents."""
    options = locals()
    grid = _grid(strength or [])
    model = build_model(options)
    tokens = read_tokens(options, quiet)
    training = lx.Training(epochs=epochs, threads=threads, seed=seed)
    tuning = lx.tune(model, tokens, grid, training, rule=rule, holdout=holdout, checkpoint=checkpoint, quiet=quiet)
    answer(tuning.table, csv, plot, lambda _: tuning.plot())
    show(repr(tuning))
    if out is not None:
        tuning.fitted.save(out)
        show(f"{tuning.fitted!r}, saved in {out}")


def _grid(options: list[str]) -> dict[str, Values] | list[float] | Literal["auto"]:
    """Parse `--strength`: ["1,10"] is a list, ["party=1,10", "period=auto"] a grid by name, and [] is "auto"."""
    grid: dict[str, Values] = {}
    for option in options:
        name, separator, values = option.rpartition("=")
        if not separator and len(options) == 1:
            return _strengths(option)
        if not name or name in grid:
            raise InputError(f'--strength "{option}": write each as NAME=1,10,100, with its name once')
        grid[name] = _strengths(values)
    return grid or "auto"


def _strengths(values: str) -> list[float] | Literal["auto"]:
    if values == "auto":
        return "auto"
    try:
        return [float(value) for value in values.split(",")]
    except ValueError:
        raise InputError(f'--strength "{values}": write numbers with commas between them, or auto') from None


@command("laplex demo --out union.laplex")
def demo(
    out: Annotated[Path, Option(help="The folder to save the model in.")] = Path("demo.laplex"), quiet: Quiet = False
) -> None:
    """Fit the built-in State of the Union addresses by party and period, and show the words that differ most."""
    corpus = lx.demo().where(party=["Democratic", "Republican"]).periods("year", every="40y", start=1861)
    show_summary(corpus.summary(quiet=quiet))
    prior = lx.Ridge(1.0) + lx.Groups("party", 100.0) + lx.Chain("period", 100.0)
    model = lx.Model(vary=["party", "period"], prior=prior, likelihood="sgns")
    fitted = lx.fit(model, corpus, min_count=10, epochs=10, quiet=quiet)
    show("Words that the parties use most differently")
    show_frame(fitted.contrast("party", top=15, min_count=50))
    fitted.save(out)
    show(f"{fitted!r}, saved in {out}")
    page = out.with_suffix(".html")
    lx.report(fitted, page, title="State of the Union", quiet=quiet)
    show(f"a report is in {page}")
