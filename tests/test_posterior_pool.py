"""Threads of words do not share processors with threads of linear algebra."""

from __future__ import annotations

from threadpoolctl import threadpool_info, threadpool_limits

from laplex.posterior.pool import pool_of


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_linear_algebra_takes_one_thread_inside_and_as_many_as_before_afterwards():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pool_of(2) as pool:
            assert pool.submit(blas_threads).result() == {1}
        assert blas_threads() == before == {2}
