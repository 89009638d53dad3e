"""A small part of benchmarks/honesty.py: what is beyond its stated errors is marked."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import honesty
from honesty_problems import load
from honesty_problems.base import Found
from honesty_problems.references import line_levels, reversible_levels
from honesty_problems.surfaces import of_revolution


def test_stated_errors_of_quick_problems_are_honest():
    records = [honesty.record_of(name) for name in honesty.QUICK]
    assert {one["status"] for one in records} == {"solved", "refused"}
    told = honesty.counts(records)
    assert told["unmarked"] == 0, honesty.table(records)
    assert 0.1 < told["median ratio"] < 10
    assert told["within"] > 15


def test_a_wrong_number_is_told_from_a_marked_one():
    values, exact = np.array([1.0, 2.5, 3.5, 4.0]), np.array([1.0, 2.0, 3.0, 7.0])
    errors, marked = np.array([1e-9, 1e-3, 1e-3, math.inf]), np.array([False, False, True, False])
    modes = honesty.modes_of(Found(values, errors, marked, exact))["modes"]
    assert [mode["verdict"] for mode in modes] == ["within", "unmarked", "marked", "marked"]
    complex_ones = Found(np.array([4.0]), np.array([0.1]), np.array([False]), np.array([4 + 1.5j]))
    assert honesty.modes_of(complex_ones)["modes"][0]["verdict"] == "unmarked"


def test_interrupted_files_are_gone_on_from(tmp_path):
    file = tmp_path / "honesty.jsonl"
    file.write_text('{"name": "path", "status": "solved"}\n{"name": "cyc')
    assert list(honesty.records_in(file)) == ["path"]


def test_problems_are_enough_and_of_all_kinds():
    problems = load()
    assert len(problems) >= 60
    assert len({one.kind for one in problems.values()}) >= 12
    assert set(honesty.QUICK) <= problems.keys()


@pytest.mark.parametrize(
    ("found", "exact"),
    [
        (line_levels(lambda x: x**2, (-8, 0, 8), 3), [1, 3, 5]),
        (
            line_levels(np.zeros_like, (0, 1, 2), 3, ends=("neumann", "dirichlet")),
            (np.pi * np.array([1, 3, 5]) / 4) ** 2,
        ),
        (of_revolution(4, (0, np.pi), np.sin, np.ones_like), [0, 2, 2, 2]),
        (reversible_levels(np.array([[0.9, 0.1], [0.2, 0.8]]), 2), [1, 0.7]),
    ],
)
def test_references(found, exact):
    np.testing.assert_allclose(found, exact, atol=1e-8)
