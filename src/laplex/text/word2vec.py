"""Word vectors in the file formats of word2vec.

text     a line "V D" (GloVe has none), then on each line a word and its D numbers; fastText's .vec is one of these
binary   a line "V D", then for each word its bytes, a space, D little-endian float32, and perhaps a newline

Both may be compressed by gzip. A file is read in blocks, so that memory grows with what the file holds and never with
what its header claims. V words, D dimensions.
"""

from __future__ import annotations

import codecs
import gzip
import itertools
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError
from laplex.runtime import atomic, lazy
from laplex.runtime.display import bar
from laplex.text.files import input_errors

if TYPE_CHECKING:
    import polars as pl
else:
    pl = lazy.module("polars")

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLOCK_BYTES = 1 << 23  # read at once
MAX_LINE_BYTES = 1 << 22
MAX_WORD_BYTES = 1 << 16
MAX_DIMENSIONS = 100_000
SNIFFED_BYTES = 1 << 16  # by which text and binary are told apart
ROWS_PER_WRITE = 10_000
MAX_EXPANSION = 100  # decompressed bytes per byte of a file; vectors have about three
MIN_EXPANSION_BYTES = 1 << 26  # that any file may have besides

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
    """Read word vectors.

    Args:
        path: A file in the text or binary format of word2vec, GloVe or fastText (.vec), perhaps compressed by gzip.
        binary: Whether the file is binary. By default its first bytes tell.
        quiet: Show no progress.

    Returns:
        The words, and their vectors (V, D).

    Example:
        >>> words, vectors = read("vectors.txt")  # doctest: +SKIP
    """
    path = Path(path)
    words: list[str] = []
    vectors: list[Floats] = []
    with _open(path) as (blocks, share), bar(f"reading {path.name}", quiet=quiet) as progress:
        start = next(blocks, b"").removeprefix(BYTE_ORDER_MARK)
        first, _, rest = start.partition(b"\n")
        if not start.strip():
            raise InputError(f'"{path}" is empty')
        if start.startswith(_FASTTEXT_MODEL):
            raise InputError(f'"{path}" is a complete fastText model: give the .vec file beside it')
        if len(first) > MAX_LINE_BYTES:
            raise InputError(f'"{path}", line 1: longer than {MAX_LINE_BYTES:,} bytes, so these are no word vectors')
        header = _HEADER.fullmatch(first)
        count, dimensions = (int(size) for size in header.groups()) if header else (None, len(first.split()) - 1)
        if count == 0 or not 1 <= dimensions <= MAX_DIMENSIONS:
            raise InputError(
                f'"{path}", line 1: {first[:60]!r} is neither a header "words dimensions" (dimensions from 1 to '
                f"{MAX_DIMENSIONS:,}) nor a word and its numbers"
            )
        following = itertools.chain([rest if header else start], blocks)
        if (_is_binary(rest) if binary is None else binary) and count is not None:
            pieces = _binary_pieces(path, following, count, dimensions, len(first) + 1)
        elif binary:
            raise InputError(f'"{path}", line 1: {first[:60]!r} is not the header "words dimensions" of a binary file')
        else:
            pieces = _text_pieces(path, following, dimensions, 2 if header else 1)
        for names, block in pieces:
            words += names
            vectors.append(block)
            progress.update(share(), f"{len(words):,} words")
    if count is not None and len(words) != count:
        raise InputError(f'"{path}" holds {len(words):,} vectors, its header says {count:,}')
    if repeated := _first_repeated(words):
        raise InputError(f'"{path}", vector {repeated + 1:,}: the word "{words[repeated][:60]}" is there a second time')
    return words, _concatenate(vectors, dimensions)


