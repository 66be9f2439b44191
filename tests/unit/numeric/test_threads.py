from __future__ import annotations

import pytest
from threadpoolctl import threadpool_info

from lpisearch.numeric.threads import map_threads, one_blas_thread


def test_results_come_in_order() -> None:
    assert map_threads(lambda a, b: a - b, range(100), range(0, 200, 2)) == [-n for n in range(100)]


def test_an_error_of_a_thread_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        map_threads(lambda n: 1 / n, [1, 0])


def test_blas_keeps_to_one_thread() -> None:
    before = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
    with one_blas_thread():
        blas = [each for each in threadpool_info() if each["user_api"] == "blas"]
        assert {each["num_threads"] for each in blas} == {1}
    after = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
    assert after == before
