"""solve(): real problems to a stated error, and wrong input named."""

import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import eigenax as ex


def oscillator():
    return -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))


def test_the_oscillator_with_nothing_chosen():
    modes = ex.solve(oscillator(), ex.Box(-6, 6, dims=1), n=3, steps=2, progress=False)
    np.testing.assert_allclose(modes.eigenvalues, [1, 3, 5], rtol=1e-6)
    assert (np.abs(modes.eigenvalues - [1, 3, 5]) < modes.residuals).all()
    x = np.linspace(-3, 3, 50)[:, None]
    ground = np.exp(-(x[:, 0] ** 2) / 2) * np.sqrt(12 / np.sqrt(np.pi))
    np.testing.assert_allclose(modes(x)[:, 0], ground, atol=1e-4)


@pytest.mark.parametrize(("n", "length"), [(1, 1.0), pytest.param(7, 10.0, marks=pytest.mark.slow), (12, 1.0)])
def test_many_modes_of_one_variable_with_nothing_chosen(n, length):
    modes = ex.solve(-ex.Laplacian(), ex.Box(0, length), n, steps=2, progress=False)
    exact = (np.pi * np.arange(1, n + 1) / length) ** 2
    assert (np.abs(modes.eigenvalues / exact - 1)).mean() < 1e-6


def test_a_number_added_to_the_operator_is_added_to_the_eigenvalues():
    shifted = oscillator() + ex.Potential(lambda x: 1000.0)
    modes = ex.solve(shifted, ex.Box(-6, 6), 3, steps=2, progress=False)
    np.testing.assert_allclose(modes.eigenvalues - 1000, [1, 3, 5], atol=1e-4)


@pytest.mark.usefixtures("as_user")
@pytest.mark.slow
def test_counts_may_be_of_any_whole_type(tmp_path):
    counts = {"n": np.int64(2), "steps": np.int32(3), "seed": np.uint8(1), "batch": np.int64(32)}
    modes = ex.solve(oscillator(), ex.Box(-6, 6), **counts, samples=512, folder=tmp_path / "run", progress=False)
    modes.save(tmp_path / "modes")
    assert ex.load(tmp_path / "modes").steps == 3


def test_the_largest_eigenvalues_of_a_kernel_come_in_descending_order():
    # Under the uniform distribution on [-1, 1], E[x²] = 1/3: the functions 1 and √3 x have eigenvalues 2 and 1.
    kernel = ex.Kernel(lambda x, y: 2 + 3 * x[0] * y[0])
    modes = ex.solve(kernel, ex.Box(-1, 1, dims=1), n=2, which="largest", steps=4000, progress=False)
    np.testing.assert_allclose(modes.eigenvalues, [2, 1], rtol=2e-2)
    x = np.linspace(-1, 1, 9)[:, None]
    np.testing.assert_allclose(np.abs(modes(x)[:, 0]), 1, atol=0.05)
    np.testing.assert_allclose(np.abs(modes(x)[:, 1]), np.sqrt(3) * np.abs(x[:, 0]), atol=0.1)
    assert (modes.residuals < 0.2).all()


def test_slow_features_of_a_series_are_found_with_their_delta_values():
    t = np.arange(8000)
    slow, fast = np.cos(2 * np.pi * t / 400), np.sin(2 * np.pi * t / 29)
    series = np.stack([slow + fast, fast], 1)
    modes = ex.solve(ex.Slowness(), ex.Clips(series, length=10), n=2, steps=2000, batch=24, progress=False)
    np.testing.assert_allclose(modes.eigenvalues, [0, 2 - 2 * np.cos(2 * np.pi / 400)], atol=1e-4)
    assert abs(np.corrcoef(modes(series)[:, 1], slow)[0, 1]) > 0.99
    np.testing.assert_allclose(modes(series)[:, 0], 1, atol=1e-3)


def test_the_same_settings_give_the_same_bits_and_another_seed_does_not():
    def solve(seed):
        return ex.solve(oscillator(), ex.Box(-6, 6, dims=1), n=2, steps=1, samples=1024, seed=seed, progress=False)

    first, again, other = solve(0), solve(0), solve(1)
    np.testing.assert_array_equal(first.eigenvalues, again.eigenvalues)
    np.testing.assert_array_equal(first.coefficients, again.coefficients)
    assert (first.eigenvalues != other.eigenvalues).all()


KEY = jax.random.key(0)
GAUSSIAN = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)))


class Flat(ex.Operator):
    def apply(self, function, batch, u):
        return u.sum(1)


