"""Plain text, which has no columns of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from laplex.errors import InputError
from laplex.formats.decoding import decoded
from laplex.formats.format import Format, Piece
from laplex.formats.frames import frames_of_rows


class Text(Format):
    """Plain text: a document a line, or a document a file. The column "file" holds the file's name."""

    def __init__(self, encoding: str, documents: str) -> None:
        if documents not in ("lines", "files"):
            raise InputError(f'documents="{documents}": plain text holds a document in each of its "lines" or "files"')
        self._encoding = encoding
        self._whole = documents == "files"
        self.identity = f"text {encoding} {documents}"

    def columns(self, path: Path) -> tuple[str, ...]:
        with decoded(path, self._encoding) as (file, _):
            if not file.read(1):
                raise InputError(f'"{path}" is empty')
        return ("text", "file")

    def read(self, path: Path, columns: Sequence[str]) -> Iterator[Piece]:
        stem = path.name.split(".")[0]
        with decoded(path, self._encoding, self._whole) as (file, share):
            texts = [file.read()] if self._whole else file
            rows = ([text if column == "text" else stem for column in columns] for text in texts)
            for frame in frames_of_rows(rows, columns):
                yield frame, share()
