"""Work in a thread: it reports progress, is shared, and ends when nobody waits for it."""

from __future__ import annotations

import threading
import time

import pytest

from laplex.errors import InputError
from laplex.explorer import working
from laplex.explorer.working import StoppedError, Works
from laplex.runtime.display import bar


def steps(until: threading.Event, seen: list[int]) -> int:
    """Report progress until it is told to end."""
    with bar("counting", quiet=True) as progress:
        for number in range(10_000):
            seen.append(number)
            progress.update(number / 10_000, f"{number} of 10,000")
            if until.wait(0.001):
                break
    return len(seen)


def test_those_who_ask_the_same_share_the_work_and_see_its_progress():
    works, until, seen = Works(), threading.Event(), []
    one = works.get("a", lambda: steps(until, seen))
    with one.waiting():
        assert works.get("a", lambda: pytest.fail("it was done twice")) is one
        assert not one.wait(0.05)
        assert 0 < one.share < 1
        assert "of 10,000" in one.detail
        until.set()
        assert one.wait(5)
    assert one.result() == len(seen)
    assert works.get("a", lambda: pytest.fail("its result was not kept")) is one


def test_work_that_is_stopped_ends_unless_another_page_waits():
    works, until, seen = Works(), threading.Event(), []
    one = works.get("a", lambda: steps(until, seen))
    with one.waiting():
        one.stop()
        assert not one.wait(0.05)
    one.stop()
    assert one.wait(5)
    with pytest.raises(StoppedError):
        one.result()
    assert works.get("a", lambda: 7) is not one


def test_work_that_nobody_waits_for_is_given_up(monkeypatch):
    monkeypatch.setattr(working, "SECONDS_WITHOUT_WAITING", 0.02)
    one = Works().get("a", lambda: steps(threading.Event(), []))
    assert one.wait(5)
    assert one.failed


def test_an_error_of_the_question_is_kept_and_others_are_tried_again():
    works = Works()

    def fail(error):
        raise error

    one = works.get("a", lambda: fail(InputError("no such word")))
    one.wait(5)
    assert works.get("a", lambda: 1) is one
    with pytest.raises(InputError, match="no such word"):
        one.result()
    other = works.get("b", lambda: fail(MemoryError()))
    other.wait(5)
    again = works.get("b", lambda: 1)
    again.wait(5)
    assert again.result() == 1


def test_only_the_latest_results_are_kept(monkeypatch):
    monkeypatch.setattr(working, "KEPT", 3)
    works = Works()
    kept = [works.get(number, lambda: time.monotonic()) for number in range(5)]
    assert all(one.wait(5) for one in kept)
    works.get(5, lambda: 0)
    assert works.get(4, lambda: 0) is kept[4]
    assert works.get(0, lambda: 0) is not kept[0]
