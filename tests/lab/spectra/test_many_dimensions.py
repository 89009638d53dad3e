"""Exact levels in many dimensions against published numbers, special functions and other methods."""

import numpy as np
import pytest
from scipy.special import mathieu_a, mathieu_b

from eigenax.lab.baselines.vibrational_ci import vibrational_ci
from eigenax.lab.polynomial import Polynomial
from eigenax.lab.spectra.cosines import cosine_energies
from eigenax.lab.spectra.normal_modes import coupled_stiffness, normal_mode_energies


@pytest.mark.parametrize(("dims", "ground"), [(6, 3.816404066), (20, 21.719578161), (64, 121.620947675)])
def test_coupled_oscillators_have_their_published_ground_state(dims, ground):
    assert normal_mode_energies(8, coupled_stiffness(dims))[0] == pytest.approx(ground, abs=1e-9)


def test_coupled_oscillators_in_a_product_basis():
    stiffness = coupled_stiffness(4)
    terms = [(stiffness[i, j] / 2, (i, j)) for i in range(4) for j in range(4)]
    found = vibrational_ci(Polynomial.of(terms, 4), 12, quanta=14).values
    np.testing.assert_allclose(normal_mode_energies(12, stiffness), found, rtol=1e-7)


def test_oscillators_that_are_not_bound_are_refused():
    with pytest.raises(ValueError, match="positive eigenvalues only; its smallest one is -1"):
        normal_mode_energies(2, np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_ten_cosines_have_one_excited_axis():
    """On an axis cos x over one period is cos 2y over half of one: λ = a_m(2)/4 and b_m(2)/4 of even m."""
    ground, excited = mathieu_a(0, 2) / 4, mathieu_b(2, 2) / 4
    found = cosine_energies(11, [1.0] * 10)
    np.testing.assert_allclose(found, 9 * ground + np.array([ground, *[excited] * 10]), rtol=1e-10)


def test_the_periodic_double_well_has_its_published_levels():
    found = cosine_energies(3, [1.5] + [0.2] * 9, waves=2)
    assert found == pytest.approx([-0.310828928, 0.141065427, 0.592931], abs=1e-6)


@pytest.mark.parametrize("amplitude", [0.3, 1.5, 30.0])
def test_an_axis_has_the_characteristic_values_of_mathieus_equation(amplitude):
    """−u'' + c cos(2x) u = λ u has λ = a_m(c/2) and b_m(c/2), all of them periodic in 2π."""
    expected = [mathieu_a(m, amplitude / 2) for m in range(8)] + [mathieu_b(m, amplitude / 2) for m in range(1, 8)]
    np.testing.assert_allclose(cosine_energies(9, [amplitude], waves=2), np.sort(expected)[:9], rtol=1e-8)


@pytest.mark.parametrize(
    ("amplitudes", "waves", "said"), [([], 1, "amplitudes"), ([np.nan], 1, "amplitudes"), ([1.0], 0, "waves")]
)
def test_cosines_that_make_no_sense_are_refused(amplitudes, waves, said):
    with pytest.raises(ValueError, match=said):
        cosine_energies(2, amplitudes, waves)
