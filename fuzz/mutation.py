"""How an input becomes another one: bytes, lines, numbers and JSON values are changed, a few at a time.

Bytes and a random state come in, other bytes go out. The same state gives the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

MAX_INPUT_BYTES = 8192
NUMBERS = [
    b"0",
    b"-1",
    b"1e309",
    b"-0.0",
    b"nan",
    b"inf",
    b"9999999999",
    b"18446744073709551616",
    b"1_0",
    b"0x1",
    b"1e-400",
]
MARKS = [
    b"\t", b",", b";", b"|", b" ", b"\n", b"\r", b"\r\n", b'"', b'""', b"'", b"#", b"\\", b"\0", b"\xef\xbb\xbf",
    b"\xff", b"\xc3", b"\x1f\x8b", *(mark.encode() for mark in "é\u2028\xa0\x85İ😀"),
    b"{", b"}", b"[", b"]", b":", b"|||", b"\x0b", b"\x0c", b"\x1c",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**30, 0.5, 1e308, float("nan"), float("inf"), "",
    "a", "é", "\0", "\ud800", "..", "../../etc/passwd", "/", [], [[]], {}, {"": None}, ["a"], [1, 2], [-1], [0, 0],
    ["a", "a"], "F32", "I64", "U8", "BOOL", "embeddings", "tokens", "checkpoint",
]  # fmt: skip


def mutate(data: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    """The input after one to five changes."""
    changes = [*_BYTES, *_BYTES, *_LINES, *_LINES, _json, _json, _json]
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5))):
        if others and random.random() < 0.05:
            data = _splice(data, random.choice(others), random)
        else:
            data = random.choice(changes)(data, random)
    return data[:MAX_INPUT_BYTES]


def _place(data: bytes, random: Random) -> int:
    return random.randrange(len(data) + 1)


def _span(data: bytes, random: Random) -> tuple[int, int]:
    start = _place(data, random)
    return start, min(len(data), start + random.choice((1, 1, 2, 4, 8, 64)))


def _flip(data: bytes, random: Random) -> bytes:
    if not data:
        return data
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << random.randrange(8))]) + data[place + 1 :]


def _overwrite(data: bytes, random: Random) -> bytes:
    start, end = _span(data, random)
    return data[:start] + random.randbytes(end - start) + data[end:]


def _delete(data: bytes, random: Random) -> bytes:
    start, end = _span(data, random)
    return data[:start] + data[end:]


def _insert(data: bytes, random: Random) -> bytes:
    place = _place(data, random)
    return data[:place] + random.choice(MARKS) * random.choice((1, 1, 1, 2, 3)) + data[place:]


def _repeat(data: bytes, random: Random) -> bytes:
    start, end = _span(data, random)
    return data[:end] + data[start:end] * random.choice((1, 2, 20)) + data[end:]


def _truncate(data: bytes, random: Random) -> bytes:
    return data[: _place(data, random)]


def _replace_mark(data: bytes, random: Random) -> bytes:
    """One separator for another, here or everywhere."""
    one, two = random.choice(MARKS), random.choice(MARKS)
    return data.replace(one, two, random.choice((1, -1)))


def _replace_number(data: bytes, random: Random) -> bytes:
    numbers = list(re.finditer(rb"-?\d[\d.eE+-]*", data))
    if not numbers:
        return _insert(data, random)
    chosen = random.choice(numbers)
    return data[: chosen.start()] + random.choice(NUMBERS) + data[chosen.end() :]


def _splice(data: bytes, other: bytes, random: Random) -> bytes:
    return data[: _place(data, random)] + other[_place(other, random) :]


def _by_lines(change: Callable[[list[bytes], Random], None]) -> Callable[[bytes, Random], bytes]:
    def changed(data: bytes, random: Random) -> bytes:
        lines = data.split(b"\n")
        change(lines, random)
        return b"\n".join(lines)

    return changed


def _swap(lines: list[bytes], random: Random) -> None:
    one, two = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]


def _drop(lines: list[bytes], random: Random) -> None:
    lines.pop(random.randrange(len(lines)))


def _double(lines: list[bytes], random: Random) -> None:
    place = random.randrange(len(lines))
    lines.insert(random.randrange(len(lines) + 1), lines[place])


def _empty(lines: list[bytes], random: Random) -> None:
    lines[random.randrange(len(lines))] = random.choice((b"", b" ", b"\t", b"\r"))


def _json(data: bytes, random: Random) -> bytes:
    """Another value in a JSON document, or in one of its lines."""
    for lines in ([data], data.split(b"\n")):
        place = random.randrange(len(lines))
        try:
            value = json.loads(lines[place])
        except (ValueError, RecursionError):
            continue
        if isinstance(value, (dict, list)):
            lines[place] = json.dumps(_other(value, random), ensure_ascii=random.random() < 0.5).encode(
                "utf-8", "surrogatepass"
            )
            return b"\n".join(lines)
    return _flip(data, random)


def _other(value: Any, random: Random) -> Any:
    """The value with something inside it changed, added or taken away."""
    if not isinstance(value, (dict, list)) or not value or random.random() < 0.1:
        number = isinstance(value, int) and random.random() < 0.5
        return value + random.choice((-1, 1, 8, 10**6)) if number else random.choice(VALUES)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = random.choice(keys)
    copy = value.copy()
    what = random.random()
    if what < 0.1:
        del copy[key]
    elif what < 0.2 and isinstance(copy, dict):
        copy[random.choice(["", "a", "weight", "__metadata__", *keys])] = random.choice([*VALUES, *value.values()])
    elif what < 0.2:
        copy.insert(key, random.choice([*VALUES, *value]))
    elif what < 0.3:
        copy[key] = copy[random.choice(keys)]
    else:
        copy[key] = _other(copy[key], random)
    return copy


_BYTES = [_flip, _overwrite, _delete, _insert, _repeat, _truncate, _replace_mark, _replace_number]
_LINES = [_by_lines(change) for change in (_swap, _drop, _double, _empty)]
