"""Threads that each have words of their own, while linear algebra takes none itself.

The matrices of a word are small. If every thread lets them be multiplied by as many threads again, these wait for each
other most of the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def pool_of(threads: int) -> Iterator[ThreadPoolExecutor]:
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        yield pool
