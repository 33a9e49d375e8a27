"""What a fit will take, in memory and time, said before it starts; one that cannot fit into memory is refused."""

from __future__ import annotations

from dataclasses import dataclass

from laplex.engines.state import FLOATS_PER_CACHE_LINE
from laplex.errors import InputError
from laplex.fitting.training import Training
from laplex.model.model import Model
from laplex.runtime.display import say
from laplex.runtime.distributed import communicator
from laplex.runtime.memory import available_bytes
from laplex.runtime.processors import available_threads
from laplex.text.periods import have_order
from laplex.text.tokens import Tokens

BYTES_OF_STATE = 24  # of a vector besides its numbers: Adagrad's accumulator and the prior's shares
BYTES_OF_PRIOR = 290  # of a vector: edges, visits and numbers while the fit is prepared (benchmarks/slices.py)
BYTES_OF_CELL = 12  # of every word in every slice: its count, and the number of its vector
BYTES_OF_PACKAGE = 350_000_000
TOKENS_PER_SECOND = {"cbow": 2.0e6, "sgns": 0.7e6}  # of a thread, at 100 dimensions
WORTH_SAYING_BYTES, WORTH_SAYING_SECONDS = 1e9, 30.0  # less need not be known before
MANY_NUMBERS = 25  # values of a column that are numbers; as many groups are hardly meant


@dataclass(frozen=True)
class Requirements:
    """What a fit will take."""

    slices: int
    words: int
    vectors: int  # at most
    dimensions: int
    seconds: float

    @property
    def least_bytes(self) -> int:
        """What the vectors and their numbers take, however the fit goes on."""
        width = -(-self.dimensions // FLOATS_PER_CACHE_LINE) * FLOATS_PER_CACHE_LINE
        return self.vectors * (4 * width + BYTES_OF_STATE) + self.slices * self.words * BYTES_OF_CELL

    @property
    def bytes(self) -> int:
        """What it will take in all, about."""
        return self.least_bytes + self.vectors * BYTES_OF_PRIOR + BYTES_OF_PACKAGE

    def __str__(self) -> str:
        where = f" in {self.slices:,} slices" if self.slices > 1 else ""
        return (
            f"{self.vectors:,} vectors of {self.dimensions} dimensions ({self.words:,} words{where}): "
            f"about {_gigabytes(self.bytes)} of memory and {_duration(self.seconds)}"
        )


def estimate(model: Model, tokens: Tokens, training: Training) -> Requirements:
    """What one fit takes on this machine. The engine and its defaults are known."""
    slices = tokens.slices(model.vary)
    sizes = [len(vocabulary) for vocabulary in tokens.vocabularies]
    vectors = len(slices) * sum(sizes)
    if model.absent == "filled":
        vectors = sum(int(tokens.occurs(slices, language).sum()) for language in range(len(sizes)))
    threads = training.threads or available_threads()
    speed = TOKENS_PER_SECOND.get(model.likelihood, 0.7e6) * threads * 100 / max(model.dimensions, 25)
    seconds = len(tokens) * training.epochs / speed
    return Requirements(len(slices), sum(sizes), vectors + sum(sizes), model.dimensions, seconds)


def announce(model: Model, tokens: Tokens, training: Training, quiet: bool, *, of: str = "a fit of ") -> None:
    """Say what a fit will take, and raise an error if its vectors alone are more than the memory that is free."""
    _warn_of_numbers(model, tokens, quiet)
    if communicator().size > 1:
        return  # each rank has a part of the text, and the machines may differ
    found, free = estimate(model, tokens, training), available_bytes()
    if free is not None and found.least_bytes > free:
        ways = ["raise min_count= (fewer words)", "lower dimensions="]
        if found.slices > 1:
            ways.append("make fewer slices, with longer periods or coarser groups")
            if model.absent == "kept":
                ways.append('write absent="filled", by which only words that occur in a slice have vectors there')
        raise InputError(f"{found}, and {_gigabytes(free)} are free: {', or '.join([', '.join(ways[:-1]), ways[-1]])}")
    say(of + str(found), quiet=quiet or (found.bytes < WORTH_SAYING_BYTES and found.seconds < WORTH_SAYING_SECONDS))


def _warn_of_numbers(model: Model, tokens: Tokens, quiet: bool) -> None:
    """Say so if a column of many numbers is taken as groups that have no order."""
    for part in model.prior.parts:
        column = getattr(part, "column", None)
        if not part.joins_slices or column not in model.vary or type(part).chained_column(part.describe()):
            continue
        values = tokens.slices([column]).values(column)
        if len(values) > MANY_NUMBERS and have_order(values):
            say(
                f'the {len(values):,} values of "{column}" are numbers or times, such as {values[0]} and {values[1]}, '
                f"and {type(part).__name__} takes each as a group of its own, without their order: for time write "
                f'lx.Chain("{column}"), and to put them together corpus.bins("{column}") or '
                f'corpus.periods("{column}"); '
                "if they name persons or the like, all is well",
                quiet=quiet,
            )


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.0f} MB"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
