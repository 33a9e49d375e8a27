"""Word vectors in the files that word2vec made common: which words and vectors a file holds, and how to write one.

text     a line "V D" (GloVe has none), then on each line a word and its D numbers; fastText's .vec is one of these
binary   a line "V D", then for each word its bytes, a space, D little-endian float32, and perhaps a newline

A path comes in, words and vectors go out, and the other way around. Both kinds may be compressed by gzip. A file is
read in blocks, so that memory grows with what the file holds and never with what its header claims; a compressed one
that unpacks to a hundred times its size is refused.
V words, D dimensions.
"""

from __future__ import annotations

import codecs
import gzip
import itertools
import math
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from laplex import storage
from laplex.errors import InputError
from laplex.progress import bar

BOM = b"\xef\xbb\xbf"
BLOCK = 1 << 23  # bytes read at once
LONGEST_LINE = 1 << 22  # bytes
LONGEST_WORD = 1 << 16  # bytes
MOST_DIMENSIONS = 100_000
SNIFFED = 1 << 16  # bytes by which text and binary are told apart
ROWS_WRITTEN = 10_000  # at once
MOST_UNPACKED = 100  # times the size of a file, and
UNPACKED_FREELY = 1 << 26  # bytes more; vectors compress to about a third

_HEADER = re.compile(rb"\s*([0-9]{1,18})\s+([0-9]{1,18})\s*")
_NUMBERS = re.compile(rb"[\s0-9eE.+-]+")
_OTHER_SPACE = re.compile(rb"[\t\r\v\f]")
_SPACE = re.compile(r"[ \t\n\r\v\f]")
_FASTTEXT_MODEL = (793712314).to_bytes(4, "little")  # the first bytes of fastText's own .bin

Floats = NDArray[np.float32]
Piece = tuple[list[str], Floats]


def read(
    path: str | os.PathLike[str], *, binary: bool | None = None, quiet: bool = False
) -> tuple[list[str], NDArray[np.float32]]:
    """The words of a file and their vectors (V, D). Whether it is text or binary is seen from its first bytes."""
    path = Path(path)
    words: list[str] = []
    blocks: list[Floats] = []
    with _reading(path) as (file, share), bar(f"reading {path.name}", quiet=quiet) as progress:
        start = file.read(BLOCK).removeprefix(BOM)
        first, _, rest = start.partition(b"\n")
        _check_start(path, start, first)
        header = _HEADER.fullmatch(first)
        count, dimensions = (int(size) for size in header.groups()) if header else (None, len(first.split()) - 1)
        if count == 0 or not 1 <= dimensions <= MOST_DIMENSIONS:
            raise InputError(
                f'"{path}", line 1: {first[:60]!r} is neither a header "words dimensions" (dimensions from 1 to '
                f"{MOST_DIMENSIONS:,}) nor a word and its numbers"
            )
        following = itertools.chain([rest if header else start], iter(lambda: file.read(BLOCK), b""))
        if (_is_binary(rest) if binary is None else binary) and count is not None:
            pieces = _binary_pieces(path, following, count, dimensions, len(first) + 1)
        elif binary:
            raise InputError(f'"{path}", line 1: {first[:60]!r} is not the header "words dimensions" of a binary file')
        else:
            pieces = _text_pieces(path, following, dimensions, 2 if header else 1)
        for some, block in pieces:
            words += some
            blocks.append(block)
            progress.update(share(), f"{len(words):,} words")
    if count is not None and len(words) != count:
        raise InputError(f'"{path}" holds {len(words):,} vectors, its header says {count:,}')
    if twice := _first_repeated(words):
        raise InputError(f'"{path}", vector {twice + 1:,}: the word "{words[twice][:60]}" is there a second time')
    return words, _joined(blocks, dimensions)


def write(
    path: str | os.PathLike[str],
    words: Sequence[str],
    vectors: NDArray[Any],
    binary: bool = False,
    *,
    quiet: bool = False,
) -> None:
    """Write vectors (V, D), in one step: whatever happens, the old file or the new one is there, whole.

    Text holds float32 in as few digits as give the same number back. A path that ends in .gz is compressed.
    """
    path = Path(path)
    vectors = np.asarray(vectors, np.float32)
    encoded = _checked(path, words, vectors)
    with storage.replacing(path) as file, bar(f"writing {path.name}", quiet=quiet) as progress:
        file.write(b"%d %d\n" % vectors.shape)
        for at in range(0, len(encoded), ROWS_WRITTEN):
            some, block = encoded[at : at + ROWS_WRITTEN], vectors[at : at + ROWS_WRITTEN]
            if binary:
                rows = np.ascontiguousarray(block, "<f4")
                file.write(b"".join(word + b" " + row.tobytes() + b"\n" for word, row in zip(some, rows, strict=True)))
            else:
                frame = pl.DataFrame(block, schema=[f"d{i}" for i in range(block.shape[1])], orient="row")
                frame.insert_column(0, pl.Series("word", [word.decode() for word in some]))
                text = frame.write_csv(include_header=False, separator=" ", quote_style="never")
                file.write(text.encode())
            progress.update(at / len(encoded))


