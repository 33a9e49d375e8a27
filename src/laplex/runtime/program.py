"""The program that runs: the version of the package, and the command line, which models keep."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import version

__version__ = version("laplex")

_COMMAND: ContextVar[tuple[str, ...]] = ContextVar("command", default=())


@contextmanager
def record_command(arguments: Sequence[str]) -> Iterator[None]:
    """Record in models that are fitted meanwhile that `laplex` was run with these arguments."""
    token = _COMMAND.set(tuple(arguments))
    try:
        yield
    finally:
        _COMMAND.reset(token)


def recorded_command() -> list[str]:
    """The arguments that `laplex` was run with; empty in Python."""
    return list(_COMMAND.get())
