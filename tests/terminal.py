"""What a user sees of a command in a terminal: lines that are too long, what is said twice, and what is suggested."""

from __future__ import annotations

import re
import shlex
from collections import Counter

PATH_LENGTH = 50
LONG_SENTENCE = 30  # characters; shorter ones may be rows of a table


def too_long(result, width=80):
    """The lines that are wider than the terminal, except for paths, which are not broken."""
    lines = [line.rstrip() for line in (result.stdout + result.stderr).splitlines()]
    return [line for line in lines if len(line) > width and len(line.split()[-1]) < PATH_LENGTH]


def repeated_sentences(result):
    """The sentences that are printed more than once, wherever their lines are broken."""
    paragraphs = re.split(r"\n\s*\n", result.stdout + "\n\n" + result.stderr)
    sentences = [part for text in paragraphs for part in re.split(r"(?<=[.:;!?])\s", " ".join(text.split()))]
    counts = Counter(sentence.strip(" .:;").lower() for sentence in sentences)
    return [sentence for sentence, count in counts.items() if count > 1 and len(sentence) > LONG_SENTENCE]


def next_commands(text):
    """The commands that are suggested, as a shell splits them."""
    _, found, suggested = text.partition("\nNext:\n")
    assert found, text
    return [shlex.split(line) for line in suggested.replace("\\\n", " ").splitlines()]
