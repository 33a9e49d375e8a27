"""Runs the command line: `python -m laplex` is the same as `laplex`."""

from laplex.cli import main

main()