class Bare(ex.Source):
    @property
    def shape(self):
        return (1,)

    def sample(self, key, size):
        return jnp.zeros((size, 1))


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n": 0}, ValueError, "n must be a whole number of at least 1; got 0"),
        ({"n": 2.5}, ValueError, "n must be a whole number"),
        ({"steps": 0}, ValueError, "steps must be"),
        ({"batch": -1}, ValueError, "batch must be"),
        ({"samples": 0}, ValueError, "samples must be"),
        ({"which": "lowest"}, ValueError, "which must be 'smallest' or 'largest'; got 'lowest'"),
        ({"finish": "none"}, ValueError, "finish must be"),
        (
            {"n": 9, "batch": 8, "operator": GAUSSIAN, "which": "largest", "network": ex.MLP(1, 9, key=KEY)},
            ValueError,
            "batch must have at least n = 9 points.* got 8",
        ),
        ({"callbacks": print}, TypeError, r"callbacks must be a sequence of functions, such as \[print\]"),
        ({"operator": ex.Laplacian()}, ValueError, "no smallest eigenvalue.*which='largest'"),
        ({"operator": oscillator(), "which": "largest"}, ValueError, "no largest eigenvalue"),
        (
            {"operator": -ex.Laplacian() + Flat()},
            ValueError,
            r"Flat.apply must return K u with the shape of u, \(256, 2\)",
        ),
        ({"source": Bare()}, TypeError, "Bare.sample must return Points"),
        ({"operator": jnp.eye(3)}, TypeError, "operator must be an eigenax operator"),
        ({"source": jnp.zeros((5, 2))}, TypeError, "source must be an eigenax source"),
        ({"operator": ex.Slowness()}, TypeError, "need a source of pairs"),
        (
            {"operator": ex.Potential(lambda x: x)},
            ValueError,
            r"must return one real number.*it returned shape \(1,\)",
        ),
        ({"operator": ex.Potential(lambda x: jnp.log(x[0]))}, ValueError, "returned nan at x = "),
        ({"operator": ex.Kernel(lambda x, y: x[0] - y[0])}, ValueError, "not symmetric"),
        ({"operator": ex.Potential(lambda x: np.sin(x[0]))}, ValueError, "use jax.numpy instead of numpy"),
        ({"operator": ex.Potential(lambda x: x[0] if x[0] > 0 else 0.0)}, ValueError, "jnp.where instead of if"),
        ({"operator": ex.Potential(lambda x: x[1])}, ValueError, r"reads what a point of shape \(1,\) has not"),
        ({"operator": ex.Potential(lambda x: 1j * x[0])}, ValueError, "must return one real number"),
        ({"seed": 1.5}, ValueError, "seed must be a whole number"),
        ({"seed": 2**40}, ValueError, "seed must be"),
        ({"solver": optax.adam(1e-3)}, TypeError, "solver must be an eigenax solver"),
        ({"network": ex.MLP(3, 2, key=KEY)}, ValueError, r"must take one point of shape \(1,\)"),
        ({"network": lambda x: jnp.zeros(2)}, ValueError, "arrays to train"),
        ({"operator": ex.Potential(lambda x, y: x[0])}, ValueError, "cannot be called with 1 point"),
        ({"source": ex.Arrays(np.arange(10.0).reshape(5, 2))}, ValueError, "Arrays names no edge"),
        ({"network": ex.MLP(1, 3, key=KEY)}, ValueError, r"network must return n = 2 values .* \(3,\)"),
    ],
)
def test_wrong_input_is_named(change, error, message):
    arguments = {"operator": oscillator(), "source": ex.Box(-1, 1, dims=1), "n": 2, "steps": 1, "progress": False}
    with pytest.raises(error, match=message):
        ex.solve(**(arguments | change))


@pytest.mark.parametrize(
    ("scale", "offset"), [pytest.param(1e-3, 0.0, marks=pytest.mark.slow), (1e3, 0.0), (5.0, 300.0)]
)
def test_slow_features_do_not_depend_on_units(scale, offset):
    t = np.arange(4000)
    series = scale * np.stack([np.sin(t / 40) + np.sin(t / 2), np.sin(t / 2)], 1) + offset
    modes = ex.solve(ex.Slowness(), ex.Clips(series), n=2, steps=500, progress=False)
    np.testing.assert_allclose(modes.eigenvalues[1], 2 - 2 * np.cos(1 / 40), rtol=0.05)


