"""JSON lines: an object a line, whose keys are the columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from laplex.errors import InputError
from laplex.formats.decoding import decoded
from laplex.formats.format import Format, Piece
from laplex.formats.frames import frames_of_dicts, keys_of


class Json(Format):
    """One JSON object a line."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self.identity = f"jsonl {encoding}"

    def columns(self, path: Path) -> tuple[str, ...]:
        with decoded(path, self._encoding) as (file, _):
            return keys_of(self._objects(path, file), f'"{path}"')

    def read(self, path: Path, columns: Sequence[str]) -> Iterator[Piece]:
        with decoded(path, self._encoding) as (file, share):
            for frame in frames_of_dicts(self._objects(path, file), columns, f'"{path}"'):
                yield frame, share()

    def _objects(self, path: Path, file: Iterable[str]) -> Iterator[dict[str, Any]]:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f'"{path}", line {number:,}: not JSON ({error})') from None
            if not isinstance(value, dict):
                raise InputError(f'"{path}", line {number:,}: a JSON {type(value).__name__} where an object should be')
            yield value
