"""What a fit will take is said before it starts, and one that does not fit into memory is refused."""

from __future__ import annotations

import numpy as np
import pytest
import small

import laplex as lx
from laplex.engines.state import State
from laplex.fitting import estimate
from laplex.model.problem import make_problem
from laplex.model.rows import Rows
from laplex.runtime import memory


@pytest.fixture(scope="module")
def tokens():
    rows = small.documents(count=60)
    for number, row in enumerate(rows):
        row["year"] = f"{1900.5 + number % 30}"
    return lx.Tokens.of(small.corpus(rows), min_count=1, quiet=True)


def model(absent="kept", prior=None, dimensions=20):
    return lx.Model(["year"], prior or lx.Ridge(1.0) + lx.Groups("year", 10.0), dimensions=dimensions, absent=absent)


@pytest.mark.parametrize("absent", ["kept", "filled"])
def test_the_vectors_are_counted(tokens, absent):
    found = estimate.estimate(model(absent), tokens, lx.Training(epochs=3))
    problem = make_problem(model(absent), tokens, Rows(tokens.vocabularies, tokens.slices(["year"])), 0.0, 1)
    assert found.vectors == problem.graph.own
    assert found.slices == 30
    state = State.zeros(problem)
    assert found.least_bytes > state.first(problem.graph.own).memory.nbytes
    assert found.least_bytes < found.bytes


def test_the_time_grows_with_epochs_and_falls_with_threads(tokens):
    one, more, faster = (
        estimate.estimate(model(), tokens, lx.Training(**options)).seconds
        for options in ({"epochs": 2, "threads": 1}, {"epochs": 6, "threads": 1}, {"epochs": 6, "threads": 3})
    )
    assert more == pytest.approx(3 * one)
    assert faster == pytest.approx(one)


def test_a_fit_and_a_tuning_say_it_first_if_it_is_much(tokens, capsys, monkeypatch):
    lx.fit(model(), tokens, epochs=1, tests=False)
    assert "of memory" not in capsys.readouterr().err
    monkeypatch.setattr(estimate, "WORTH_SAYING_BYTES", 1e6)
    lx.fit(model(), tokens, epochs=1, tests=False)
    first = capsys.readouterr().err.splitlines()
    said = [line for line in first if line.startswith("a fit of 558 vectors of 20 dimensions (18 words in 30 slices)")]
    assert len(said) == 1
    assert "of memory and 1 s" in said[0]
    lx.fit(model(), tokens, epochs=1, tests=False, quiet=True)
    assert capsys.readouterr().err == ""
    lx.tune(model(), tokens, {"groups": [1.0, 10.0]}, epochs=1, tests=False)
    assert "each fit of 558 vectors" in capsys.readouterr().err


@pytest.mark.parametrize(("absent", "suggested"), [("kept", True), ("filled", False)])
def test_what_does_not_fit_is_refused_with_what_to_do(tokens, monkeypatch, absent, suggested):
    monkeypatch.setattr(estimate, "available_bytes", lambda: 1000)
    for start in (
        lambda: lx.fit(model(absent), tokens, quiet=True),
        lambda: lx.tune(model(absent), tokens, quiet=True),
    ):
        with pytest.raises(lx.InputError, match=r"are free: raise min_count=.*dimensions=.*fewer slices") as error:
            start()
        assert ('absent="filled"' in str(error.value)) == suggested
    monkeypatch.setattr(estimate, "available_bytes", lambda: None)  # where the system does not say
    assert lx.fit(model(absent), tokens, epochs=1, tests=False, quiet=True).dimensions == 20


def test_many_numbers_as_groups_are_doubted(tokens, capsys):
    training = lx.Training(epochs=1)
    estimate.announce(model(), tokens, training, False)
    said = capsys.readouterr().err
    assert 'the 30 values of "year" are numbers or times, such as 1900.5 and 1901.5' in said
    assert 'lx.Chain("year")' in said
    assert 'corpus.bins("year")' in said
    for other in (model(prior=lx.Ridge(1.0) + lx.Chain("year", 1.0)), lx.Model(["party"], lx.Groups("party", 1.0))):
        estimate.announce(other, tokens, training, False)
        assert "group of its own" not in capsys.readouterr().err


def test_the_memory_of_a_control_group_counts(tmp_path, monkeypatch):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9000 kB\nMemAvailable:    5000 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", str(meminfo))
    group = tmp_path / "group"
    group.mkdir()
    monkeypatch.setattr(memory, "CONTROL_GROUPS", ((str(group), "memory.max", "memory.current", "inactive_file"),))
    assert memory.available_bytes() == 5_120_000
    (group / "memory.max").write_text("3000000\n")
    (group / "memory.current").write_text("1000000\n")
    (group / "memory.stat").write_text("anon 1\ninactive_file 500000\n")
    assert memory.available_bytes() == 2_500_000
    (group / "memory.max").write_text("max\n")
    assert memory.available_bytes() == 5_120_000
    monkeypatch.setattr(memory, "MEMINFO", str(tmp_path / "none"))
    assert memory.available_bytes() is None


def test_this_machine_has_memory_or_does_not_say():
    free = memory.available_bytes()
    assert free is None or 10**6 < free < 10**15
    assert np.isfinite(free or 0)
