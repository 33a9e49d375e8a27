"""XML from strangers, read without risk.

External files are never fetched. Entities are refused, since a few lines of them can grow without bound; only the
switch INCLUDE or IGNORE is let through, which FreeDict's older files have in their DOCTYPE.
"""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

from laplex.errors import InputError
from laplex.formats import reading
from laplex.progress import bar

PIECE = 1 << 20  # bytes


def parse(path: Path, parser: expat.XMLParserType) -> None:
    """Send a file through a parser. Whatever is wrong with it becomes an InputError with its line."""

    def refuse(name: str, is_parameter: bool, value: str | None, *_: object) -> None:
        if not (is_parameter and value in ("INCLUDE", "IGNORE")):
            raise InputError(f'"{path}" declares the entity "{name}", which laplex does not read: take it out')

    parser.EntityDeclHandler = refuse
    try:
        with reading(path), open(path, "rb") as file, bar(f"reading {path.name}") as progress:
            size = max(path.stat().st_size, 1)
            while piece := file.read(PIECE):
                parser.Parse(piece, False)
                progress.update(file.tell() / size)
            parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise InputError(f'"{path}", line {error.lineno:,}: {expat.ErrorString(error.code)}') from None
    except InputError:
        raise
    except (ValueError, LookupError) as error:  # an encoding that expat does not know
        raise InputError(f'"{path}" cannot be read as XML: {error}') from None