def test_more_functions_than_points_are_refused():
    kernel = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)))
    with pytest.raises(ValueError, match="n = 6 functions cannot be told apart on 4 different rows"):
        ex.solve(kernel, ex.Arrays(np.arange(8.0).reshape(4, 2)), n=6, which="largest", progress=False)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("zero", r"does not vanish at the faces of axis 0 .* 'zero'.*Take Bounded\(Walls\(box\), network\)"),
        ("free", r"has a slope at the faces of axis 0 .* 'free'.*Take OnInputs\(Edges\(box\), network\)"),
        ("periodic", r"is not periodic at the faces of axis 0 .* 'periodic'.*Take OnInputs\(Edges\(box\)"),
    ],
)
def test_a_network_that_does_not_obey_the_boundary_is_warned_of_and_told_what_does(kind, message):
    box, options = ex.Box(-1, 1, boundary=kind), {"n": 2, "steps": 1, "samples": 512, "progress": False}
    with pytest.warns(RuntimeWarning, match=message):
        ex.solve(oscillator(), box, network=ex.MLP(1, 2, key=jax.random.key(0)), **options)
    edges = ex.Edges(box)
    network = ex.OnInputs(edges, ex.MLP(edges.size, 2, key=jax.random.key(0)))
    network = ex.Bounded(ex.Walls(box), network) if kind == "zero" else network
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ex.solve(oscillator(), box, network=network, **options)
    assert not caught


@pytest.mark.parametrize("solver", [ex.NaturalGradient(), None, ex.Galerkin()], ids=["natural", "SpIN", "Galerkin"])
def test_float64_all_the_way(solver):
    box = ex.Box(-6, 6)
    network = ex.Bounded(ex.Walls(box), ex.Separate(1, 2, width=16, depth=1, key=jax.random.key(0)))
    modes = ex.solve(
        oscillator(), box, 2, solver=solver, network=None if isinstance(solver, ex.Galerkin) else network,
        steps=1 if isinstance(solver, ex.Galerkin) else 100, samples=2**13, precision="float64", progress=False,
    )  # fmt: skip
    assert {leaf.dtype for leaf in jax.tree.leaves(eqx.filter(modes.network, eqx.is_inexact_array))} == {
        np.dtype("float64")
    }
    assert modes.precision == "float64"
    assert modes(np.zeros((3, 1))).dtype == np.float32
    with jax.enable_x64(True):
        assert modes(np.zeros((3, 1))).dtype == np.float64


def test_float64_resolves_what_float32_cannot():
    """A well on a pedestal of ten million, whose states differ in the eighth digit."""
    high = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2) + 1e7)
    box = ex.Box(-6, 6)
    network = ex.Bounded(ex.Walls(box), ex.Separate(1, 2, width=16, depth=1, key=jax.random.key(0)))
    modes = ex.solve(
        high, box, 2, network=network, solver=ex.NaturalGradient(), steps=150, finish="rotate", precision="float64",
        samples=2**15, progress=False,
    )  # fmt: skip
    np.testing.assert_allclose(modes.eigenvalues - 1e7, [1, 3], rtol=0.02)


def test_the_fastest_features_need_no_constant():
    t = np.arange(4000)
    series = np.stack([np.cos(2 * np.pi * t / 40), np.cos(2 * np.pi * t / 3 + 1)], 1)
    options = {"which": "largest", "steps": 1500, "batch": 24, "progress": False}
    modes = ex.solve(ex.Slowness(), ex.Clips(series), n=1, **options)
    # Beats of the fast component, cos² and the like, are as fast: the value is that of the component itself.
    np.testing.assert_allclose(modes.eigenvalues, [2 - 2 * np.cos(2 * np.pi / 3)], rtol=0.05)


def test_points_that_are_neither_vectors_nor_images_are_refused():
    kernel = ex.Kernel(lambda x, y: jnp.sum(x * y))
    with pytest.raises(ValueError, match=r"points of shape \(4, 4\) are neither"):
        ex.solve(kernel, ex.Arrays(np.arange(80.0).reshape(5, 4, 4)), n=2, steps=1, progress=False)


def test_one_mode_of_an_operator_that_has_a_constant_is_refused():
    with pytest.raises(ValueError, match="constant function alone"):
        ex.solve(ex.Slowness(), ex.Clips(np.zeros((20, 2))), n=1, steps=1, progress=False)


def test_public_names_are_all_there_and_stay_what_they_are():
    for name in ex.__all__:
        assert getattr(ex, name) is getattr(ex, name)
    assert callable(ex.solve)
    assert callable(ex.measure)
    with pytest.raises(AttributeError, match="no attribute 'sovle'"):
        ex.sovle  # noqa: B018
