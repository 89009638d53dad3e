"""Vibrational configuration interaction: its matrix element by element, and levels against published ones."""

import functools
import itertools
from importlib.resources import files

import numpy as np
import pytest

from eigenax.lab.baselines.vibrational_ci import best_scales, hamiltonian, products, usual_quanta, vibrational_ci
from eigenax.lab.force_field import ForceField
from eigenax.lab.polynomial import Polynomial


def henon_heiles(dims, coupling=0.0125**0.5):
    """½x² + coupling Σ (x_i² x_{i+1} − x_{i+1}³/3)."""
    terms = [(0.5, (i, i)) for i in range(dims)]
    for i in range(dims - 1):
        terms += [(coupling, (i, i, i + 1)), (-coupling / 3, (i + 1, i + 1, i + 1))]
    return Polynomial.of(terms, dims)


@pytest.mark.parametrize(("dims", "quanta"), [(1, 5), (2, 7), (4, 3)])
def test_the_functions_are_all_products_with_few_enough_quanta(dims, quanta):
    every = [row for row in itertools.product(range(quanta + 1), repeat=dims) if sum(row) <= quanta]
    assert products(dims, quanta).tolist() == [list(row) for row in every]


def test_the_matrix_is_that_of_kronecker_products():
    rng, quanta, kinetic = np.random.default_rng(0), 4, np.array([0.3, 0.5, 1.1])
    variables = [[], [0], [1, 1], [0, 2], [0, 1, 2], [2, 2, 2], [0, 0, 1, 1], [0, 1, 1, 2], [2, 2, 2, 2], [1, 1, 1, 2]]
    potential = Polynomial.of([(rng.normal(), each) for each in variables], 3)
    size = quanta + 6  # so many that the elements of q⁴ between the functions kept have no error
    up = np.diag(np.sqrt(np.arange(1, size)), -1)
    q, p = (up.T + up) / np.sqrt(2), 1j * (up - up.T) / np.sqrt(2)

    def product(*factors):
        return functools.reduce(np.kron, factors)

    full = sum(
        c * product(*(np.linalg.matrix_power(q, k) for k in row))
        for c, row in zip(potential.coefficients, potential.exponents, strict=True)
    )
    for axis, factor in enumerate(kinetic):
        full = full + factor * product(*(p @ p if other == axis else np.eye(size) for other in range(3)))
    functions = products(3, quanta)
    place = functions @ np.array([size**2, size, 1])
    found = hamiltonian(potential, kinetic, functions).toarray()
    np.testing.assert_allclose(found, full[np.ix_(place, place)], atol=1e-12)


@pytest.mark.parametrize(
    ("dims", "quanta", "expected", "within"),
    [
        (2, 24, [0.998594773, 1.99007676, 1.99007676, 2.956242989, 2.985326428, 2.985326428], 1e-8),
        (6, 10, [2.9928558, 3.9675676, 3.9714806, 3.9768015, 3.9817893, 3.9843116, 3.9864664], 2e-6),
        (10, 6, [4.987117, 5.960876, 5.962231, 5.964369, 5.967097, 5.970146], 4e-4),
    ],
)
def test_henon_heiles(dims, quanta, expected, within):
    found = vibrational_ci(henon_heiles(dims), len(expected), quanta, scales=np.ones(dims))
    np.testing.assert_allclose(found.values, expected, atol=within)
    assert (found.values > np.array(expected) - 1e-7).all()  # from above


@pytest.mark.parametrize(
    ("quanta", "functions", "ground", "above"),
    [(4, 1820, 9837.76, [364.1, 364.1, 750.3]), (6, 18564, 9837.44, [361.2, 361.2, 723.6])],
)
def test_acetonitrile(quanta, functions, ground, above):
    field = ForceField.read(str(files("eigenax.lab.datasets") / "acetonitrile" / "force_field.txt"))
    found = vibrational_ci(field.potential, 4, quanta, scales=field.scales)
    assert (found.functions, found.quanta) == (functions, quanta)
    assert found.seconds > 0
    assert found.values[0] == pytest.approx(ground, abs=0.005)
    assert found.values[1:] - found.values[0] == pytest.approx(above, abs=0.05)


@pytest.mark.parametrize("kinetic", [0.5, 1.0])
def test_an_oscillator_is_found_by_the_best_widths_alone(kinetic):
    stiffness = np.array([1.0, 4.0, 100.0])
    oscillator = Polynomial.of([(a / 2, (i, i)) for i, a in enumerate(stiffness)], 3)
    np.testing.assert_allclose(best_scales(oscillator, kinetic), (2 * kinetic / stiffness) ** 0.25, rtol=1e-5)
    found = vibrational_ci(oscillator, 2, quanta=1, kinetic=kinetic).values
    frequencies = np.sqrt(2 * kinetic * stiffness)
    np.testing.assert_allclose(found, frequencies.sum() / 2 + [0, frequencies[0]], rtol=1e-9)


def test_a_double_well_is_wider_than_its_quadratic_part():
    well = Polynomial.of([(2.0, (0, 0, 0, 0)), (-4.0, (0, 0)), (2.0, ())], 1)
    found = vibrational_ci(well, 3, quanta=80, kinetic=1.0)
    np.testing.assert_allclose(found.values, [1.73916184, 3.322858, 7.08758924], atol=1e-7)


def test_the_usual_number_of_quanta_has_enough_functions():
    assert usual_quanta(200, 300) == 2
    assert usual_quanta(1, 3) == 24


def test_more_levels_than_functions_are_refused():
    with pytest.raises(ValueError, match="n must be at least 1 and at most 3, the number of functions of 1 quanta"):
        vibrational_ci(henon_heiles(2), 4, quanta=1)
