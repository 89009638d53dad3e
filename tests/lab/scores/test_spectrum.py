"""Scores on functions whose distance is known."""

import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.core.random_streams import Stream
from eigenax.lab.scores.spectrum import (
    degenerate_blocks,
    gram_matrices,
    orthogonality,
    relative_errors,
    subspace_distance,
)
from eigenax.lab.spectra import hydrogen
from eigenax.samples import FreshSamples


def test_an_exact_zero_has_an_absolute_error():
    np.testing.assert_allclose(relative_errors(np.array([0.5, -2.2]), np.array([0.0, -2.0])), [0.5, 0.1])


def test_blocks_of_the_hydrogen_spectrum():
    assert [b.stop - b.start for b in degenerate_blocks(hydrogen.energies(9))] == [1, 3, 5]
    assert [b.stop - b.start for b in degenerate_blocks(hydrogen.energies(6))] == [1, 3, 2]


@pytest.mark.parametrize(("angle", "expected"), [(0.0, 0.0), (np.pi / 6, 0.25), (np.pi / 2, 1.0)])
def test_distance_of_a_function_turned_out_of_its_space(angle, expected):
    samples = FreshSamples(ex.Uniform(ex.Box(0, 2 * np.pi, dims=1)), seed=0, purpose=Stream.OVERLAPS, samples=2**18)

    def learned(x):
        return jnp.stack([jnp.cos(angle) * jnp.sin(x[0]) + jnp.sin(angle) * jnp.sin(3 * x[0])])

    def exact(x):
        return jnp.stack([5 * jnp.sin(x[0]), jnp.sin(2 * x[0]) + jnp.sin(x[0])])

    gram, cross, own = gram_matrices(learned, exact, samples)
    assert subspace_distance(gram, cross, own) == pytest.approx(expected, abs=5e-3)


def test_rotation_and_mixing_inside_the_space_do_not_count():
    rng = np.random.default_rng(0)
    exact, mixing = rng.normal(size=(50, 3)), rng.normal(size=(3, 3))
    learned = exact @ mixing
    distance = subspace_distance(learned.T @ learned, exact.T @ learned, exact.T @ exact)
    assert distance == pytest.approx(0, abs=1e-10)


def test_orthogonality_is_the_largest_departure():
    assert orthogonality(np.array([[1.0, 0.01], [0.01, 0.95]])) == pytest.approx(0.05)
