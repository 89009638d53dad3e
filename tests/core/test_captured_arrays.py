"""NumPy arrays in users' functions, which are compiled in float32 and in float64."""

import functools
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.core.captured_arrays import in_this_precision

BOX = ex.Box(-6, 6, dims=2)
CENTRE = np.array([0.3, -0.2])
TABLE = {"stiffness": [np.array([1.0, 1.0])]}


def helper(x):
    return TABLE["stiffness"][0] @ (x - CENTRE) ** 2


def of_a_closure():
    centre = np.array([0.3, -0.2])
    return lambda x: jnp.sum((x - centre) ** 2)


POTENTIALS = {
    "global": lambda x: jnp.sum((x - CENTRE) ** 2),
    "closure": of_a_closure(),
    "default": lambda x, centre=CENTRE: jnp.sum((x - centre) ** 2),
    "inner": lambda x: (lambda y: jnp.sum((y - CENTRE) ** 2))(x),
    "helper": lambda x: helper(x),
    "partial": functools.partial(lambda centre, x: jnp.sum((x - centre) ** 2), np.array([0.3, -0.2])),
}


@pytest.mark.parametrize("name", POTENTIALS)
def test_a_function_is_compiled_in_both_precisions(name):
    applied = jax.jit(lambda x: in_this_precision(POTENTIALS[name])(x))
    assert applied(jnp.ones(2)).dtype == jnp.float32
    with jax.enable_x64(True):
        value = applied(jnp.ones(2))
        assert value.dtype == jnp.float64
        np.testing.assert_allclose(value, 0.7**2 + 1.2**2, rtol=1e-14)


def test_a_potential_with_numpy_constants_is_solved_and_measured():
    well = -ex.Laplacian() + ex.Potential(POTENTIALS["helper"])
    modes = ex.solve(well, BOX, 1, tol=1e-2, progress=False)
    np.testing.assert_allclose(modes.eigenvalues, 2, rtol=1e-2)
    along = modes.matrix_elements(lambda x: x @ CENTRE).values
    np.testing.assert_allclose(along, CENTRE @ CENTRE, atol=1e-2)


def test_a_kernel_with_numpy_constants_is_solved():
    shape, rows = np.array([[1.0, 0.2], [0.2, 1.0]]), np.random.default_rng(0).normal(size=(100, 2))
    kernel = ex.Kernel(lambda x, y: jnp.exp(-(x - y) @ shape @ (x - y)))
    modes = ex.solve(kernel, rows, 2, which="largest", progress=False)
    apart = rows[:, None] - rows
    dense = np.exp(-np.einsum("abi,ij,abj->ab", apart, shape, apart)) / len(rows)
    np.testing.assert_allclose(modes.eigenvalues, np.linalg.eigvalsh(dense)[::-1][:2], rtol=1e-6)


class Shifted(ex.Operator):
    """(x − c)² u, whose c is a NumPy array that only its method knows."""

    local: ClassVar[bool] = True
    unbounded: ClassVar[int] = 1

    def apply(self, function, batch, u):
        return jnp.sum((batch.x - CENTRE) ** 2, 1)[:, None] * u


def test_where_a_copy_cannot_be_taken_the_error_says_what_to_do():
    with pytest.raises(ValueError, match=r"refers to a NumPy array.*array.tolist\(\)"):
        ex.solve(-ex.Laplacian() + Shifted(), BOX, 1, tol=1e-2, progress=False)


def test_functions_of_any_making_are_taken():
    made = eval("lambda x: x @ CENTRE", {"CENTRE": CENTRE})  # of no module

    def with_attributes(x):
        return with_attributes.depth * (x @ CENTRE)

    with_attributes.depth = 2.0
    looped = [CENTRE]
    looped.append(looped)
    with jax.enable_x64(True):
        x = jnp.ones(2)
        np.testing.assert_allclose(in_this_precision(made)(x), CENTRE.sum())
        np.testing.assert_allclose(in_this_precision(with_attributes)(x), 2 * CENTRE.sum())
        np.testing.assert_allclose(in_this_precision(lambda x: x @ looped[0])(x), CENTRE.sum())


def test_what_a_function_refers_to_may_change():
    namespace = {"centre": CENTRE}
    exec("def along(x): return x @ centre", namespace)
    with jax.enable_x64(True):
        x = jnp.ones(2)
        before = in_this_precision(namespace["along"])(x)
        namespace["centre"] = 3 * CENTRE
        np.testing.assert_allclose(in_this_precision(namespace["along"])(x), 3 * before)
        assert in_this_precision(without_arrays) is without_arrays


def without_arrays(x):
    return jnp.sum(x)
