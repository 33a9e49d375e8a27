"""Several processes fit one model together, started by torchrun as on a cluster."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import small

import laplex as lx
from laplex.engines.cpu import draws
from laplex.engines.ranks import _homes, _joined, _together, read_here
from laplex.errors import LaplexError
from laplex.problem import make_problem
from laplex.rows import Rows
from laplex.world import World, _meet

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A corpus of three parties, so that with two processes one of them owns two."""
    folder = tmp_path_factory.mktemp("ranks")
    rows = small.documents(count=420, length=40)
    for number, row in enumerate(rows):
        row["text"] = " ".join(f"w{word}" for word in row["text"])
        row["party"] = "DRI"[number % 3]
    pd.DataFrame(rows).to_csv(folder / "corpus.csv", index=False)
    return folder


def environment(folder: Path) -> dict[str, str]:
    mine = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LAPLEX_CACHE")}
    return mine | {"LAPLEX_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}


def command(folder: Path, ranks: int, out: str, *more: str, launcher: tuple[str, ...] = ()) -> list[str]:
    fit = ["fit", str(folder / "corpus.csv"), "--group", "party", "--dimensions", "8", "--min-count", "1"]
    fit += ["--threads", "1", "--out", str(folder / out), *more]
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", *launcher, "-m", "laplex"]
    return [sys.executable, *(torchrun if ranks else ["-m", "laplex"]), *fit]


def run(folder: Path, ranks: int, out: str, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, ranks, out, *more), capture_output=True, text=True, env=environment(folder), check=False
    )


def fitted(folder: Path, ranks: int, out: str, *more: str) -> lx.Embeddings:
    done = run(folder, ranks, out, *more)
    assert done.returncode == 0, done.stderr[-3000:]
    return lx.load(folder / out)


@pytest.fixture(scope="module")
def alone(folder):
    return fitted(folder, 0, "alone", "--epochs", "6")


def test_one_rank_is_the_run_without_ranks(folder, alone):
    np.testing.assert_array_equal(fitted(folder, 1, "one", "--epochs", "6").theta, alone.theta)


@pytest.mark.parametrize("ranks", [2, 4])  # 4: more than there are slices, so that none has an owner
def test_several_ranks_come_as_far_as_one(folder, alone, ranks):
    together = fitted(folder, ranks, f"ranks{ranks}", "--epochs", "6")
    text = lx.read(folder / "corpus.csv", metadata=["party"])
    one, several = lx.evaluation.held_out({"one": alone, "several": together}, text, quiet=True)["log_likelihood"]
    assert several > one - 0.02 * abs(one)
    assert together.rows.vocabularies[0].words == alone.rows.vocabularies[0].words
    np.testing.assert_array_equal(together.counts[0], alone.counts[0])
    assert (together.history["sent"].diff().dropna() > 0).all()
    with pytest.raises(lx.InputError, match="each with a part of the text"):
        together.contrast("party", interval=0.9)
    if ranks == 2:  # of 18 words four ranks move each at every merge, and agree less; two seeds agree by .93
        products = [(m.matrix(party="D") @ m.matrix(party="D").T).ravel() for m in (alone, together)]
        assert np.corrcoef(*products)[0, 1] > 0.8


def test_two_ranks_with_a_device_each_come_as_far_as_one(folder):
    more = ("--epochs", "6", "--engine", "torch", "--device", "cpu")
    models = {str(ranks): fitted(folder, ranks, f"torch{ranks}", *more) for ranks in (0, 2)}
    text = lx.read(folder / "corpus.csv", metadata=["party"])
    one, two = lx.evaluation.held_out(models, text, quiet=True)["log_likelihood"]
    assert two > one - 0.02 * abs(one)


def test_a_strong_belief_on_several_devices_is_as_strong_as_on_one(folder):
    """A slice has one owner here, and every rank sweeps over all edges: together they must not pull more often."""
    more = ("--epochs", "6", "--engine", "torch", "--device", "cpu", "--group-strength", "300")
    apart = []
    for ranks in (0, 3):
        model = fitted(folder, ranks, f"strong{ranks}", *more)
        vectors = np.stack([model.matrix(party=party) for party in "DRI"])
        apart.append(float(np.linalg.norm(vectors - vectors.mean(0)) / np.linalg.norm(vectors.mean(0))))
    assert 0.5 < apart[1] / apart[0] < 2


