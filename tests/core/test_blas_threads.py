"""Small matrices are taken by one thread, large ones by as many as there were before, and nothing stays changed."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from eigenax.core.blas_threads import SMALL, few_threads
from eigenax.core.pencil import Pencil


def threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.mark.parametrize(("size", "expected"), [(10, {1}), (SMALL + 1, {2})])
def test_only_small_matrices_have_one_thread(size, expected):
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        if before != {2}:
            pytest.skip("linear algebra has one thread here")
        with few_threads(size):
            assert threads() == expected
        assert threads() == before


def test_eigenproblems_of_a_few_functions_have_one_thread(monkeypatch):
    seen, solve = [], np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: (seen.append(threads()), solve(matrix))[1])
    with threadpool_limits(2, user_api="blas"):
        Pencil.of(np.eye(3), np.diag([3.0, 1.0, 2.0]), 2, 1e-13)
    assert seen == [{1}]
