"""Several processes fit one model together, started by torchrun as on a cluster."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import small
from engine_runs import make_torch, run_ranks

import laplex as lx
from laplex.engines.ranks import _combine, _join
from laplex.errors import LaplexError
from laplex.inference import pooled
from laplex.model.objective import log_likelihood
from laplex.runtime.distributed import Communicator, _agree_on_run_name

pytestmark = pytest.mark.slow

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
    fit += ["--threads", "1", "--group-strength", "100", "--out", str(folder / out), *more]
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


def test_ranks_choose_one_strength_together(folder, tmp_path):
    script = tmp_path / "choose.py"
    script.write_text(
        "import os, sys\n"
        "import laplex as lx\n"
        "model = lx.Model(['party'], lx.Ridge(1.0) + lx.Groups('party'), dimensions=4)\n"
        "corpus = lx.read(sys.argv[1], metadata=['party'])\n"
        "run = {'checkpoint': sys.argv[2] + '/run', 'threads': 1, 'epochs': 2, 'min_count': 1, 'tests': False}\n"
        "fitted = lx.fit(model, corpus, **run)\n"
        "again = lx.fit(model, corpus, **run)\n"
        "assert again.theta.tobytes() == fitted.theta.tobytes()\n"
        "with open(sys.argv[2] + '/chosen' + os.environ['RANK'], 'w') as file:\n"
        "    print(fitted.settings['tuning']['chosen'], fitted.settings['tuning']['documents'], file=file)\n"
    )
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script)]
    torchrun += [str(folder / "corpus.csv"), str(tmp_path)]
    done = subprocess.run(torchrun, capture_output=True, text=True, env=environment(tmp_path), check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "chosen0").read_text() == (tmp_path / "chosen1").read_text()


@pytest.mark.parametrize("ranks", [2, 4])  # 4: more than there are slices, so that none has an owner
def test_several_ranks_come_as_far_as_one(folder, alone, ranks):
    together = fitted(folder, ranks, f"ranks{ranks}", "--epochs", "6")
    text = lx.read(folder / "corpus.csv", metadata=["party"])
    one, several = lx.evaluation.held_out({"one": alone, "several": together}, text, quiet=True)["log_likelihood"]
    assert several > one - 0.05 * abs(one)  # eight seeds of one process differ by up to 3%, and of two ranks by 4%
    assert together.rows.vocabularies[0].words == alone.rows.vocabularies[0].words
    np.testing.assert_array_equal(together.counts[0], alone.counts[0])
    assert (together.history["sent"].diff().dropna() > 0).all()
    with pytest.raises(lx.InputError, match="each with a part of the text"):
        together.contrast("party")
    assert together.settings["training"]["pooled_epochs"] == 2
    assert pooled(together).contexts().shape == (18, 8)  # without the text
    if ranks == 2:  # of 18 words four ranks move each at every merge, and agree less; two seeds agree by .93
        products = [(m.matrix(at={"party": "D"}) @ m.matrix(at={"party": "D"}).T).ravel() for m in (alone, together)]
        assert np.corrcoef(*products)[0, 1] > 0.8
        products = [(pooled(m).matrix() @ pooled(m).contexts().T).ravel() for m in (alone, together)]
        assert np.corrcoef(*products)[0, 1] > 0.8


def test_languages_in_periods_are_joined_by_several_ranks_which_go_on_from_their_parts_of_a_checkpoint(tmp_path):
    """Languages are rotated onto each other, and a slice of a language has one owner, as have its vectors."""
    rows = small.documents(count=480, length=30, languages=("en", "de"))
    for row in rows:
        row["text"] = " ".join(row["text"])
    pd.DataFrame(rows).to_csv(tmp_path / "corpus.csv", index=False)
    script = tmp_path / "fit.py"
    script.write_text(
        "import os, sys\n"
        "import laplex as lx\n"
        "pairs = [(f'en{word}', f'de{word}') for word in range(6)]\n"
        "prior = lx.Ridge(1.0) + lx.Chain('year', 20.0) + lx.Translations(pairs, 20.0, languages=('en', 'de'))\n"
        "model = lx.Model(['year'], prior, dimensions=6)\n"
        "corpus = lx.read(sys.argv[1] + '/corpus.csv', metadata=['year'], language_column='lang')\n"
        "run = {'threads': 1, 'epochs': 5, 'min_count': 1, 'quiet': True, 'tests': False, 'checkpoint': sys.argv[2]}\n"
        "fitted = lx.fit(model, corpus, **run)\n"
        "assert lx.fit(model, corpus, **run).theta.tobytes() == fitted.theta.tobytes()\n"
        "if os.environ.get('RANK', '0') == '0':\n"
        "    fitted.save(sys.argv[2] + '-model')\n"
    )
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=3"]
    for name, launcher in (("one", []), ("three", torchrun)):
        started = [sys.executable, *launcher, str(script), str(tmp_path), str(tmp_path / name)]
        done = subprocess.run(started, capture_output=True, text=True, env=environment(tmp_path), check=False)
        assert done.returncode == 0, done.stderr[-3000:]
    models = {name: lx.load(tmp_path / f"{name}-model") for name in ("one", "three")}
    assert sorted(path.name for path in (tmp_path / "three").iterdir()) == [
        f"rank-{i}-{t}" for i in range(3) for t in "ab"
    ]
    assert models["three"].history["rotated"].any()
    text = lx.read(tmp_path / "corpus.csv", metadata=["year"], language_column="lang")
    one, three = lx.evaluation.held_out(models, text, quiet=True)["log_likelihood"]
    assert three > one - 0.08 * abs(one)  # a rank reads 75 tokens between two merges
    alike = {name: likeness_of_translations(model) for name, model in models.items()}
    assert alike["three"] > max(alike["one"] - 0.2, 0.3)  # whoever owns the slices


def likeness_of_translations(model: lx.Embeddings) -> float:
    """The mean cosine of the first words of two languages and their translations."""
    blocks = [model.matrix(language, at={"year": "2001"}) for language in ("en", "de")]
    numbers = [[model.words(language).index(f"{language}{i}") for i in range(6)] for language in ("en", "de")]
    english, german = (
        block[chosen] / np.linalg.norm(block[chosen], axis=1, keepdims=True) for block, chosen in zip(blocks, numbers)
    )
    return float((english * german).sum(1).mean())


def test_two_ranks_with_a_device_each_come_as_far_as_one(folder):
    more = ("--epochs", "6", "--engine", "torch", "--device", "cpu")
    models = {str(ranks): fitted(folder, ranks, f"torch{ranks}", *more) for ranks in (0, 2)}
    text = lx.read(folder / "corpus.csv", metadata=["party"])
    one, two = lx.evaluation.held_out(models, text, quiet=True)["log_likelihood"]
    assert two > one - 0.02 * abs(one)


def strong_problem(strength):
    rows = small.documents(count=420, length=40)
    for number, row in enumerate(rows):
        row["party"] = "DRI"[number % 3]
    prior = lx.Ridge(1.0) + lx.Groups("party", strength)
    return small.problem(rows, prior, ["party"], dimensions=8, window=5, negatives=5), small.layout(rows, ["party"])


def test_a_strong_prior_on_several_devices_is_as_strong_as_on_one():
    """A slice has one owner here, and every rank sweeps over all edges: together they must not pull more often."""
    problem, where = strong_problem(300.0)
    spread = []
    for size in (1, 3):
        theta = run_ranks(problem, 6, size, make_torch, rate=0.12)
        vectors = np.stack([theta[where.words(0, slice)] for slice in range(3)])
        spread.append(float(np.linalg.norm(vectors - vectors.mean(0)) / np.linalg.norm(vectors.mean(0))))
    assert 0.5 < spread[1] / spread[0] < 2


@pytest.mark.parametrize("strength", [1.0, 1e4, 1e6])
def test_strong_priors_do_not_make_four_ranks_diverge(strength):
    problem, where = strong_problem(strength)
    alone, together = (run_ranks(problem, 10, size, rate=0.12) for size in (1, 4))
    lengths = [np.linalg.norm(theta[where.words(0, 0)], axis=1).mean() for theta in (alone, together)]
    assert 0.5 < lengths[1] / lengths[0] < 2.0
    tokens = len(problem.ids)
    values = [log_likelihood(problem, theta)[0] / tokens for theta in (alone, together)]
    assert values[1] > values[0] - 0.1


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


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_ranks_read_their_own_files_and_have_one_vocabulary(folder, tmp_path, kind):
    frame = pd.read_csv(folder / "corpus.csv")
    (tmp_path / "parts").mkdir()
    for number in range(4):
        part = frame.iloc[number * 105 : (number + 1) * 105]
        part.to_csv(tmp_path / "parts" / f"{number}.csv") if kind == "csv" else part.to_parquet(
            tmp_path / "parts" / f"{number}.parquet"
        )
    script = tmp_path / "read.py"
    script.write_text(
        "import json, os, sys\n"
        "import laplex as lx\n"
        "tokens = lx.Tokens.of(lx.read(sys.argv[1] + '/parts', metadata=['party']), min_count=1, quiet=True)\n"
        "vocabulary = tokens.vocabularies[0]\n"
        "facts = tokens.documents, len(tokens), list(vocabulary.words), vocabulary.counts.tolist()\n"
        "with open(sys.argv[1] + '/facts' + os.environ.get('RANK', ''), 'w') as file:\n"
        "    json.dump(facts, file)\n"
    )
    for launcher in ([], ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]):
        command = [sys.executable, *launcher, str(script), str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(tmp_path), check=False)
        assert done.returncode == 0, done.stderr[-3000:]
    one, *both = (json.loads((tmp_path / f"facts{rank}").read_text()) for rank in ("", 0, 1))
    assert sum(documents for documents, *_ in both) == 420
    assert all(abs(documents - 210) <= 4 for documents, *_ in both)
    assert sum(tokens for _, tokens, *_ in both) == one[1]
    assert all(words == one[2] and counts == one[3] for _, _, words, counts in both)


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


def test_topics_are_not_found_by_parts_of_the_text(tmp_path):
    script = tmp_path / "topics.py"
    script.write_text("import laplex as lx\nlx.demo().topics(5)\n")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script)]
    done = subprocess.run(torchrun, capture_output=True, text=True, env=environment(tmp_path), check=False)
    assert done.returncode != 0
    assert "topics are found in one process" in done.stderr


def test_ranks_that_have_just_communicated_end_without_being_aborted(tmp_path):
    """A thread of the process group that is still at work when Python ends aborts more than half of such runs."""
    script = tmp_path / "exchange.py"
    script.write_text(
        "import numpy as np\nfrom laplex.runtime.distributed import communicator\n"
        "for _ in range(300):\n    communicator().all_to_all([np.ones(10_000, np.uint8)] * 2)\n"
    )
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script)]
    for _ in range(4):
        done = subprocess.run(torchrun, capture_output=True, text=True, env=environment(tmp_path), check=False)
        assert done.returncode == 0, done.stderr[-3000:]


def test_displacements_that_lead_apart_are_added_and_one_of_both_ranks_counts_once():
    east, north = np.array([[3.0, 0.0]], np.float32), np.array([[0.0, 1.0]], np.float32)
    np.testing.assert_allclose(_combine(east, north), east + north)
    np.testing.assert_allclose(_combine(east, east), east, rtol=1e-6)
    np.testing.assert_allclose(_combine(east, -east), 0.0 * east, atol=1e-6)
    np.testing.assert_allclose(_combine(east, 0.01 * east), east, rtol=1e-3)


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
    displacement, acc = _join(parts, np.array([7]), np.array([start], np.float32))
    after, grown = climb([east, north] * 400)
    np.testing.assert_allclose(displacement[0], after, rtol=0.05)
    np.testing.assert_allclose(acc[0], start + grown, rtol=1e-5)


def test_a_process_alone_gives_and_gets_what_it_has():
    communicator = Communicator()
    assert communicator.allgather(b"mine") == [b"mine"]
    np.testing.assert_array_equal(communicator.allreduce(np.arange(3)), np.arange(3))
    assert communicator.all_to_all([np.arange(2, dtype=np.int64)])[0].view(np.int64).tolist() == [0, 1]
    communicator.check_equal("nothing", "differs")


def test_ranks_that_are_started_again_do_not_take_what_is_left_of_earlier_ones():
    store = torch.distributed.HashStore()
    names = set()
    for _ in range(3):
        store.set("laplex/question/3", "of a rank that is dead")
        with ThreadPoolExecutor() as pool:
            agreed = list(pool.map(lambda rank: _agree_on_run_name(store, rank, 4), range(4)))
        assert len(set(agreed)) == 1
        names.add(agreed[0])
    assert len(names) == 3


def test_ranks_that_do_not_start_are_named(monkeypatch):
    monkeypatch.setattr("laplex.runtime.distributed.START_TIMEOUT_SECONDS", 0)
    with pytest.raises(LaplexError, match="of 3 ranks, 1, 2 did not start within 0 minutes"):
        _agree_on_run_name(torch.distributed.HashStore(), 0, 3)


def test_several_ranks_keep_vectors_only_where_words_occur(folder, tmp_path):
    rows = pd.read_csv(folder / "corpus.csv")
    rows["text"] += " only" + rows["party"]
    rows.to_csv(tmp_path / "corpus.csv", index=False)
    alone, together = (fitted(tmp_path, ranks, f"filled{ranks}", "--absent", "filled") for ranks in (0, 2))
    assert together.theta.shape == alone.theta.shape
    np.testing.assert_array_equal(together.slot, alone.slot)
    assert (together.slot < 0).sum() == 3 * 2  # each party's own word in the two other parties
    text = lx.read(tmp_path / "corpus.csv", metadata=["party"])
    one, several = lx.evaluation.held_out({"one": alone, "several": together}, text, quiet=True)["log_likelihood"]
    assert several > one - 0.05 * abs(one)
