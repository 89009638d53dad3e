"""Hydrogen energies against radial equations solved on a line, and functions scaled by a charge."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from eigenax.lab.scores.spectrum import degenerate_blocks
from eigenax.lab.spectra import hydrogen
from eigenax.lab.spectra.line import line_energies


def radial(angular, charge, n):
    """Energies of r R(r) in three dimensions at one angular momentum."""
    return line_energies(lambda r: angular * (angular + 1) / r[0] ** 2 - charge / r[0], 0, 200 / charge, n)


@pytest.mark.parametrize("charge", [1, 2.5])
def test_three_dimensions_agree_with_the_radial_equation(charge):
    towers = [np.repeat(radial(angular, charge, 3 - angular), 2 * angular + 1) for angular in range(3)]
    np.testing.assert_allclose(hydrogen.energies(14, 3, charge), np.sort(np.concatenate(towers)), rtol=1e-9)


def test_shells_have_their_degeneracies():
    assert [b.stop - b.start for b in degenerate_blocks(hydrogen.energies(14, dims=3))] == [1, 4, 9]
    assert [b.stop - b.start for b in degenerate_blocks(hydrogen.energies(16, dims=3))] == [1, 4, 9, 2]
    np.testing.assert_allclose(hydrogen.energies(4, charge=3), [-9, -1, -1, -1])


def test_energies_and_functions_of_a_charge_are_those_of_one_rescaled():
    x = jnp.array([0.7, -1.1])
    np.testing.assert_allclose(hydrogen.energies(9, charge=2), 4 * hydrogen.energies(9))
    np.testing.assert_allclose(hydrogen.shells(x, 9, charge=2), hydrogen.shells(2 * x, 9), rtol=1e-5)


@pytest.mark.parametrize("settings", [{"dims": 1}, {"dims": 4}, {"charge": 0}, {"charge": -1}, {"charge": math.inf}])
def test_an_atom_without_closed_form_is_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        hydrogen.energies(3, **settings)
