"""What `laplex info` tells of a saved model: how it came about, and by what it can be made again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import laplex as lx
from laplex import storage
from laplex.cli.answers import show
from laplex.embeddings import Embeddings
from laplex.provenance import call_of, command_of, part_of


def show_model(folder: str) -> None:
    fitted = lx.load(folder)
    show(f"{folder}: {fitted!r}")
    told = [*_origin(fitted.settings), *_choices(fitted.settings), *_data(fitted)]
    told += [("vectors", f"hash {storage.load(folder).digest}"), ("versions", _listed(fitted.settings.get("versions")))]
    width = max(len(name) for name, _ in told)
    for name, text in told:
        if text:
            show(f"{name:<{width}}  {text}")


def _origin(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    command = command_of(settings)
    yield ("command", command) if command else ("in Python", call_of(settings))
    yield "read from", str(settings.get("read", ""))
    yield "baseline", _listed(settings.get("baseline"))
    yield "rotation", _listed(settings.get("rotation"))


def _choices(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    model, training = part_of(settings, "model"), part_of(settings, "training")
    yield "model", _listed({name: value for name, value in model.items() if name != "beliefs"})
    yield "training", _listed({name: value for name, value in training.items() if value is not None})
    if training:
        again = "the same bytes again" if training.get("threads") == 1 else "not the same bytes: with threads=1 it does"
        yield "seed", f"{training.get('seed')}, which gives {again}"
    yield "machine", _listed(settings.get("machine"))


def _data(fitted: Embeddings) -> Iterator[tuple[str, str]]:
    known = part_of(fitted.settings, "tokens")
    yield "text", _listed(known.get("sources"))
    yield "text hash", str(known.get("digest", ""))
    if folder := known.get("folder"):
        there = "" if storage.exists(Path(str(folder))) else " (no longer there)"
        yield "tokens", f"{folder}{there}"
    yield "vocabulary", _listed({name: known[name] for name in ("min_count", "max_words", "keep") if known.get(name)})


def _listed(values: Any) -> str:
    if isinstance(values, list):
        return ", ".join(map(str, values))
    if not isinstance(values, Mapping):
        return "" if values is None else str(values)
    return ", ".join(f"{name} {value}" for name, value in values.items())
