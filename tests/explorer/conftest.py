"""Models that are fitted once in a session, the explorer of each, and one browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explored import AWKWARD, SCRIPT, TOPICS, documents, settle, unused_port

import laplex as lx

pytest.importorskip("streamlit", reason="the explorer is an extra")

from laplex.explorer.launching import Explorer, explore
from laplex.text.slices import Slices


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the model; its tokens are beside it."""
    home = tmp_path_factory.mktemp("explored")
    corpus = lx.read(documents(), metadata=["party", "year", "speaker"], unit="speaker")
    tokens = lx.Tokens.of(corpus, min_count=1, cache=home / "cache", quiet=True)
    prior = lx.Ridge(1.0) + lx.Groups("party", 1.0) + lx.Chain("year", 1.0)
    model = lx.Model(vary=["party", "year"], prior=prior, dimensions=8, window=3, negatives=4, subsample=0)
    lx.fit(model, tokens, epochs=8, threads=1, seed=1, holdout=0.05, quiet=True).save(home / "small.laplex")
    return home / "small.laplex"


@pytest.fixture
def fitted(saved: Path) -> lx.Embeddings:
    return lx.load(saved)


@pytest.fixture(scope="session")
def explorer(saved: Path) -> Iterator[Explorer]:
    """The explorer, as a process of its own."""
    with explore(saved, port=unused_port(), browser=False, wait=False, quiet=True) as running:
        yield running


@pytest.fixture(scope="session")
def demo_explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """The explorer of the demo's corpus, fitted in a hurry."""
    home = tmp_path_factory.mktemp("demo")
    corpus = lx.demo().where(party=["Democratic", "Republican"]).periods("year", every="40y", start=1861)
    tokens = lx.Tokens.of(corpus, min_count=40, cache=home / "cache", quiet=True)
    prior = lx.Ridge(1.0) + lx.Groups("party", 100.0) + lx.Chain("period", 100.0)
    model = lx.Model(vary=["party", "period"], prior=prior, dimensions=20)
    lx.fit(model, tokens, epochs=1, quiet=True).save(home / "demo.laplex")
    with explore(home / "demo.laplex", port=unused_port(), browser=False, wait=False, quiet=True) as running:
        yield running


@pytest.fixture(scope="session")
def bilingual() -> lx.Embeddings:
    """Two languages, each by party, the second the first with noise; one word has an awkward translation."""
    random = np.random.default_rng(3)
    words = [word for topic in TOPICS for word in topic if word not in AWKWARD]
    vectors = random.standard_normal((2, len(words), 8))
    translations = vectors + 0.2 * random.standard_normal(vectors.shape)
    counts = np.tile(np.arange(len(words), 0, -1), (2, 1))
    names = [SCRIPT if word == "debt" else f"{word}o" for word in words]
    return lx.Embeddings.of(
        [lx.Vocabulary(words, counts.sum(0), "en"), lx.Vocabulary(names, counts.sum(0), "it")],
        [vectors, translations],
        slices=Slices(("party",), (("D",), ("R",)), np.empty(0, np.int32)),
        counts=[counts, counts],
        contexts=[vectors[0], translations[0]],
    )


@pytest.fixture(scope="session")
def bilingual_explorer(
    bilingual: lx.Embeddings, saved: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Explorer]:
    """The explorer of two models: that of two languages, and the small one."""
    folder = tmp_path_factory.mktemp("bilingual") / "two.laplex"
    bilingual.save(folder)
    with explore(folder, saved, port=unused_port(), browser=False, wait=False, quiet=True) as running:
        yield running


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser of this machine. In continuous integration there has to be one."""
    found = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
    if found is None and not os.environ.get("CI"):
        pytest.skip("there is no browser here: install chromium to look at the pages")
    assert found is not None, "continuous integration needs chromium"
    return found


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """One browser for all tests of a module; while it is open, tests of other modules could not run an event loop."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def contexts(browser: Any) -> Callable[..., Any]:
    """Windows by how they look; what one has loaded once it need not load again."""
    known: dict[tuple[str, int], Any] = {}

    def context(scheme: str, width: int) -> Any:
        if (scheme, width) not in known:
            size = {"width": width, "height": 900}
            known[scheme, width] = browser.new_context(viewport=size, color_scheme=scheme)
        return known[scheme, width]

    return context


@pytest.fixture
def visit(contexts: Callable[..., Any], explorer: Explorer) -> Iterator[Callable[..., Any]]:
    """Open a page of the explorer and wait until it is drawn. What it asked for and complained of is kept."""
    pages = []

    def opened(path: str = "", scheme: str = "light", width: int = 1400, of: Explorer = explorer) -> Any:
        page = contexts(scheme, width).new_page()
        pages.append(page)
        page.requests, page.complaints = [], []
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("websocket", lambda socket: page.requests.append(socket.url))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("console", lambda said: page.complaints.append(said.text) if said.type == "error" else None)
        page.goto(f"{of.url}/{path}")
        page.get_by_role("heading", level=1).wait_for(timeout=60_000)
        settle(page)
        return page

    yield opened
    for page in pages:
        page.close()
