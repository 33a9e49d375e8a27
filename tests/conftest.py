"""What the tests share: a cache of their own, ways to write files and read tokens back, and small corpora."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

import laplex as lx
from laplex.cli import main
from laplex.inference import testing

settings.register_profile("laplex", deadline=None, database=None)
settings.load_profile("laplex")
os.environ.pop("COLUMNS", None)  # of the terminal that the tests were started in, by which output would be wrapped


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for the tokens of all tests of a module that ask for it: what was fitted once finds its text again."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAPLEX_CACHE", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def cache(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which this test keeps its tokens."""
    if "shared_cache" in request.fixturenames:
        shared: Path = request.getfixturevalue("shared_cache")
        return shared
    folder = tmp_path / "cache"
    monkeypatch.setenv("LAPLEX_CACHE", str(folder))
    return folder


class Finished(NamedTuple):
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def laplex(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Finished]:
    """Run a command in this process, and return its exit code and output."""

    def run(*arguments: Any) -> Finished:
        monkeypatch.setattr(sys, "argv", ["laplex", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        return Finished(code, *capfd.readouterr())

    return run


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 9,999 permutations of a word, which take no time."""
    monkeypatch.setattr(testing, "MAX_DRAWS", 9_999)


@pytest.fixture(scope="session")
def decode() -> Callable[[lx.Tokens], list[list[str]]]:
    """The words of each document of some Tokens."""

    def words(tokens: lx.Tokens) -> list[list[str]]:
        vocabularies = [tokens.vocabularies[language].words for language in tokens.languages]
        return [[vocabulary[i] for i in tokens.document(m)] for m, vocabulary in enumerate(vocabularies)]

    return words


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a file and say where it is."""

    def written(name: str, content: str | bytes, encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return written


@pytest.fixture
def documents() -> list[dict[str, Any]]:
    """Documents that are awkward to write into a file: quotes, commas, newlines, accents, an empty one."""
    return [
        {"text": "The cat sat on the mat.", "party": "D", "year": 2010},
        {"text": 'He said: "No, no;\nnever",\tand left', "party": "R", "year": 2011},
        {"text": "", "party": "D", "year": 2009},
        {"text": "Die Größe der Häuser in 東京, naïve café", "party": "D; R", "year": 2010},
        {"text": "the cat, the dog", "party": "é", "year": 2012},
    ]


class Again:
    """Documents that start anew each time they are iterated over; `times` says how often that was."""

    def __init__(self, documents: list[dict[str, Any]]) -> None:
        self._documents = documents
        self.times = 0

    def __iter__(self) -> Any:
        self.times += 1
        return iter(self._documents)


@pytest.fixture
def again(documents: list[dict[str, Any]]) -> Again:
    return Again(documents)


@pytest.fixture
def as_nobody() -> Callable[[], AbstractContextManager[None]]:
    """Be nobody for a while, since permissions do not bind root."""

    @contextmanager
    def nobody() -> Iterator[None]:
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield
        finally:
            if root:
                os.seteuid(0)

    return nobody
