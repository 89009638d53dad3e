"""Energies of separable operators, against every combination where there are few and closed forms elsewhere."""

import itertools
import math

import numpy as np
import pytest

from eigenax.lab.spectra.box import box_energies
from eigenax.lab.spectra.oscillator import oscillator_energies
from eigenax.lab.spectra.sums import smallest_sums


def every_sum(parts, n):
    return np.sort([sum(combination) for combination in itertools.product(*parts)])[:n]


@pytest.mark.parametrize(("dims", "n"), [(1, 7), (2, 1), (2, 40), (3, 25), (4, 12)])
@pytest.mark.parametrize("ties", [False, True])
def test_smallest_sums_are_those_of_all_combinations(dims, n, ties):
    rng = np.random.default_rng(dims)
    entries = rng.integers(0, 6, (dims, n)).astype(float) if ties else rng.exponential(size=(dims, n)) - 1
    parts = np.sort(entries)
    np.testing.assert_allclose(smallest_sums(parts), every_sum(parts, n), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("stiffness", [(2.5,), (1, 3), (0.3, 1, 7)])
def test_oscillator_with_unlike_axes(stiffness):
    parts = [[math.sqrt(a) * (2 * m + 1) for m in range(30)] for a in stiffness]
    found = oscillator_energies(30, stiffness)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, every_sum(parts, 30), rtol=1e-14)


@pytest.mark.parametrize("dims", [2, 10, 20])
def test_shells_of_the_round_oscillator_have_their_degeneracies(dims):
    shells = [[dims + 2.0 * m] * math.comb(m + dims - 1, m) for m in range(4)]
    expected = np.concatenate(shells)
    np.testing.assert_array_equal(oscillator_energies(len(expected), [1] * dims), expected)


def test_a_stiff_axis_stays_in_its_ground_state():
    np.testing.assert_allclose(oscillator_energies(5, [1, 1e6, 1e6]), 2000 + np.array([1, 3, 5, 7, 9]), rtol=1e-14)


@pytest.mark.parametrize("stiffness", [(), (1, 0), (1, -2), (np.inf,), (np.nan,)])
def test_an_axis_without_a_spring_is_refused(stiffness):
    with pytest.raises(ValueError, match="stiffness"):
        oscillator_energies(3, stiffness)


@pytest.mark.parametrize(
    ("boundary", "expected"),
    [
        ("dirichlet", [1, 4, 9, 16, 25]),
        ("neumann", [0, 1, 4, 9, 16]),
        ("periodic", [0, 4, 4, 16, 16]),
        ([("dirichlet", "neumann")], [0.25, 2.25, 6.25, 12.25, 20.25]),
        ([("neumann", "dirichlet")], [0.25, 2.25, 6.25, 12.25, 20.25]),
    ],
)
def test_one_axis_of_each_boundary(boundary, expected):
    np.testing.assert_allclose(box_energies(5, [np.pi], boundary), expected, rtol=1e-14)
    np.testing.assert_allclose(box_energies(5, [2 * np.pi], boundary), np.array(expected) / 4, rtol=1e-14)


def test_axes_of_different_lengths_and_boundaries():
    zero = [(np.pi * k / 1.5) ** 2 for k in range(1, 30)]
    free = [(np.pi * k / 2) ** 2 for k in range(30)]
    periodic = [(2 * np.pi * k / 3) ** 2 for k in range(-30, 31)]
    found = box_energies(29, (1.5, 2, 3), ("dirichlet", "neumann", "periodic"))
    np.testing.assert_allclose(found, every_sum([zero, free, periodic], 29), rtol=1e-14)


def test_a_torus_of_many_dimensions_has_two_waves_per_axis():
    found = box_energies(22, [1] * 10, "periodic")
    np.testing.assert_allclose(found, [0, *[4 * np.pi**2] * 20, 8 * np.pi**2], rtol=1e-14)


@pytest.mark.parametrize("lengths", [(), (1, 0), (np.inf,)])
def test_a_box_without_extent_is_refused(lengths):
    with pytest.raises(ValueError, match="lengths"):
        box_energies(3, lengths)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    "boundary", ["open", ("dirichlet",), ("dirichlet", "open"), ("dirichlet", "dirichlet", "dirichlet")]
)
def test_a_boundary_that_does_not_fit_the_axes_is_refused(boundary):
    with pytest.raises(ValueError, match=r"boundary must be (one word, or one|'dirichlet', 'neumann' or 'periodic')"):
        box_energies(3, (1, 1), boundary)