class Watched(World):
    """Remembers what a rank gave to the sum, or gives another sum back."""

    def __init__(self, whole=None):
        self.whole, self.mine = whole, None

    def total(self, mine):
        self.mine = mine
        return mine if self.whole is None else self.whole


def test_the_shares_of_ranks_in_the_readings_of_a_row_add_up(folder):
    tokens = lx.Tokens.of(lx.read(folder / "corpus.csv", metadata=["party"]), min_count=1, quiet=True)
    rows = Rows(tokens.vocabularies, tokens.slices(["party"]))
    problem = make_problem(lx.Model(vary=["party"], dimensions=8), tokens, rows, 0.1, 1)
    whole = Watched()
    np.testing.assert_allclose(read_here(problem, whole), 1.0)
    drawn = np.bincount(problem.slot, minlength=problem.parameters) * draws(problem)
    np.testing.assert_allclose(whole.mine, problem.visits + drawn, rtol=1e-5)
    odd = np.arange(len(problem.held_out)) % 2 == 1
    shares = [
        read_here(replace(problem, held_out=problem.held_out | other), Watched(whole.mine)) for other in (odd, ~odd)
    ]
    np.testing.assert_allclose(sum(shares), 1.0, rtol=1e-5)
    assert 0.3 < shares[0].min() <= shares[0].max() < 0.7


def test_a_rank_that_is_killed_is_started_again_and_the_run_goes_on(folder):
    more = ("--epochs", "60", "--checkpoint", str(folder / "checkpoint"))
    launched = command(folder, 2, "killed", *more, launcher=("--max-restarts=3",))
    process = subprocess.Popen(launched, env=environment(folder), stderr=subprocess.PIPE, text=True)
    try:
        while not (folder / "checkpoint").exists():
            assert process.poll() is None, process.stderr.read()[-3000:]
            time.sleep(0.05)
        children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=True)
        os.kill(int(children.stdout.split()[-1]), signal.SIGKILL)
        _, said = process.communicate(timeout=240)
    finally:
        process.kill()
    assert process.returncode == 0, said[-3000:]
    assert "going on after epoch" in said
    assert len(lx.load(folder / "killed").history) == 60


def test_a_disk_that_is_full_at_a_checkpoint_stops_all_ranks(folder, tmp_path):
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "none", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk can be had by root alone")
    try:
        started = time.monotonic()
        done = run(folder, 2, "full", "--epochs", "200", "--checkpoint", str(tmp_path / "state"))
        assert time.monotonic() - started < 200  # nobody waits for the rank that ended
        assert done.returncode != 0
        assert re.search(r"cannot write .*state.*No space left", done.stderr)
        assert not (folder / "full").exists()
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def test_another_number_of_ranks_does_not_go_on(folder):
    more = ("--epochs", "2", "--checkpoint", str(folder / "of-two"))
    fitted(folder, 2, "of-two-ranks", *more)
    done = run(folder, 3, "of-three-ranks", *more)
    assert done.returncode != 0
    assert "is the checkpoint of another model, text or training" in done.stderr


def test_more_ranks_than_documents(folder, tmp_path):
    pd.DataFrame({"text": ["a b c d e f", "b c d e f a"], "party": ["D", "R"]}).to_csv(tmp_path / "corpus.csv")
    done = run(tmp_path, 3, "out")
    assert done.returncode != 0
    assert "there is no text for rank 2 of 3: start fewer processes" in done.stderr


def test_ranks_that_see_different_files(folder, tmp_path):
    for rank, word in enumerate("xy"):
        pd.DataFrame({"text": [f"a b c {word}"] * 5}).to_csv(tmp_path / f"corpus{rank}.csv")
    script = tmp_path / "fit.py"
    script.write_text(
        "import os, laplex as lx\nlx.fit(lx.Model(dimensions=4), lx.read(f'corpus{os.environ[\"RANK\"]}.csv'))\n"
    )
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script)]
    done = subprocess.run(
        torchrun, capture_output=True, text=True, env=environment(tmp_path), cwd=tmp_path, check=False
    )
    assert done.returncode != 0
    assert "differs between rank 0 and rank 1" in done.stderr


