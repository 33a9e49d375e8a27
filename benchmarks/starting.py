"""How long laplex takes to start: imports, commands, questions, the explorer, and compiling at the first fit.

    python benchmarks/starting.py

Every figure is of processes of their own: the least processor time of several, since what else the machine does only
adds to it; for the explorer the least time until the first page is computed, as a browser would see it. Compiling is
the processor time of a first fit without Numba's cache, less that of the second one in the same process. The model is
one of the built-in State of the Union addresses, so that no data are needed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import pandas as pd
from results import Aim, Section

TIMES = 5  # that each command is run
PORT = 9_471
EPOCHS = 2
TEXT = """Seconds of processor time, the least of several processes; for the explorer, seconds until the first page is
computed. A question is answered by the vectors alone (--no-test), by a test that is kept with the model (drift), or by
reading the text for intervals. Compiling is that of a first fit, with an empty cache of Numba, and of its tests."""
LAPLEX = (sys.executable, "-m", "laplex")
QUESTIONS = {
    "laplex neighbors, --no-test": ("neighbors", "tax", "--no-test"),
    "laplex similarity, --no-test": ("similarity", "tax", "war", "--no-test"),
    "laplex drift, kept": ("drift", "period"),
    "laplex neighbors, intervals": ("neighbors", "tax"),
}


def processor_seconds(command: tuple[str, ...], times: int = TIMES) -> float:
    """The least processor time of a command, without the first run, in which files come from the disk."""
    taken = []
    for _ in range(times + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken[1:])


# compiling, in a process whose cache of Numba is empty


def compile_and_save(likelihood: str, folder: Path) -> None:
    """Fit and test twice, print the seconds that were only needed the first time, and save the model."""
    import laplex as lx

    tokens = lx.Tokens.of(lx.demo().periods("year", every="40y", start=1781), min_count=10, quiet=True)
    model = lx.Model(["period"], lx.Ridge() + lx.Chain("period", 100.0), likelihood)  # type: ignore[arg-type]
    fits, tests = [], []
    for _ in range(2):
        started = time.process_time()
        fitted = lx.fit(model, tokens, epochs=EPOCHS, threads=1, tests=False, quiet=True)
        fits.append(time.process_time() - started)
        started = time.process_time()
        fitted.drift("period")
        tests.append(time.process_time() - started)
    fitted.save(folder)
    print(json.dumps({"fit": fits[0] - fits[1], "tests": tests[0] - tests[1]}))


def compiling(likelihood: str, folder: Path) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, str(Path(__file__).resolve()), "--step", likelihood, "--out", str(folder)]
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


# the explorer


def seconds_to_first_page(model: Path) -> float:
    """From the start of `laplex explore` until the first page is computed."""
    command = [*LAPLEX, "explore", str(model), "--port", str(PORT), "--no-browser", "--quiet"]
    started = time.perf_counter()
    with subprocess.Popen(command) as process:
        try:
            _wait_for_server(process)
            asyncio.run(_first_page())
            return time.perf_counter() - started
        finally:
            process.terminate()


def _wait_for_server(process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/_stcore/health", timeout=5):
                return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"laplex explore ended with {process.returncode}")


async def _first_page() -> None:
    """Ask for the first page as Streamlit's own page in the browser does, and wait for its end."""
    from streamlit.proto.BackMsg_pb2 import BackMsg
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
    from websockets.asyncio.client import connect

    address = f"ws://127.0.0.1:{PORT}/_stcore/stream"
    origin = f"http://127.0.0.1:{PORT}"
    async with connect(address, subprotocols=["streamlit"], origin=origin, max_size=None) as socket:  # type: ignore[list-item,arg-type]
        request = BackMsg()
        request.rerun_script.query_string = ""
        await socket.send(request.SerializeToString())
        while True:
            message = ForwardMsg()
            message.ParseFromString(await socket.recv())
            if message.WhichOneof("type") == "script_finished":
                assert message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
                return


def measure(data: Path | None = None, times: int = TIMES) -> Section:
    """Everything; `data` is not needed."""
    rows, aims = [], []

    def add(name: str, seconds: float, at_most: float | None = None) -> None:
        rows.append({"what": name, "seconds": seconds})
        print(rows[-1], file=sys.stderr, flush=True)
        if at_most is not None:
            aims.append(Aim(name, seconds, "s", at_most=at_most))

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "union.laplex"
        for likelihood in ("sgns", "cbow"):
            seconds = compiling(likelihood, model)
            add(f"compiling for {likelihood.upper()}", seconds["fit"], 8.0)
            add(f"compiling of its tests, {likelihood.upper()}", seconds["tests"])
        add("python, nothing else", processor_seconds((sys.executable, "-c", "pass"), times))
        add("import laplex", processor_seconds((sys.executable, "-c", "import laplex"), times), 0.5)
        add("laplex --version", processor_seconds((*LAPLEX, "--version"), times), 0.2)
        add("laplex --help", processor_seconds((*LAPLEX, "--help"), times))
        for name, (question, *arguments) in QUESTIONS.items():
            bar = None if name.endswith("intervals") else 0.8
            add(name, processor_seconds((*LAPLEX, question, str(model), *arguments), times), bar)
        add("laplex explore, first page", min(seconds_to_first_page(model) for _ in range(3)), 3.0)
    return Section("Starting", TEXT, [pd.DataFrame(rows)], aims)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="Not needed.")
    parser.add_argument("--times", type=int, default=TIMES, help="How often each command is run.")
    parser.add_argument("--step", choices=["cbow", "sgns"], help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.step:
        compile_and_save(chosen.step, chosen.out)
    else:
        print(measure(chosen.data, chosen.times).shown())


if __name__ == "__main__":
    main()