# Reading


class _Gzip(gzip.GzipFile):
    """What a compressed file of vectors holds, as long as that can be vectors."""

    def __init__(self, path: Path, raw: BinaryIO, size: int) -> None:
        super().__init__(fileobj=raw)
        self._path, self._most = path, MOST_UNPACKED * size + UNPACKED_FREELY

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        if self.tell() > self._most:
            raise InputError(
                f'"{self._path}" unpacks to more than {MOST_UNPACKED} times its size: these are no vectors'
            )
        return data


@contextmanager
def _reading(path: Path) -> Iterator[tuple[Any, Any]]:
    """The bytes of a file, decompressed, and a function that says what share of it has been read."""
    try:
        with open(path, "rb") as raw:
            size = max(path.stat().st_size, 1)
            compressed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            yield _Gzip(path, raw, size) if compressed else raw, lambda: raw.tell() / size
    except FileNotFoundError:
        raise InputError(f'there is no file "{path}"') from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f'"{path}" cannot be decompressed: {error}') from None
    except OSError as error:
        raise InputError(f'cannot read "{path}": {error.strerror or error}') from None


def _check_start(path: Path, start: bytes, first: bytes) -> None:
    if not start.strip():
        raise InputError(f'"{path}" is empty')
    if start.startswith(_FASTTEXT_MODEL):
        raise InputError(f'"{path}" is a whole fastText model: give the .vec file that lies beside it')
    if len(first) > LONGEST_LINE:
        raise InputError(f'"{path}", line 1: longer than {LONGEST_LINE:,} bytes, so these are no word vectors')


def _is_binary(rest: bytes) -> bool:
    """Does what follows a header hold bytes that a text does not have? (Its words may be in another encoding.)"""
    if _NUMBERS.fullmatch(rest[:LONGEST_LINE].partition(b"\n")[0].partition(b" ")[2]):
        return False
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(rest[:SNIFFED])
    except UnicodeDecodeError:
        return True
    return any(mark < " " and not _SPACE.match(mark) for mark in set(text))


def _text_pieces(path: Path, blocks: Iterable[bytes], dimensions: int, line: int) -> Iterator[Piece]:
    """Words and vectors of a text, whose first line has the number `line`."""
    rest = b""
    blank = 0
    for block in itertools.chain(blocks, [b"\n"]):
        *lines, rest = (rest + block).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise InputError(f'"{path}", line {line + len(lines):,}: longer than {LONGEST_LINE:,} bytes')
        lines = [text.rstrip() for text in lines]
        full = next((i for i, text in enumerate(lines) if not text), len(lines))
        odd = next((i for i in range(full if not blank else 0, len(lines)) if lines[i]), None)
        if odd is not None:
            raise InputError(f'"{path}", line {line + odd - 1:,}: an empty line amid the vectors')
        if full and not blank:
            yield _parse_lines(path, lines[:full], dimensions, line)
        blank = blank or full < len(lines)
        line += len(lines)


def _parse_lines(path: Path, lines: list[bytes], dimensions: int, first: int) -> Piece:
    vectors = None
    if all(line.count(b" ") == dimensions for line in lines):
        split = [line.partition(b" ") for line in lines]
        names = [word for word, _, _ in split]
        if not _OTHER_SPACE.search(b" ".join(names)):
            vectors = _parse_numbers(b"\n".join(numbers for _, _, numbers in split), len(lines), dimensions)
    if vectors is None:
        parsed = [_parse_line(path, line, dimensions, first + i) for i, line in enumerate(lines)]
        names, vectors = [word for word, _ in parsed], np.concatenate([vector for _, vector in parsed])
    return [_decode(word, f'"{path}", line {first + i:,}') for i, word in enumerate(names)], vectors


def _parse_numbers(text: bytes, lines: int, dimensions: int) -> Floats | None:
    """The numbers of well-formed lines, fast; None if any of them is odd."""
    if text.startswith(BOM):  # which Polars would pass over
        return None
    schema = {f"d{i}": pl.Float32 for i in range(dimensions)}
    try:
        frame = pl.read_csv(text, has_header=False, separator=" ", quote_char=None, schema=schema)
    except pl.exceptions.PolarsError:
        return None
    if frame.shape != (lines, dimensions) or any(column.null_count() for column in frame):
        return None
    vectors = frame.to_numpy()
    return vectors if np.isfinite(vectors).all() else None


