"""The corpus that comes with laplex: the State of the Union addresses.

233 addresses from 1790 to 2021, cut into passages of about 150 words that end with a sentence, with president,
party and year. They are works of the United States Government, free of copyright; NOTICE says where they are from.
"""

from __future__ import annotations

from pathlib import Path

from laplex.corpus import Corpus, read

NAME = "the State of the Union addresses"
PATH = Path(__file__).with_name("data") / "state-of-the-union.parquet"


def demo() -> Corpus:
    """The State of the Union addresses as a Corpus, a passage a document.

    >>> demo().columns
    ('president', 'party', 'year')
    """
    corpus = read(PATH, metadata=["president", "party", "year"])
    corpus.parts[0].source.name = NAME  # nobody need know where it is installed
    return corpus
