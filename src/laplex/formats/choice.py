"""Which format has a file? Its ending tells."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from laplex.errors import InputError
from laplex.formats.decoding import COMPRESSED
from laplex.formats.delimited import Csv
from laplex.formats.format import Format
from laplex.formats.jsonlines import Json
from laplex.formats.parquet import Parquet
from laplex.formats.text import Text

ENDINGS = ".csv .tsv .jsonl .ndjson .txt, each also .gz or .zst, and .parquet"
_NAMES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "text",
}


def name_of(path: Path) -> str | None:
    """The format that the ending of a file tells, if laplex knows it."""
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    if endings and endings[-1] in COMPRESSED:
        endings.pop()
    return _NAMES.get(endings[-1]) if endings else None


def of_files(paths: Sequence[Path], encoding: str, documents: str) -> Format:
    """The one format of these files."""
    counted = Counter(name_of(path) for path in paths)
    if None in counted:
        odd = next(path for path in paths if name_of(path) is None)
        raise InputError(f'"{odd}" has no ending that laplex reads: {ENDINGS}')
    if len(counted) > 1:
        mix = ", ".join(f"{count} {name}" for name, count in counted.items())
        raise InputError(f'"{paths[0].parent}" has files of more than one format ({mix}): name one, as in "*.csv"')
    try:
        "".encode(encoding)
    except LookupError:
        raise InputError(f'there is no encoding "{encoding}": try "utf-8", "latin-1" or "utf-16"') from None
    encoding = codecs.lookup(encoding).name  # of all its names the official one
    encoding = "utf-8-sig" if encoding == "utf-8" else encoding
    name = next(iter(counted))
    if name == "parquet":
        return Parquet()
    if name == "text":
        return Text(encoding, documents)
    return Json(encoding) if name == "jsonl" else Csv(encoding, "\t" if name == "tsv" else None)