def _parse_line(path: Path, line: bytes, dimensions: int, number: int) -> tuple[bytes, Floats]:
    """The word and the vector (1, D) of a line, slowly; a word may have spaces in it, as some of GloVe's have."""
    where = f'"{path}", line {number:,}'
    word, *numbers = line.rsplit(None, dimensions)
    if len(numbers) < dimensions or line[:1].isspace():
        raise InputError(
            f"{where}: {line[:60]!r} is not a word and {dimensions:,} numbers ({len(line.split()):,} parts)"
        )
    if len(parts := word.split()) > 1 and _number(parts[-1]) is not None:
        raise InputError(f"{where}: {len(line.split()) - 1:,} numbers where there should be {dimensions:,}")
    values = [_number(text) for text in numbers]
    odd = next((i for i, value in enumerate(values) if value is None), None)
    if odd is not None:
        raise InputError(f"{where}: {numbers[odd][:60]!r} is not a number that a vector can have")
    return word, np.array([values], np.float32)


def _number(text: bytes) -> float | None:
    try:
        value = float(text.replace(b"_", b"?"))  # which Python alone allows in numbers
    except ValueError:
        return None
    with np.errstate(over="ignore"):
        return value if math.isfinite(np.float32(value)) else None


def _binary_pieces(path: Path, blocks: Iterable[bytes], count: int, dimensions: int, offset: int) -> Iterator[Piece]:
    """Words and vectors of a binary file, whose next byte is the one at `offset`."""
    rest = b""
    done = 0
    for block in blocks:
        data = rest + block
        names: list[bytes] = []
        vectors: list[bytes] = []
        start = 0
        while done + len(names) < count:
            space = data.find(b" ", start, start + LONGEST_WORD)
            end = space + 1 + 4 * dimensions
            if space < 0 and len(data) - start >= LONGEST_WORD:
                raise InputError(f'"{path}", byte {offset + start:,}: no word begins here, as the header would have it')
            if space < 0 or end > len(data):
                break
            names.append(data[start:space].lstrip(b"\n"))
            vectors.append(data[space + 1 : end])
            start = end
        if names:
            yield _parse_records(path, names, vectors, done, offset)
        done += len(names)
        offset += start
        rest = data[start:]
        if done == count and rest.strip(b"\n"):
            raise InputError(f'"{path}", byte {offset:,}: more follows after the {count:,} vectors of the header')
    if rest.strip(b"\n"):
        raise InputError(f'"{path}" ends within vector {done + 1:,}, at byte {offset + len(rest):,}')


def _parse_records(path: Path, names: list[bytes], vectors: list[bytes], done: int, offset: int) -> Piece:
    block = np.frombuffer(b"".join(vectors), "<f4").reshape(len(names), -1).astype(np.float32)
    finite = np.isfinite(block).all(1)
    where = f'"{path}", vector {{:,}} (after byte {offset:,})'
    if not finite.all():
        odd = int(finite.argmin())
        raise InputError(f"{where.format(done + odd + 1)}: {names[odd][:60]!r} has values that are not finite numbers")
    return [_decode(name, where.format(done + i + 1)) for i, name in enumerate(names)], block


def _decode(word: bytes, where: str) -> str:
    if not word or b"\n" in word:
        raise InputError(f"{where}: {word[:60]!r} where a word should be")
    try:
        return word.decode()
    except UnicodeDecodeError:
        raise InputError(f"{where}: the word {word[:60]!r} is not utf-8") from None


def _first_repeated(words: Sequence[str]) -> int | None:
    if len(set(words)) == len(words):
        return None
    seen: set[str] = set()
    return next(i for i, word in enumerate(words) if word in seen or seen.add(word))  # type: ignore[func-returns-value]


def _joined(blocks: list[Floats], dimensions: int) -> Floats:
    """All blocks in one array; each goes as soon as it is copied, so that memory never holds them twice."""
    whole = np.empty((sum(map(len, blocks)), dimensions), np.float32)
    end = len(whole)
    while blocks:
        block = blocks.pop()
        whole[end - len(block) : end] = block
        end -= len(block)
    return whole


# Writing


def _checked(path: Path, words: Sequence[str], vectors: Floats) -> list[bytes]:
    if vectors.ndim != 2 or len(vectors) != len(words) or not vectors.size:
        raise InputError(f'"{path}": {len(words):,} words and vectors of shape {vectors.shape} cannot be written')
    finite = np.isfinite(vectors).all(1)
    if not finite.all():
        raise InputError(f'"{path}": the vector of "{words[int(finite.argmin())]}" has values that are not finite')
    odd = next((word for word in words if not word or _SPACE.search(word)), None)
    if odd is not None:
        raise InputError(f'"{path}": the word {odd!r} is empty or has a space in it, which word2vec files cannot hold')
    if twice := _first_repeated(words):
        raise InputError(f'"{path}": the word "{words[twice]}" is there more than once')
    try:
        return [word.encode() for word in words]
    except UnicodeEncodeError as error:
        raise InputError(f'"{path}": the word {error.object!r} holds half a character (a surrogate)') from None
