"""The program itself: its options everywhere, and how it ends."""

from __future__ import annotations

import sys
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

import laplex as lx
from laplex.cli.answers import visible
from laplex.errors import LaplexError
from laplex.provenance import commanded


class _StoppedError(Exception):
    """Ctrl-C."""


class _Commands(typer.core.TyperGroup):
    """Hands Ctrl-C on to `main`: Typer would end without a word."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise _StoppedError from stop


app = typer.Typer(
    name="laplex",
    cls=_Commands,
    help="Word embeddings from text with metadata, under a graph prior.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but the answer.")]


def _version(asked: bool) -> None:
    if asked:
        print(f"laplex {lx.__version__}")
        raise typer.Exit


@app.callback()
def _everywhere(
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    pass


def _fail(message: str, code: int) -> NoReturn:
    Console(stderr=True).print(
        f"laplex: {visible(message)}", style="red", markup=False, highlight=False, soft_wrap=True
    )
    sys.exit(code)


def main() -> None:
    """The `laplex` command."""
    debug = "--debug" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]  # so that it may stand anywhere
    try:
        with commanded(arguments):
            app(arguments)
    except (KeyboardInterrupt, _StoppedError):
        if debug:
            raise
        _fail("stopped", 130)
    except LaplexError as error:
        if debug:
            raise
        _fail(str(error), 1)