def test_the_home_of_a_row_is_a_rank_that_reads_it_and_all_have_their_share():
    wanted = list(np.random.default_rng(1).random((4, 3000)) < 0.5)
    home = _homes(wanted)
    read = np.stack(wanted)
    assert read[home, np.arange(3000)][read.any(0)].all()
    assert np.bincount(home[read.all(0)], minlength=4).min() > 0.8 * read.all(0).sum() / 4


def test_ways_that_lead_apart_are_added_and_one_that_is_gone_twice_counts_once():
    east, north = np.array([[3.0, 0.0]], np.float32), np.array([[0.0, 1.0]], np.float32)
    np.testing.assert_allclose(_together(east, north), east + north)
    np.testing.assert_allclose(_together(east, east), east, rtol=1e-6)
    np.testing.assert_allclose(_together(east, -east), 0.0 * east, atol=1e-6)
    np.testing.assert_allclose(_together(east, 0.01 * east), east, rtol=1e-3)


def test_two_ranks_with_the_same_gradients_in_different_directions_go_as_far_as_one_after_the_other():
    start, rate = 1e-3, 0.1

    def climb(gradients):
        theta, acc = np.zeros(2), start
        for gradient in gradients:
            acc += np.square(gradient).mean()
            theta = theta + rate * gradient / np.sqrt(acc)
        return theta, acc - start

    east, north = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    parts = [
        (np.array([7]), theta[None].astype(np.float32), np.array([acc], np.float32))
        for theta, acc in (climb([east] * 400), climb([north] * 400))
    ]
    way, acc = _joined(parts, np.array([7]), np.array([start], np.float32))
    after, grown = climb([east, north] * 400)
    np.testing.assert_allclose(way[0], after, rtol=0.05)
    np.testing.assert_allclose(acc[0], start + grown, rtol=1e-5)


@pytest.mark.parametrize("strength", ["1", "10000", "1000000"])
def test_strong_beliefs_do_not_make_four_ranks_diverge(folder, strength):
    more = ("--epochs", "10", "--group-strength", strength)
    alone, together = (fitted(folder, ranks, f"{ranks}-{strength}", *more) for ranks in (0, 4))
    lengths = [np.linalg.norm(model.matrix(party="D"), axis=1).mean() for model in (alone, together)]
    assert 0.5 < lengths[1] / lengths[0] < 2.0
    assert together.history["log_likelihood"].iloc[-1] > alone.history["log_likelihood"].iloc[-1] - 0.1


def test_a_process_alone_gives_and_gets_what_it_has():
    world = World()
    assert world.texts(b"mine") == [b"mine"]
    np.testing.assert_array_equal(world.total(np.arange(3)), np.arange(3))
    assert world.swap([np.arange(2, dtype=np.int64)])[0].view(np.int64).tolist() == [0, 1]
    world.agree("nothing", "differs")


def test_ranks_that_are_started_again_do_not_take_what_is_left_of_earlier_ones():
    store = torch.distributed.HashStore()
    names = set()
    for _ in range(3):
        store.set("laplex/question/3", "of a rank that is dead")
        with ThreadPoolExecutor() as pool:
            found = list(pool.map(lambda rank: _meet(store, rank, 4), range(4)))
        assert len(set(found)) == 1
        names.add(found[0])
    assert len(names) == 3


def test_ranks_that_do_not_come_are_named(monkeypatch):
    monkeypatch.setattr("laplex.world.PATIENCE", 0)
    with pytest.raises(LaplexError, match="of 3 ranks, 1, 2 did not come within 0 minutes"):
        _meet(torch.distributed.HashStore(), 0, 3)


def test_vectors_only_where_words_occur_are_for_one_process(folder):
    done = run(folder, 2, "filled", "--absent", "filled")
    assert done.returncode != 0
    assert 'absent="filled" is for one process, not 2' in " ".join(done.stderr.split())
