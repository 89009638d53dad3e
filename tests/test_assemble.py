"""solve(): real problems to a stated error, and wrong input named."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import eigenax as ex
from eigenax.assemble import prepared
from eigenax.lab.spectra.box import box_energies

OSCILLATOR = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
"""One object, so that programs are compiled once for all tests on the same box."""


def test_the_oscillator_with_nothing_chosen():
    modes = ex.solve(OSCILLATOR, ex.Box(-6, 6, dims=1), n=3, max_steps=2, progress=False)
    assert (modes.solver, modes.stop_reason, modes.steps) == ("RayleighRitz", ex.StopReason.MAX_STEPS, 2)
    np.testing.assert_allclose(modes.eigenvalues, [1, 3, 5], rtol=1e-6)
    assert (np.abs(modes.eigenvalues - [1, 3, 5]) < modes.residuals).all()
    x = np.linspace(-3, 3, 50)[:, None]
    ground = np.exp(-(x[:, 0] ** 2) / 2) * np.sqrt(12 / np.sqrt(np.pi))
    np.testing.assert_allclose(modes(x)[:, 0], ground, atol=1e-4)


@pytest.mark.parametrize(("n", "length"), [(1, 1.0), pytest.param(7, 10.0, marks=pytest.mark.slow), (12, 1.0)])
def test_many_modes_of_one_variable_with_nothing_chosen(n, length):
    modes = ex.solve(-ex.Laplacian(), ex.Box(0, length), n, max_steps=1, progress=False)
    exact = (np.pi * np.arange(1, n + 1) / length) ** 2
    assert (np.abs(modes.eigenvalues / exact - 1)).mean() < 1e-6


def test_a_number_added_to_the_operator_is_added_to_the_eigenvalues():
    shifted = OSCILLATOR + ex.Potential(lambda x: 1000.0)
    modes = ex.solve(shifted, ex.Box(-6, 6), 3, max_steps=1, progress=False)
    np.testing.assert_allclose(modes.eigenvalues - 1000, [1, 3, 5], atol=1e-4)


@pytest.mark.usefixtures("as_user")
@pytest.mark.slow
def test_counts_may_be_of_any_whole_type(tmp_path):
    counts = {"n": np.int64(2), "max_steps": np.int32(3), "seed": np.uint8(1)}
    solver = ex.SpIN(batch=np.int64(32), samples=np.int16(512), log_every=np.uint8(2))
    options = {"solver": solver, "checkpoint_dir": tmp_path / "run", "progress": False}
    modes = ex.solve(OSCILLATOR, ex.Box(-6, 6), **counts, **options)
    modes.save(tmp_path / "modes")
    assert ex.load(tmp_path / "modes").steps == 3


def test_the_largest_eigenvalues_of_a_kernel_come_in_descending_order():
    # Under the uniform distribution on [-1, 1], E[x²] = 1/3: the functions 1 and √3 x have eigenvalues 2 and 1.
    kernel = ex.Kernel(lambda x, y: 2 + 3 * x[0] * y[0])
    options = {"which": "largest", "solver": ex.SpIN(), "max_steps": 4000, "progress": False}
    modes = ex.solve(kernel, ex.Box(-1, 1, dims=1), n=2, **options)
    np.testing.assert_allclose(modes.eigenvalues, [2, 1], rtol=2e-2)
    x = np.linspace(-1, 1, 9)[:, None]
    np.testing.assert_allclose(np.abs(modes(x)[:, 0]), 1, atol=0.05)
    np.testing.assert_allclose(np.abs(modes(x)[:, 1]), np.sqrt(3) * np.abs(x[:, 0]), atol=0.1)
    assert (modes.residuals < 0.2).all()


def test_slow_features_of_a_series_are_found_with_their_delta_values():
    t = np.arange(8000)
    slow, fast = np.cos(2 * np.pi * t / 400), np.sin(2 * np.pi * t / 29)
    series = np.stack([slow + fast, fast], 1)
    options = {"solver": ex.SpIN(batch=24), "max_steps": 2000, "progress": False}
    modes = ex.solve(ex.Slowness(), ex.TimeSeries(series, length=10), n=2, **options)
    np.testing.assert_allclose(modes.eigenvalues, [0, 2 - 2 * np.cos(2 * np.pi / 400)], atol=1e-4)
    assert abs(np.corrcoef(modes(series)[:, 1], slow)[0, 1]) > 0.99
    np.testing.assert_allclose(modes(series)[:, 0], 1, atol=1e-3)


def test_the_same_settings_give_the_same_bits_and_another_seed_does_not():
    def solve(seed):
        options = {"solver": ex.RayleighRitz(samples=1024), "max_steps": 1, "progress": False}
        return ex.solve(OSCILLATOR, ex.Box(-6, 6, dims=1), n=2, seed=seed, **options)

    first, again, other = solve(0), solve(0), solve(1)
    np.testing.assert_array_equal(first.eigenvalues, again.eigenvalues)
    np.testing.assert_array_equal(first.coefficients, again.coefficients)
    assert (first.eigenvalues != other.eigenvalues).all()


KEY = jax.random.key(0)
GAUSSIAN = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)))


class Given(ex.Operator):
    function: Callable = eqx.field(static=True)

    def apply(self, function, batch, u):
        return self.function(u)


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
        ({"max_steps": 0}, ValueError, "max_steps must be a whole number of at least 1; got 0"),
        ({"which": "lowest"}, ValueError, "which must be 'smallest' or 'largest'; got 'lowest'"),
        (
            {
                "n": 9,
                "solver": ex.SpIN(batch=8),
                "operator": GAUSSIAN,
                "which": "largest",
                "network": ex.MLP(1, 9, key=KEY),
            },
            ValueError,
            "batch must have at least n = 9 points.* got 8",
        ),
        ({"callbacks": print}, TypeError, r"callbacks must be a sequence of functions, such as \[print\]"),
        ({"operator": ex.Laplacian()}, ValueError, "no smallest eigenvalue.*which='largest'"),
        ({"operator": OSCILLATOR, "which": "largest"}, ValueError, "no largest eigenvalue"),
        (
            {"operator": -ex.Laplacian() + Given(lambda u: u.sum(1))},
            ValueError,
            r"Given.apply must return K u with the shape of u, \(256, 2\)",
        ),
        ({"source": Bare()}, TypeError, "Bare.sample must return Points"),
        ({"operator": jnp.eye(3)}, TypeError, "operator must be an eigenax operator"),
        ({"source": ex.Laplacian()}, TypeError, "source must be an eigenax domain or source .* got Laplacian"),
        ({"operator": ex.Slowness()}, TypeError, "need a source of pairs"),
        (
            {"operator": ex.Potential(lambda x: x)},
            ValueError,
            r"to one real number.*it returned shape \(1,\)",
        ),
        ({"operator": ex.Potential(lambda x: jnp.log(x[0]))}, ValueError, "returned nan at x = "),
        ({"operator": ex.Kernel(lambda x, y: x[0] - y[0])}, ValueError, "not symmetric"),
        ({"operator": ex.Potential(lambda x: np.sin(x[0]))}, ValueError, "Use jax.numpy instead of numpy"),
        ({"operator": ex.Potential(lambda x: x[0] if x[0] > 0 else 0.0)}, ValueError, "jnp.where instead of if"),
        ({"operator": ex.Potential(lambda x: x[1])}, ValueError, r"reads what a point of shape \(1,\) has not"),
        ({"operator": ex.Potential(lambda x: 1j * x[0])}, ValueError, "to one real number.*complex number.*Take .real"),
        (
            {"operator": ex.Potential(lambda x: x[:, 0] ** 2)},
            ValueError,
            r"must take one point x of shape \(1,\) to one real number.*IndexError.*batch of points: write it for",
        ),
        ({"operator": ex.Potential(lambda x: jnp.sum(x, axis=1))}, ValueError, r"a batch.*sums without axis=1"),
        ({"operator": ex.Kernel(lambda x, y: (x @ y.T)[:, 0])}, ValueError, r"take 2 points of shape \(1,\)"),
        ({"operator": ex.Potential(lambda x: {}["k"])}, ValueError, "it raised KeyError: 'k'"),
        ({"operator": ex.Potential(lambda x: None)}, ValueError, "it returned NoneType"),
        ({"operator": ex.Potential(lambda x: [x[0]])}, ValueError, "it returned list"),
        ({"operator": ex.Potential(lambda x: "deep")}, ValueError, "to one real number.*str"),
        ({"operator": Given(lambda x: x[:, 0, 0])}, ValueError, r"Given.apply must return K u.*it raised IndexError"),
        ({"operator": Given(lambda x: 1j * x)}, ValueError, "Given.apply .* complex numbers.*complex: ClassVar"),
        ({"operator": Given(lambda x: None), "solver": ex.SpIN()}, ValueError, "Given.apply .* returned NoneType"),
        ({"seed": 1.5}, ValueError, "seed must be a whole number"),
        ({"seed": 2**40}, ValueError, "seed must be"),
        ({"solver": optax.adam(1e-3)}, TypeError, "solver must be an eigenax solver"),
        ({"solver": ex.RayleighRitz}, TypeError, "solver must be an eigenax solver .*: call it"),
        (
            {"solver": ex.RayleighRitz(), "network": ex.MLP(1, 2, key=KEY)},
            ValueError,
            r"RayleighRitz makes its own functions and has no use for network=….*SpIN\(\)",
        ),
        (
            {"solver": ex.RayleighRitz(), "source": ex.Arrays(np.arange(10.0).reshape(5, 2))},
            ValueError,
            "RayleighRitz takes a differential operator on a Box.* or .*Give another solver",
        ),
        ({"network": ex.MLP(3, 2, key=KEY)}, ValueError, r"must take one point of shape \(1,\)"),
        ({"network": lambda x: jnp.zeros(2)}, ValueError, "arrays to train"),
        ({"operator": ex.Potential(lambda x, y: x[0])}, ValueError, "missing 1 required positional argument"),
        ({"source": ex.Arrays(np.arange(10.0).reshape(5, 2))}, ValueError, "Arrays names no edge"),
        ({"network": ex.MLP(1, 3, key=KEY)}, ValueError, r"network must return n = 2 values .* \(3,\)"),
    ],
)
def test_wrong_input_is_named(change, error, message):
    arguments = {"operator": OSCILLATOR, "source": ex.Box(-1, 1, dims=1), "n": 2, "max_steps": 1, "progress": False}
    with pytest.raises(error, match=message):
        ex.solve(**(arguments | change))


@pytest.mark.parametrize(
    ("scale", "offset"), [pytest.param(1e-3, 0.0, marks=pytest.mark.slow), (1e3, 0.0), (5.0, 300.0)]
)
def test_slow_features_do_not_depend_on_units(scale, offset):
    t = np.arange(4000)
    series = scale * np.stack([np.sin(t / 40) + np.sin(t / 2), np.sin(t / 2)], 1) + offset
    modes = ex.solve(ex.Slowness(), ex.TimeSeries(series), n=2, solver=ex.SpIN(), max_steps=500, progress=False)
    np.testing.assert_allclose(modes.eigenvalues[1], 2 - 2 * np.cos(1 / 40), rtol=0.05)


def test_more_functions_than_points_are_refused():
    kernel = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)))
    with pytest.raises(ValueError, match="n = 6 functions cannot be told apart on 4 different rows"):
        ex.solve(kernel, ex.Arrays(np.arange(8.0).reshape(4, 2)), n=6, which="largest", progress=False)


def test_a_network_that_does_not_obey_the_boundary_is_warned_of():
    """What is said of each boundary, and that what it advises obeys, is in test_boundary_check.py."""
    network = ex.MLP(1, 2, key=jax.random.key(0))
    problem = ex.Problem.checked(OSCILLATOR, ex.Box(-1, 1), 2, network=network)
    with pytest.warns(RuntimeWarning, match="does not vanish at the faces of axis 0"):
        prepared(problem, ex.SpIN())


@pytest.mark.parametrize("boundary", [[("dirichlet", "neumann")], [("neumann", "dirichlet"), "periodic"]])
def test_functions_obey_each_face_of_a_box(boundary):
    """(k − ½)²π² along an axis that is zero at one end and free at the other."""
    lengths = (1.0, 2.0)[: len(boundary)]
    solver, exact = ex.RayleighRitz(n_basis=128), box_energies(4, lengths, boundary)
    box = ex.Box(0, lengths, boundary=boundary)
    modes = ex.solve(-ex.Laplacian(), box, n=4, solver=solver, max_steps=1, progress=False)
    np.testing.assert_allclose(modes.eigenvalues, exact, rtol=1e-5)
    assert (np.abs(modes.eigenvalues - exact) < 3 * modes.standard_errors).all()
    if len(boundary) == 1:
        x = np.linspace(0, 1, 50)
        np.testing.assert_allclose(np.abs(modes(x[:, None])[:, 0]), np.sqrt(2) * np.sin(np.pi * x / 2), atol=1e-3)
        trained = ex.solve(
            -ex.Laplacian(), box, n=2, solver=ex.NaturalGradient(samples=2**14), max_steps=50, progress=False
        )
        np.testing.assert_allclose(trained.eigenvalues, exact[:2], rtol=1e-3)


TRAINED = {"precision": "float64", "samples": 2**13}


@pytest.mark.parametrize(
    ("solver", "steps"),
    [(ex.NaturalGradient(**TRAINED), 100), (ex.SpIN(**TRAINED), 100), (ex.RayleighRitz(samples=2**13), 1)],
    ids=["NaturalGradient", "SpIN", "RayleighRitz"],
)
def test_float64_all_the_way(solver, steps):
    box = ex.Box(-6, 6)
    network = ex.Multiply(ex.DirichletFactor(box), ex.EnsembleMLP(1, 2, width=16, depth=1, key=jax.random.key(0)))
    trained = {} if isinstance(solver, ex.RayleighRitz) else {"network": network}
    modes = ex.solve(OSCILLATOR, box, 2, solver=solver, max_steps=steps, progress=False, **trained)
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
    network = ex.Multiply(ex.DirichletFactor(box), ex.EnsembleMLP(1, 2, width=16, depth=1, key=jax.random.key(0)))
    modes = ex.solve(
        high, box, 2, network=network, max_steps=150, progress=False,
        solver=ex.NaturalGradient(finish="eigh", precision="float64", samples=2**15),
    )  # fmt: skip
    np.testing.assert_allclose(modes.eigenvalues - 1e7, [1, 3], rtol=0.02)


def test_the_fastest_features_need_no_constant():
    t = np.arange(4000)
    series = np.stack([np.cos(2 * np.pi * t / 40), np.cos(2 * np.pi * t / 3 + 1)], 1)
    options = {"which": "largest", "solver": ex.SpIN(batch=24), "max_steps": 1500, "progress": False}
    modes = ex.solve(ex.Slowness(), ex.TimeSeries(series), n=1, **options)
    # Beats of the fast component, cos² and the like, are as fast: the value is that of the component itself.
    np.testing.assert_allclose(modes.eigenvalues, [2 - 2 * np.cos(2 * np.pi / 3)], rtol=0.05)


def test_points_that_are_neither_vectors_nor_images_are_refused():
    kernel = ex.Kernel(lambda x, y: jnp.sum(x * y))
    with pytest.raises(ValueError, match=r"points of shape \(4, 4\) are neither"):
        ex.solve(kernel, ex.Arrays(np.arange(80.0).reshape(5, 4, 4)), n=2, max_steps=1, progress=False)


@pytest.mark.parametrize("solver", [None, ex.SpIN()])
def test_one_mode_of_an_operator_that_has_a_constant_is_refused(solver):
    with pytest.raises(ValueError, match="constant function alone"):
        ex.solve(ex.Slowness(), ex.TimeSeries(np.eye(20)), n=1, solver=solver, max_steps=1, progress=False)


def test_with_a_network_another_solver_is_chosen_and_the_result_says_which_it_was_and_why_it_ended():
    box, network = ex.Box(-6, 6), ex.EnsembleMLP(1, 2, width=8, depth=1, key=jax.random.key(0))
    options = {"network": ex.Multiply(ex.DirichletFactor(box), network), "max_steps": 3, "progress": False}
    trained = ex.solve(OSCILLATOR, box, 2, **options)
    assert (trained.solver, trained.stop_reason, trained.steps) == ("SpIN", ex.StopReason.MAX_STEPS, 3)
    given = ex.solve(OSCILLATOR, box, 2, solver=ex.NaturalGradient(samples=512), **options)
    assert given.solver == "NaturalGradient"


def test_public_names_are_all_there_and_stay_what_they_are():
    for name in ex.__all__:
        assert getattr(ex, name) is getattr(ex, name)
    assert callable(ex.solve)
    assert callable(ex.measure)
    with pytest.raises(AttributeError, match="no attribute 'sovle'"):
        ex.sovle  # noqa: B018


def test_a_first_basis_that_is_too_small_is_followed_by_a_larger_one():
    modes = ex.solve(-ex.Laplacian(), ex.Box(0, 1), n=20, tol=1e-2, progress=False)
    exact = (np.pi * np.arange(1, 21)) ** 2
    assert modes.stop_reason is ex.StopReason.TOL
    assert (np.abs(modes.eigenvalues / exact - 1) < 1e-2).all()


def test_an_array_is_a_series_for_slowness_and_rows_for_a_kernel():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    settings = {"n": 3, "progress": False}
    smooth = {"operator": GAUSSIAN, "which": "largest"} | settings
    for arguments, source in (({"operator": ex.Slowness()} | settings, ex.TimeSeries), (smooth, ex.Arrays)):
        given, made = (ex.solve(**arguments, source=points) for points in (rows, source(rows)))
        np.testing.assert_array_equal(given.eigenvalues, made.eigenvalues)


def test_minus_slowness_has_minus_the_values_and_the_same_errors():
    rows = np.random.default_rng(0).normal(size=(300, 2)).cumsum(0)
    slow, minus = (
        ex.solve(sign * ex.Slowness(), rows, 3, which=which, progress=False)
        for sign, which in ((1, "smallest"), (-1, "largest"))
    )
    np.testing.assert_allclose(minus.eigenvalues, -slow.eigenvalues)
    np.testing.assert_allclose(minus.standard_errors, slow.standard_errors)
    np.testing.assert_allclose(minus.training_eigenvalues, -slow.training_eigenvalues)


def test_errors_of_slowness_cover_noise_that_was_followed():
    """White noise, whose features all have Δ = 2: with 20 columns and 300 rows some seem slow."""
    modes = ex.solve(ex.Slowness(), np.random.default_rng(0).normal(size=(300, 20)), 3, progress=False)[1:]
    assert (modes.training_eigenvalues < 1.9).all()
    assert (np.abs(modes.eigenvalues - 2) < 3 * modes.standard_errors).all()


class Triangle(ex.Domain):
    """Below the diagonal of the unit square."""

    @property
    def box(self):
        return ex.Box(0, 1, dims=2)

    @property
    def embedding(self):
        return None

    @property
    def faces(self):
        return ()

    def icdf(self, uniform):
        return jnp.where(uniform.sum(1, keepdims=True) > 1, 1 - uniform, uniform)

    def importance_weights(self, x):
        return jnp.ones(len(x), x.dtype)


def test_a_domain_by_a_stranger_is_not_taken_for_its_box():
    axis = (np.arange(60) + 0.5) / 60
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    inside = grid[grid.sum(1) < 1]
    dense = np.exp(-((inside[:, None] - inside) ** 2).sum(-1)) / len(inside)
    exact = np.linalg.eigvalsh(dense)[::-1][:3]
    modes = ex.solve(GAUSSIAN, Triangle(), 3, which="largest", progress=False)
    np.testing.assert_allclose(modes.eigenvalues, exact, rtol=0.02)


def test_a_basis_is_looked_at_whatever_the_number_of_them():
    modes = ex.solve(OSCILLATOR, ex.Box(-6, 6), n=2, tol=1e-2, max_steps=1000, progress=False)
    assert modes.stop_reason is ex.StopReason.TOL
    assert modes.steps < 4


class Drift(ex.Operator):
    """−u″ − 5u′, which is not symmetric."""

    wants_boundary = True

    def apply(self, function, batch, u):
        def at(x):
            return jnp.trace(jax.hessian(function)(x), axis1=1, axis2=2) + 5 * jax.jacfwd(function)(x)[:, 0]

        return -jax.vmap(at)(batch.x)


def test_a_tol_is_not_reached_where_the_residual_says_otherwise():
    solver = ex.RayleighRitz(n_basis=64, samples=2**13)
    with pytest.warns(RuntimeWarning, match=r"tol = 0.01 was not reached .*modes 1, 2 of 2"):
        modes = ex.solve(Drift(), ex.Box(0, 1), n=2, tol=1e-2, solver=solver, max_steps=1, progress=False)
    assert modes.stop_reason is ex.StopReason.MAX_STEPS
