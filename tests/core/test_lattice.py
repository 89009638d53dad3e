"""The shifted lattice: strictly inside the unit cube, one sequence, unbiased, and far more even than chance."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from eigenax.core.lattice import independent, shifted_lattice

KEY = jax.random.key(3)
KINDS = [shifted_lattice, independent]


def over_keys(points, count, size, numbers, seed=0):
    """Points of `count` independent keys, (count, size, numbers), in float64."""
    keys = jax.random.split(jax.random.key(seed), count)
    return np.asarray(jax.jit(jax.vmap(lambda key: points(key, size, numbers)))(keys), np.float64)


def smooth(u):
    """∏ (1 + sin(2πu_i + i)/2), whose integral over the unit cube is one."""
    return (1 + np.sin(2 * np.pi * u + np.arange(u.shape[-1])) / 2).prod(-1)


@pytest.mark.parametrize(("x64", "dtype"), [(False, np.float32), (True, np.float64)])
def test_numbers_have_the_precision_in_use_and_the_same_key_gives_the_same(x64, dtype):
    with jax.enable_x64(x64):
        both = jax.jit(lambda key: [points(key, 50, 3) for points in KINDS])
        draws = [both(jax.random.key(seed)) for seed in (0, 0, 1)]
    for first, again, other in zip(*draws, strict=True):
        assert first.shape == (50, 3)
        assert first.dtype == dtype
        np.testing.assert_array_equal(first, again)
        assert (first != other).all()


@pytest.mark.parametrize("points", KINDS)
@pytest.mark.parametrize("x64", [False, True])
def test_millions_of_numbers_are_strictly_between_zero_and_one(points, x64):
    with jax.enable_x64(x64):
        ends = jax.jit(lambda start: jnp.stack([f(points(KEY, 2**22, 1, start)) for f in (jnp.min, jnp.max)]))
        # More than there are numbers of 24 bits, so that the lattice has been everywhere.
        least, most = np.array([ends(start) for start in np.arange(8) * 2**22]).T
    assert least.min() > 0
    assert most.max() < 1
    if points is shifted_lattice:
        assert least.min() < 2.0**-22
        assert most.max() > 1 - 2.0**-22


@pytest.mark.parametrize("numbers", [1, 7])
def test_parts_continue_one_sequence(numbers):
    whole = jax.jit(lambda: shifted_lattice(KEY, 60, numbers))()
    part = jax.jit(lambda start: shifted_lattice(KEY, 20, numbers, start))
    np.testing.assert_array_equal(np.concatenate([part(start) for start in (0, 20, 40)]), whole)


@pytest.mark.parametrize("start", [2**20, 2**31 - 50])
def test_the_sequence_is_as_even_far_from_its_beginning(start):
    far = jax.jit(lambda: shifted_lattice(KEY, 40, 1, start))
    u = np.sort(np.asarray(far(), np.float64).ravel())
    # Steinhaus: the gaps of a golden rotation are of three sizes at most, all close to one another.
    gaps = np.diff(np.append(u, u[0] + 1))
    assert len(np.unique(gaps.round(6))) <= 3
    assert gaps.max() < 3 / 40


def test_another_start_gives_other_independent_points():
    draw = jax.jit(lambda start: independent(KEY, 4000, 2, start))
    first, second = (np.asarray(draw(start)) for start in (0, 1))
    assert not np.isin(first, second).all(1).any()
    assert abs(np.corrcoef(first.T, second.T)[:2, 2:]).max() < 4.5 / np.sqrt(4000)


def test_axes_and_pairs_of_axes_are_filled_evenly():
    u = np.asarray(jax.jit(lambda: shifted_lattice(KEY, 4096, 2))())
    for axis in u.T:
        counts, _ = np.histogram(axis, bins=64, range=(0, 1))
        assert abs(counts - 64).max() <= 6  # chance would give 64 ± 20 somewhere
    counts, _, _ = np.histogram2d(*u.T, bins=16, range=[(0, 1)] * 2)
    assert abs(counts - 16).max() <= 6


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("numbers", "better"), [(1, 30), (3, 10)])
def test_means_of_smooth_functions_are_far_closer_than_those_of_independent_points(numbers, better):
    errors = [smooth(over_keys(points, 32, 4096, numbers)).mean(1) - 1 for points in KINDS]
    even, by_chance = (np.sqrt(np.mean(error**2)) for error in errors)
    assert by_chance == pytest.approx(np.sqrt((9 / 8) ** numbers - 1) / 64, rel=0.4)
    assert even < by_chance / better


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("points", KINDS)
def test_means_are_unbiased_however_few_the_points(points):
    u = over_keys(points, 4000, 5, 2)
    for values, exact in ((smooth(u), 1), (u[..., 0] ** 2, 1 / 3), (np.exp(u.sum(-1)), (np.e - 1) ** 2)):
        means = values.mean(1)
        assert means.mean() == pytest.approx(exact, abs=4.5 * means.std(ddof=1) / np.sqrt(4000))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("points", KINDS)
def test_the_scatter_between_keys_is_an_honest_error(points):
    batches, groups = 16, 100
    means = smooth(over_keys(points, batches * groups, 200, 2)).mean(1).reshape(groups, batches)
    scores = (means.mean(1) - 1) / (means.std(1, ddof=1) / np.sqrt(batches))
    # Student's t with 15 degrees of freedom has variance 15/13.
    assert np.mean(scores**2) == pytest.approx(15 / 13, rel=0.5)
    assert np.abs(scores).max() < 6
