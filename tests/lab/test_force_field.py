"""Polynomials against NumPy, and files of force fields, right and wrong."""

import math
from importlib.resources import files

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from eigenax.errors import InputError
from eigenax.lab.force_field import ForceField
from eigenax.lab.polynomial import Polynomial

ACETONITRILE = files("eigenax.lab.datasets") / "acetonitrile" / "force_field.txt"


@pytest.mark.parametrize("highest", [3, 4])
def test_values_and_slopes_are_those_of_the_sum_of_terms(highest, float64):
    rng = np.random.default_rng(highest)
    terms = [(rng.normal(), rng.integers(0, 3, rng.integers(0, highest + 1)).tolist()) for _ in range(20)]
    terms.append((1.5, [2] * highest))
    polynomial = Polynomial.of(terms, 3)
    x = rng.normal(size=(5, 3))
    expected = sum(c * np.prod([x[:, i] for i in variables] or [np.ones(5)], axis=0) for c, variables in terms)
    np.testing.assert_allclose(jax.vmap(polynomial)(jnp.asarray(x)), expected, rtol=1e-12, atol=1e-12)
    slope = jax.grad(polynomial)(jnp.asarray(x[0]))[2]
    nearby = [float(polynomial(jnp.asarray(x[0]).at[2].add(step))) for step in (1e-6, -1e-6)]
    assert float(slope) == pytest.approx((nearby[0] - nearby[1]) / 2e-6, rel=1e-6)
    scales = np.array([0.5, 2.0, 3.0])
    np.testing.assert_allclose(polynomial.rescaled(scales)(x[0]), polynomial(x[0] * scales), rtol=1e-12)


def test_one_polynomial_serves_both_precisions():
    cube = Polynomial.of([(1 / 3, (0, 0, 0))], 1)
    single = jax.jit(cube)(jnp.ones(1))
    with jax.enable_x64(True):
        double = jax.jit(cube)(jnp.ones(1))
    assert (single.dtype, double.dtype) == (jnp.float32, jnp.float64)
    assert float(double) == 1 / 3


def test_the_potential_of_acetonitrile_is_what_its_file_says(float64):
    field = ForceField.read(str(ACETONITRILE))
    assert (len(field.frequencies), len(field.anharmonic.coefficients)) == (12, 299)
    q = np.random.default_rng(0).normal(size=12)
    lines = [line for line in ACETONITRILE.read_text().splitlines() if not line.startswith("#")]
    frequencies = np.array(lines[0].split(), float)
    expected = (frequencies / 2 * q**2).sum()
    for line in lines[1:]:
        modes, constant = line.split(":")
        powers = np.bincount(np.array(modes.split(), int), minlength=12)
        expected += float(constant) * np.prod(q**powers) / math.prod(math.factorial(k) for k in powers)
    assert float(field.potential(jnp.asarray(q * field.scales))) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("# nothing\n\n", "is empty: expected a line of frequencies"),
        ("1 x\n", "line 1: expected the frequencies, one positive number for each mode; got '1 x'"),
        ("1 -2\n", "line 1: expected the frequencies, one positive"),
        ("# about\n1 2\n0 0 1\n", "line 3: expected modes, a colon and a constant, such as 0 0 1 : -21.1; got '0 0 1'"),
        ("1 2\n0 0 1 : big\n", "line 2: expected modes, a colon and a constant"),
        ("1 2\n0.5 1 : 3\n", "line 2: expected modes, a colon and a constant"),
        ("1 2\n: 3\n", "line 2: expected modes, a colon and a constant"),
        ("1 2\n0 1 1 : 1\n\n0 1 2 : 3\n", "line 4: expected modes from 0 to 1, of which there are frequencies; got 2"),
        ("1 2\n-1 1 1 : 3\n", "line 2: expected modes from 0 to 1, of which there are frequencies; got -1"),
        ("1 2\n0 1 1 : 3\n1 0 1 : 3\n", "line 3: a constant of modes 0 1 1 was given before"),
    ],
)
def test_what_a_file_lacks_is_said_by_its_line(content, said, tmp_path):
    (tmp_path / "field.txt").write_text(content)
    with pytest.raises(InputError, match="field.txt.*" + said.replace("(", r"\(")):
        ForceField.read(tmp_path / "field.txt")


def test_a_file_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        ForceField.read(tmp_path / "none.txt")
