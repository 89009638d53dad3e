"""The solver on a line against closed forms, and double wells against independent computations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ai_zeros

from eigenax.lab.spectra import line
from eigenax.lab.spectra.line import line_energies

K = np.arange(8)
CLOSED_FORMS = {
    "empty": (lambda x: 0 * x[0], 1, 4, (np.pi * (K + 1) / 3) ** 2),
    "oscillator": (lambda x: jnp.sum(x**2), -10, 10, 2.0 * K + 1),
    "oscillator in a long interval": (lambda x: jnp.sum(x**2), -60, 30, 2.0 * K + 1),
    "oscillator on a pedestal": (lambda x: 4 * x[0] ** 2 - 6, -7, 7, 4.0 * K - 4),
    "Pöschl–Teller": (lambda x: -12 / jnp.cosh(x[0]) ** 2, -20, 20, -((3.0 - K[:3]) ** 2)),
    "Pöschl–Teller with walls": (lambda x: 2 / jnp.sin(x[0]) ** 2, 0, np.pi, (K + 2.0) ** 2),
    "Morse": (lambda x: 36 * (jnp.exp(-2 * x[0]) - 2 * jnp.exp(-x[0])), -3, 40, -((5.5 - K[:5]) ** 2)),
    "slope against a wall": (lambda x: x[0], 0, 30, -ai_zeros(8)[0]),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms(name):
    potential, low, high, exact = CLOSED_FORMS[name]
    found = line_energies(potential, low, high, len(exact))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, exact, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("half", [4, 12])
def test_double_well_with_two_states_in_closed_form(half):
    found = line_energies(lambda x: x[0] ** 6 - 7 * x[0] ** 2, -half, half, 3)
    np.testing.assert_allclose(found[[0, 2]], [-2 * np.sqrt(2), 2 * np.sqrt(2)], rtol=1e-11)


def in_oscillator_basis(depth, place, n, functions=140):
    """Energies of −d²/dx² + a (x² − b²)² with oscillator functions, between which x and the derivative are known."""
    step = np.diag(np.sqrt(np.arange(1, functions + 8) / 2), 1)
    x, derivative = step + step.T, step - step.T
    well = x @ x - place**2 * np.eye(len(x))
    return np.linalg.eigvalsh((depth * well @ well - derivative @ derivative)[:functions, :functions])[:n]


@pytest.mark.parametrize(
    ("depth", "place", "splitting"), [(1, 1, 2.0), (1, 2, 1e-2), (2, 2, 1e-3), (1, 2.5, 1e-6), (1, 3, 1e-11)]
)
def test_pairs_of_the_double_well(depth, place, splitting):
    def potential(x):
        return depth * (x[0] ** 2 - place**2) ** 2

    found = line_energies(potential, -8, 8, 6)
    odd = line_energies(potential, 0, 8, 3)
    np.testing.assert_allclose(found[1::2], odd, rtol=1e-11)
    expected = in_oscillator_basis(depth, place, 6)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert found[1] - found[0] == pytest.approx(expected[1] - expected[0], abs=1e-10)
    assert abs(found[1] - found[0]) < splitting
    assert (found[2::2] - found[1:-1:2] > 1).all()


def test_values_are_those_of_float64_outside_its_context_too():
    assert jnp.zeros(()).dtype == jnp.float32
    shifted = line_energies(lambda x: 1e5 + x[0] ** 2, -9, 9, 2)
    np.testing.assert_allclose(shifted - 1e5, [1, 3], rtol=1e-9)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(line_energies(lambda x: 1e5 + x[0] ** 2, -9, 9, 2), shifted)


def test_many_states():
    np.testing.assert_allclose(line_energies(lambda x: x[0] * 0, 0, np.pi, 100), np.arange(1, 101) ** 2, rtol=1e-11)


def test_a_step_does_not_converge(monkeypatch):
    monkeypatch.setattr(line, "SIZES", (128, 256, 512))
    with pytest.raises(ValueError, match=r"first 2 energies on \[-1, 2\] still change by .* with 512 functions"):
        line_energies(lambda x: jnp.where(x[0] > 0, 5.0, 0.0), -1, 2, 2)


@pytest.mark.parametrize(
    ("potential", "low", "high", "n", "message"),
    [
        (lambda x: x[0], 1, 1, 2, "low < high"),
        (lambda x: x[0], 0, np.inf, 2, "low < high"),
        (lambda x: x[0], 0, 1, 0, "n must be"),
        (lambda x: x[0], 0, 1, 2000, "n must be"),
        (lambda x: jnp.log(x[0]), -1, 1, 2, "must be finite on the interval; it is nan at x = -0.9998"),
        (lambda x: x**2, 0, 1, 2, "one real number"),
    ],
)
def test_what_makes_no_sense_is_refused(potential, low, high, n, message):
    with pytest.raises(ValueError, match=message):
        line_energies(potential, low, high, n)
