"""A small corpus with awkward words, a free port, and how to wait for a page in the browser."""

from __future__ import annotations

import socket
from typing import Any

import numpy as np

SCRIPT = "<script>window.hacked=1</script>"
IMAGE = "<img/src=x/onerror=window.hacked=1>"
AWKWARD = [SCRIPT, IMAGE, "=1+1", "*star*", ":red[x]", "$a$", "größe", "東京"]
TOPICS = [
    ["tax", "money", "budget", "spending", "debt", "dollar", "income", "wage", *AWKWARD[:4]],
    ["war", "army", "peace", "soldier", "navy", "battle", "weapon", "treaty", *AWKWARD[4:]],
    ["school", "teacher", "child", "health", "hospital", "family", "nurse", "doctor", "the", "of"],
]
YEARS = ("2000", "2001", "2003")


def documents(count: int = 360, length: int = 40, seed: int = 0) -> list[dict[str, Any]]:
    """Documents about one topic each; "health" is about money for R, about families for D."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        party, year, speaker = "DR"[number % 2], YEARS[number // 2 % 3], number % 24
        topic = list(TOPICS[random.integers(3)])
        if party == "R" and "tax" in topic:
            topic += ["health"] * 3
        words = random.choice(topic, length)
        made.append({"text": [str(w) for w in words], "party": party, "year": year, "speaker": f"s{speaker}"})
    return made


def settle(page: Any) -> None:
    """Wait until the page is drawn and nothing runs any more."""
    page.wait_for_timeout(250)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=60_000)
    page.wait_for_function(
        "() => !document.querySelector('[data-testid=stStatusWidget]') && !document.querySelector('[data-stale=true]')"
        " && !document.querySelector('[data-testid=stSkeleton]')",
        timeout=60_000,
    )


def unused_port() -> int:
    """A port that is free now; a random one, since tests run in several processes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
