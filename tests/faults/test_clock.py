"""The clock of the machine may be set back or leap ahead: nothing that laplex does depends on it."""

from __future__ import annotations

import time

import jobs
import numpy as np
import pytest

import laplex as lx
from laplex.runtime import storage


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    home = tmp_path_factory.mktemp("clock")
    jobs.write_text(home / "text.csv")
    jobs.ingest(home, home)
    return jobs.tokens_in(home)


@pytest.fixture
def clock(monkeypatch):
    """Let the clock make steps of so many seconds each time it is asked."""

    def going(step):
        now = [time.time()]

        def ask():
            now[0] += step
            return now[0]

        monkeypatch.setattr(time, "time", ask)
        monkeypatch.setattr(time, "time_ns", lambda: int(ask() * 1e9))

    return going


@pytest.fixture
def saves(monkeypatch):
    """The pieces of the epoch after which a checkpoint was kept."""
    pieces = []
    save = storage.save

    def noted(folder, kind, settings, arrays):
        pieces.append(settings["position"]["piece"])
        save(folder, kind, settings, arrays)

    monkeypatch.setattr(storage, "save", noted)
    return pieces


@pytest.mark.parametrize("step", [-86_400, 86_400])
@pytest.mark.parametrize(
    ("minutes", "expected"),
    # after every epoch, and once more where slices begin, which is after the first of three
    [(60.0, [0, 0, 0, 0]), (1e-9, [1, 2, 3, 4, 0, 0] + [1, 2, 3, 4, 0] * 2)],
)
def test_checkpoints_come_by_the_time_that_passes(step, minutes, expected, tokens, clock, saves, tmp_path):
    undisturbed = lx.fit(jobs.MODEL, tokens, **jobs.CHOICES)
    clock(step)
    fitted = lx.fit(jobs.MODEL, tokens, checkpoint=tmp_path / "state", checkpoint_minutes=minutes, **jobs.CHOICES)
    assert saves == expected
    assert np.array_equal(fitted.theta, undisturbed.theta)
    assert (fitted.history["tokens_per_second"] > 0).all()


def test_text_is_read_and_models_are_saved_while_the_clock_runs_backwards(clock, tmp_path):
    clock(-3600)
    tokens = lx.Tokens.of(lx.read([{"text": "a b a b"}, {"text": "b a c"}]), min_count=1, cache=tmp_path / "cache")
    model = lx.Model(dimensions=4)
    for _ in range(3):
        lx.fit(model, tokens, epochs=1, threads=1).save(tmp_path / "model")
    assert sorted(lx.load(tmp_path / "model").words()) == ["a", "b", "c"]
    assert len(list((tmp_path / "model").iterdir())) == 2