def write(
    path: str | os.PathLike[str],
    words: Sequence[str],
    vectors: NDArray[Any],
    binary: bool = False,
    *,
    quiet: bool = False,
) -> None:
    """Write word vectors. The file appears when it is complete; until then an old one stays.

    Args:
        path: The file; it is compressed if its name ends in .gz.
        words: The words, without spaces.
        vectors: (V, D) Their vectors.
        binary: Write the binary format. Text has as many digits as give the same float32 back.
        quiet: Show no progress.

    Example:
        >>> write("vectors.txt", ["tax", "war"], np.eye(2))  # doctest: +SKIP
    """
    path = Path(path)
    vectors = np.asarray(vectors, np.float32)
    encoded = _encode(path, words, vectors)
    with atomic.replacing(path) as file, bar(f"writing {path.name}", quiet=quiet) as progress:
        file.write(b"%d %d\n" % vectors.shape)
        for at in range(0, len(encoded), ROWS_PER_WRITE):
            names, block = encoded[at : at + ROWS_PER_WRITE], vectors[at : at + ROWS_PER_WRITE]
            if binary:
                rows = np.ascontiguousarray(block, "<f4")
                file.write(b"".join(word + b" " + row.tobytes() + b"\n" for word, row in zip(names, rows, strict=True)))
            else:
                frame = pl.DataFrame(block, schema=[f"d{i}" for i in range(block.shape[1])], orient="row")
                frame.insert_column(0, pl.Series("word", [word.decode() for word in names]))
                text = frame.write_csv(include_header=False, separator=" ", quote_style="never")
                file.write(text.encode())
            progress.update(at / len(encoded))


@contextmanager
def _open(path: Path) -> Iterator[tuple[Iterator[bytes], Callable[[], float]]]:
    """The bytes of a file in blocks, decompressed, and a function for the share of it that has been read."""
    with input_errors(path), open(path, "rb") as raw:
        size = max(path.stat().st_size, 1)
        compressed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        file: Any = gzip.GzipFile(fileobj=raw) if compressed else raw

        def blocks() -> Iterator[bytes]:
            while block := file.read(BLOCK_BYTES):
                if file.tell() > MAX_EXPANSION * size + MIN_EXPANSION_BYTES:
                    limit = f"more than {MAX_EXPANSION} times its size"
                    raise InputError(f'"{path}" decompresses to {limit}: these are no vectors')
                yield block

        yield blocks(), lambda: raw.tell() / size


def _is_binary(rest: bytes) -> bool:
    """Whether the bytes after a header cannot be text, which may be in another encoding than UTF-8."""
    if _NUMBERS.fullmatch(rest[:MAX_LINE_BYTES].partition(b"\n")[0].partition(b" ")[2]):
        return False
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(rest[:SNIFFED_BYTES])
    except UnicodeDecodeError:
        return True
    return any(mark < " " and not _SPACE.match(mark) for mark in set(text))


def _text_pieces(path: Path, blocks: Iterable[bytes], dimensions: int, line: int) -> Iterator[Piece]:
    """The words and vectors of a text whose first line has the number `line`."""
    rest = b""
    ended = False  # by an empty line
    for block in itertools.chain(blocks, [b"\n"]):
        *lines, rest = (rest + block).split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise InputError(f'"{path}", line {line + len(lines):,}: longer than {MAX_LINE_BYTES:,} bytes')
        lines = [text.rstrip() for text in lines]
        end = next((i for i, text in enumerate(lines) if not text), len(lines))
        later = next((i for i in range(0 if ended else end, len(lines)) if lines[i]), None)
        if later is not None:
            raise InputError(f'"{path}", line {line + later - 1:,}: an empty line amid the vectors')
        if end and not ended:
            yield _parse_lines(path, lines[:end], dimensions, line)
        ended = ended or end < len(lines)
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
    """(lines, D) The numbers of well-formed lines, fast; None if a line is not well formed."""
    if text.startswith(BYTE_ORDER_MARK):  # which Polars skips
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
    """The word and the vector (1, D) of a line, slowly; some words of GloVe have spaces in them."""
    where = f'"{path}", line {number:,}'
    word, *numbers = line.rsplit(None, dimensions)
    if len(numbers) < dimensions or line[:1].isspace():
        raise InputError(
            f"{where}: {line[:60]!r} is not a word and {dimensions:,} numbers ({len(line.split()):,} parts)"
        )
    if len(parts := word.split()) > 1 and _number(parts[-1]) is not None:
        raise InputError(f"{where}: {len(line.split()) - 1:,} numbers where there should be {dimensions:,}")
    values = [_number(text) for text in numbers]
    if None in values:
        raise InputError(f"{where}: {numbers[values.index(None)][:60]!r} is not a number that a vector can have")
    return word, np.array([values], np.float32)


