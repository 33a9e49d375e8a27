"""The Typer application: how commands are registered, options of every command, and errors as exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer
from rich.console import Console
from typer import Option

import laplex as lx
from laplex.cli.printing import visible
from laplex.errors import LaplexError
from laplex.runtime.display import width_of, wrap
from laplex.runtime.processors import available_threads
from laplex.runtime.program import record_command

Csv = Annotated[Path | None, Option("--csv", help="Also write the table to this CSV file.")]
Plot = Annotated[Path | None, Option("--plot", help="Also draw a chart: a .pdf, .svg, .png or .html file.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print the result, but no progress or messages.")]

# Threads of the linear algebra wait for work in a loop, by default long enough to double the work of a short command.
BLAS_SPIN = "20"  # the logarithm, to base 2, of how many cycles they do
OPTIONAL_VALUES = {"--phrases": "auto"}  # what an option means without a value


class _InterruptedError(Exception):
    """The user pressed Ctrl-C."""


class _Commands(typer.core.TyperGroup):
    """Passes Ctrl-C on to `main`, because Typer would exit without a message."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise _InterruptedError from interrupt


class _Command(typer.core.TyperCommand):
    """Lets options of OPTIONAL_VALUES stand without a value, for which Typer has no way."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        following = [*args[1:], "--"]
        values = {i: OPTIONAL_VALUES[arg] for i, arg in enumerate(args) if arg in OPTIONAL_VALUES}
        bare = {i: value for i, value in values.items() if following[i].startswith("-")}
        return super().parse_args(ctx, [f"{arg}={bare[i]}" if i in bare else arg for i, arg in enumerate(args)])


app = typer.Typer(
    name="laplex",
    cls=_Commands,
    help="Word embeddings from text with metadata, under a graph prior.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command(
    example: str, *, column_options: bool = False, shared: Callable[..., Any] | None = None
) -> Callable[[Any], Any]:
    """Register a command whose help ends with an example.

    With `column_options` it accepts unknown options, which name the columns of a model: --party D. With `shared` it has
    the Annotated parameters of that function as well, before its own keyword-only ones, and passes them on to it.
    """
    settings = {"ignore_unknown_options": True, "allow_interspersed_args": True} if column_options else {}

    def register(function: Any) -> Any:
        if shared is not None:
            own = dict(signature(function, eval_str=True).parameters)
            first = {name: option for name, option in own.items() if option.kind is option.POSITIONAL_OR_KEYWORD}
            both = first | dict(signature(shared, eval_str=True).parameters) | own
            options = [option for option in both.values() if get_origin(option.annotation) is Annotated]
            function.__signature__ = Signature([option.replace(kind=option.KEYWORD_ONLY) for option in options])
        return app.command(cls=_Command, epilog=f"Example: [bold]{example}[/bold]", context_settings=settings)(function)

    return register


def _print_version(requested: bool) -> None:
    if requested:
        print(f"laplex {lx.__version__}")
        raise typer.Exit


@app.callback()
def _common_options(
    debug: Annotated[bool, Option("--debug", help="Show the full traceback of an error.")] = False,
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the `laplex` command with the arguments of this process."""
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", BLAS_SPIN)
    os.environ.setdefault("OMP_NUM_THREADS", str(available_threads()))  # of the linear algebra, which ignores quotas
    debug = "--debug" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]  # accepted in any position
    try:
        with record_command(arguments), warnings.catch_warnings():
            warnings.showwarning = _show_warning
            app(arguments)
    except (KeyboardInterrupt, _InterruptedError, LaplexError) as error:
        if debug:
            raise
        message, code = (visible(str(error)), 1) if isinstance(error, LaplexError) else ("stopped", 130)
        _show_message(f"laplex: {message}", "red")
        sys.exit(code)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning without the place in the code that gave it."""
    _show_message(f"laplex: warning: {visible(str(message))}", "yellow")


def _show_message(text: str, style: str) -> None:
    console = Console(stderr=True, soft_wrap=True, markup=False, highlight=False)
    console.print(wrap(text, width_of(console)), style=style)
