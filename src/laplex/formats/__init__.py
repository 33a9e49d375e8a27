"""How a file becomes rows: CSV, TSV, JSON lines, Parquet and plain text, each also compressed.

A format lists the columns of a file and reads it as Polars frames of a few megabytes, saying after each how
far into the file it is. Text formats are read by the standard library, which streams, takes any encoding and
knows the line of an error. Whatever goes wrong becomes an InputError that names the file.

format.py     what a format must know           decoding.py  bytes → text: compression, encodings, what can go wrong
choice.py     which one a file has              frames.py    rows → frames of a few megabytes
delimited.py, jsonlines.py, parquet.py, text.py values.py    Python values → a column
"""

from laplex.formats.choice import ENDINGS, name_of, of_files
from laplex.formats.decoding import LONGEST, reading
from laplex.formats.delimited import Csv
from laplex.formats.format import Format, Piece
from laplex.formats.frames import frames_of_dicts, in_batches, keys_of
from laplex.formats.jsonlines import Json
from laplex.formats.parquet import Parquet
from laplex.formats.text import Text
from laplex.formats.values import series_of

__all__ = [
    "ENDINGS",
    "LONGEST",
    "Csv",
    "Format",
    "Json",
    "Parquet",
    "Piece",
    "Text",
    "frames_of_dicts",
    "in_batches",
    "keys_of",
    "name_of",
    "of_files",
    "reading",
    "series_of",
]