def _number(text: bytes) -> float | None:
    try:
        value = float(text.replace(b"_", b"?"))  # Python allows 1_000
    except ValueError:
        return None
    with np.errstate(over="ignore"):
        return value if math.isfinite(np.float32(value)) else None


def _binary_pieces(path: Path, blocks: Iterable[bytes], count: int, dimensions: int, offset: int) -> Iterator[Piece]:
    """The words and vectors of a binary file whose next byte is the one at `offset`."""
    rest = b""
    done = 0
    for block in blocks:
        data = rest + block
        names: list[bytes] = []
        vectors: list[bytes] = []
        start = 0
        while done + len(names) < count:
            space = data.find(b" ", start, start + MAX_WORD_BYTES)
            end = space + 1 + 4 * dimensions
            if space < 0 and len(data) - start >= MAX_WORD_BYTES:
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
    places = [f'"{path}", vector {done + i + 1:,} (after byte {offset:,})' for i in range(len(names))]
    block = np.frombuffer(b"".join(vectors), "<f4").reshape(len(names), -1).astype(np.float32)
    finite = np.isfinite(block).all(1)
    if not finite.all():
        bad = int(finite.argmin())
        raise InputError(f"{places[bad]}: {names[bad][:60]!r} has values that are not finite numbers")
    return [_decode(name, place) for name, place in zip(names, places)], block


def _decode(word: bytes, where: str) -> str:
    if not word or b"\n" in word:
        raise InputError(f"{where}: {word[:60]!r} where a word should be")
    try:
        return word.decode()
    except UnicodeDecodeError:
        raise InputError(f"{where}: the word {word[:60]!r} is not utf-8") from None


def _first_repeated(words: Sequence[str]) -> int | None:
    first: dict[str, int] = {}
    return next((i for i, word in enumerate(words) if first.setdefault(word, i) != i), None)


def _concatenate(blocks: list[Floats], dimensions: int) -> Floats:
    """All blocks in one array; each is freed once it is copied, so that memory never holds them twice."""
    end = sum(map(len, blocks))
    vectors = np.empty((end, dimensions), np.float32)
    while blocks:
        block = blocks.pop()
        vectors[end - len(block) : end] = block
        end -= len(block)
    return vectors


def _encode(path: Path, words: Sequence[str], vectors: Floats) -> list[bytes]:
    if vectors.ndim != 2 or len(vectors) != len(words) or not vectors.size:
        raise InputError(f'"{path}": {len(words):,} words and vectors of shape {vectors.shape} cannot be written')
    finite = np.isfinite(vectors).all(1)
    if not finite.all():
        raise InputError(f'"{path}": the vector of "{words[int(finite.argmin())]}" has values that are not finite')
    bad = next((word for word in words if not word or _SPACE.search(word)), None)
    if bad is not None:
        raise InputError(f'"{path}": the word {bad!r} is empty or has a space in it, which word2vec files cannot hold')
    if repeated := _first_repeated(words):
        raise InputError(f'"{path}": the word "{words[repeated]}" is there more than once')
    try:
        return [word.encode() for word in words]
    except UnicodeEncodeError as error:
        raise InputError(f'"{path}": the word {error.object!r} holds half a character (a surrogate)') from None
