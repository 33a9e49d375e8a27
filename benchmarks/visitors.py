"""A load test of the explorer: twenty visitors for ten minutes.

    python benchmarks/visitors.py                    the demo corpus, with its text
    python benchmarks/visitors.py --words 120000     random vectors in 8 slices, without text
    python benchmarks/visitors.py --model speeches.laplex

The explorer runs as with `laplex explore`. A visitor is a websocket that follows the protocol of Streamlit's page: it
opens a page, and every few seconds (`--pause`, on average) chooses another word or another page. After some minutes it
is replaced by another visitor. Prints errors, the seconds until the last element of a response, and the memory of the
explorer over time (without the memory-mapped model).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from urllib.parse import urlencode, urlsplit

import numpy as np
import pandas as pd
from explorer import make
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

import laplex as lx
from laplex.explorer.launching import explore

PAGES = {
    "word": 5,
    "contrast": 2,
    "change": 2,
    "dimensions": 1,
    "map": 1,
    "": 1,
}  # the weight of each in the choice of the next page
CHANCE_OF_WORD = 0.5  # of choosing another word on the page of a word, rather than another page
MEAN_VISIT_SECONDS = 150.0
TIMEOUT_SECONDS = 60.0
SECONDS_BETWEEN_SAMPLES = 10.0  # of memory
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Observations:
    """The answers and errors of all visitors."""

    answers: list[tuple[float, str, float]] = field(default_factory=list)  # time, question, seconds
    errors: list[str] = field(default_factory=list)
    visits: int = 0


class Visitor:
    """One websocket, as of one browser window."""

    def __init__(self, socket: ClientConnection, random: Random, words: list[str], observed: Observations) -> None:
        self.socket, self.random, self.words, self.observed = socket, random, words, observed
        self.page, self.query, self.box, self.choices = "", "", "", dict[str, str]()

    async def ask(self) -> None:
        word = self.random.choice(self.words)
        if self.box and self.random.random() < CHANCE_OF_WORD:
            question, self.choices = "another word", {self.box: word}
            self.query = urlencode({"word": word})
        else:
            others = {page: often for page, often in PAGES.items() if page != self.page}
            [self.page] = self.random.choices(list(others), list(others.values()))
            question, self.choices = self.page or "overview", {}
            self.query = urlencode({"word": word}) if self.page == "word" else ""
        started = time.monotonic()
        seen = await asyncio.wait_for(self._run(), TIMEOUT_SECONDS)
        self.observed.answers.append((started, question, time.monotonic() - started))
        if self.page == "word" and f"Words used like “{word}”" not in seen:
            self.observed.errors.append(f"{question}: nothing about {word}")
        if len(seen) < 40:
            self.observed.errors.append(f"{question}: an empty page")

    async def _run(self) -> str:
        """Request the page, and return its text when it is complete."""
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name = self.query, self.page
        for widget, value in self.choices.items():
            state.widget_states.widgets.add(id=widget, string_value=value)
        await self.socket.send(message.SerializeToString())
        seen, self.box = "", ""
        while True:
            answer = ForwardMsg.FromString(await self.socket.recv(decode=False))
            kind = answer.WhichOneof("type")
            if kind == "script_finished" and answer.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                return seen
            if kind == "script_finished" and answer.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                raise RuntimeError(f"the page did not run: {answer.script_finished}")
            if kind == "delta" and answer.delta.WhichOneof("type") == "new_element":
                element = answer.delta.new_element
                if element.WhichOneof("type") == "exception":
                    raise RuntimeError(f"on {self.page}: {element.exception.type}: {element.exception.message}")
                seen += element.heading.body.replace("\\", "") + element.markdown.body + element.html.body
                if element.selectbox.label == "Word" and self.page == "word":
                    self.box = element.selectbox.id


async def run_visitors(
    url: str, number: int, words: list[str], observed: Observations, until: float, pause: float
) -> None:
    """Run one visitor after the other."""
    random = Random(number)
    address = f"ws://{urlsplit(url).netloc}/_stcore/stream"
    await asyncio.sleep(random.random() * pause)
    while time.monotonic() < until:
        leaving = time.monotonic() + random.expovariate(1 / MEAN_VISIT_SECONDS)
        try:
            async with connect(address, origin=url, subprotocols=["streamlit"], max_size=None) as socket:  # type: ignore[arg-type, list-item]
                observed.visits += 1
                visitor = Visitor(socket, random, words, observed)
                while time.monotonic() < min(leaving, until):
                    await visitor.ask()
                    await asyncio.sleep(random.uniform(0.5, 1.5) * pause)
        except Exception as error:  # every error of a visitor is counted
            observed.errors.append(f"{type(error).__name__}: {error}")
            await asyncio.sleep(pause)


async def watch(pid: int, until: float) -> list[tuple[float, int, int, int, float]]:
    """Sample anonymous memory in MB, open files, threads, and processor seconds."""
    seen = []
    while time.monotonic() < until:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        megabytes = int(status["RssAnon"].split()[0]) // 1024
        work = sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])) / TICKS
        seen.append((time.monotonic(), megabytes, len(os.listdir(f"/proc/{pid}/fd")), int(status["Threads"]), work))
        await asyncio.sleep(SECONDS_BETWEEN_SAMPLES)
    return seen


def fit_demo(folder: Path) -> None:
    corpus = lx.demo().where(party=["Democratic", "Republican"]).periods("year", every="20y", start=1861)
    tokens = lx.Tokens.of(corpus, min_count=10, cache=folder.parent / "cache", quiet=True)
    prior = lx.Ridge(1.0) + lx.Groups("party", 100.0) + lx.Chain("period", 100.0)
    lx.fit(lx.Model(["party", "period"], prior, dimensions=100), tokens, epochs=2, quiet=True).save(folder)


async def visit(url: str, pid: int, words: list[str], options: argparse.Namespace) -> tuple[Observations, pd.DataFrame]:
    observed, until = Observations(), time.monotonic() + 60 * options.minutes
    visitors = [run_visitors(url, number, words, observed, until, options.pause) for number in range(options.visitors)]
    memory, *_ = await asyncio.gather(watch(pid, until), *visitors)
    return observed, pd.DataFrame(memory, columns=["at", "MB", "files", "threads", "work"])


def report(observed: Observations, memory: pd.DataFrame, options: argparse.Namespace) -> None:
    answers = pd.DataFrame(observed.answers, columns=["at", "question", "seconds"])
    taken = answers.groupby("question")["seconds"].quantile([0.5, 0.95, 0.99, 1.0]).unstack()
    taken.loc["all"] = answers["seconds"].quantile([0.5, 0.95, 0.99, 1.0])
    counts = answers["question"].value_counts()
    taken.insert(0, "answers", [counts.get(name, len(answers)) for name in taken.index])
    print(taken.set_axis(["answers", "median", "95%", "99%", "slowest"], axis=1).round(3).to_string())
    print(
        f"{options.visitors} visitors, {observed.visits} visits, {len(answers) / options.minutes:.0f} answers a minute"
    )
    work = memory["work"].iloc[-1] - memory["work"].iloc[0]
    print(f"{work / len(answers):.3f} s of work an answer, {work / 60 / options.minutes:.2f} of a core")
    print(f"errors: {len(observed.errors)} {Counter(observed.errors).most_common(5) if observed.errors else ''}")
    minute = ((memory["at"] - memory["at"].iloc[0]) // 60).astype(int)
    print(memory.groupby(minute).last()[["MB", "files", "threads"]].T.to_string())
    half = memory.iloc[len(memory) // 2 :]
    slope = np.polyfit(half["at"] / 60, half["MB"], 1)[0] if len(half) > 2 else float("nan")
    print(f"memory grows by {slope:.2f} MB a minute in the second half")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visitors", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--pause", type=float, default=8.0, help="seconds from an answer to the next question")
    parser.add_argument("--words", type=int, help="use random vectors of this number of words instead of the demo")
    parser.add_argument("--model", type=Path, help="a saved model instead of the demo")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        folder = options.model or Path(home) / "random.laplex"
        if options.words:
            make(folder, options.words, 100)
        elif not options.model:
            fit_demo(folder)
        words = lx.load(folder).words()[:5000]
        with explore(folder, browser=False, wait=False, quiet=True) as running:
            report(*asyncio.run(visit(running.url, running._process.pid, words, options)), options)


if __name__ == "__main__":
    main()
