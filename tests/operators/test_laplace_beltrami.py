"""The Laplace–Beltrami operator against spherical harmonics, flat tori, the textbook formula and itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.domains.geometry import frame
from eigenax.domains.surface import SphereEmbedding, TorusEmbedding
from eigenax.lab.spectra.torus import torus_spectrum
from eigenax.operators.laplace_beltrami import LaplaceBeltrami

RNG = np.random.default_rng(0)
SAMPLES = np.stack([RNG.uniform(0.3, 2.8, 40), RNG.uniform(0, 2 * np.pi, 40)], axis=1)
UNIT = SphereEmbedding(1.0)
DEGREES = np.array([0, *[1] * 3, *[2] * 5, *[3] * 7])


def both(operator, function, q):
    """u and K u at the points q."""

    @jax.jit
    def evaluate(q):
        u = jax.vmap(function)(q)
        return u, operator.apply(function, ex.Points(q, jnp.ones(len(q), q.dtype)), u)

    u, ku = evaluate(jnp.asarray(q))
    return np.asarray(u), np.asarray(ku)


def harmonics(q):
    """The real spherical harmonics of l = 0 to 3 as polynomials, not normalised."""
    x, y, z = UNIT(q)
    quadratic = [x * y, y * z, 3 * z**2 - 1, x * z, x**2 - y**2]
    cubic = [y * (3 * x**2 - y**2), x * y * z, y * (5 * z**2 - 1), z * (5 * z**2 - 3), x * (5 * z**2 - 1)]
    return jnp.stack([jnp.ones_like(x), x, y, z, *quadratic, *cubic, (x**2 - y**2) * z, x * (x**2 - 3 * y**2)])


def test_spherical_harmonics_have_their_eigenvalues_everywhere(float64):
    u, ku = both(LaplaceBeltrami(SphereEmbedding(2.5)), harmonics, SAMPLES)
    np.testing.assert_allclose(ku, -DEGREES * (DEGREES + 1) * u / 2.5**2, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_either_precision_keeps_its_digits_and_near_a_pole_errors_grow_no_faster_than_area_falls(dtype):
    distances = np.array([1.0, 1e-2, 1e-4, 1e-6])
    theta = np.concatenate([distances, np.pi - distances])
    with jax.enable_x64(dtype == np.float64):
        q = np.stack(np.meshgrid(theta, SAMPLES[:, 1]), axis=-1).reshape(-1, 2).astype(dtype)
        u, ku = both(LaplaceBeltrami(UNIT), harmonics, q)
        area = np.asarray(jax.jit(jax.vmap(lambda one: frame(UNIT, one).area))(jnp.asarray(q)))
    assert ku.dtype == dtype
    np.testing.assert_allclose(area, np.sin(q[:, 0].astype(np.float64)), rtol=1e-5, atol=1e-9)
    assert np.abs(area[:, None] * (ku + DEGREES * (DEGREES + 1) * u)).max() < 50 * np.finfo(dtype).eps


def test_networks_of_points_in_space_lose_no_more_than_that_either():
    network = ex.Compose(UNIT, ex.MLP(3, 4, width=8, depth=1, key=jax.random.key(0)))
    q = np.stack([np.full(40, 1e-3), SAMPLES[:, 1]], axis=1).astype(np.float32)
    _, single = both(LaplaceBeltrami(UNIT), network, q)
    with jax.enable_x64(True):
        _, double = both(LaplaceBeltrami(UNIT), network, q.astype(np.float64))
    assert np.abs(double).max() > 0.1
    np.testing.assert_allclose(single, double, atol=2e-4)


def test_a_pole_itself_gives_no_nan():
    _, ku = both(LaplaceBeltrami(UNIT), UNIT, np.zeros((1, 2), np.float32))
    assert np.isfinite(ku).all()


def flat_torus(q):
    """Two circles of radii 1 and 2, in R⁴, with a shear that makes the parameters oblique."""
    a, b = q[0] + 0.7 * q[1], q[1]
    return jnp.stack([jnp.cos(a), jnp.sin(a), 2 * jnp.cos(b / 2), 2 * jnp.sin(b / 2)])


def test_waves_on_a_flat_torus_have_their_squared_frequencies(float64):
    k, m = np.array([0, 1, 2, 3, 1]), np.array([1, 0, 2, 1, -4])

    def waves(q):
        return jnp.sin(k * (q[0] + 0.7 * q[1]) + m * q[1] / 2)

    u, ku = both(LaplaceBeltrami(flat_torus), waves, SAMPLES)
    np.testing.assert_allclose(ku, -(k**2 + m**2 / 4) * u, atol=1e-12)


def test_coordinates_of_the_three_sphere_have_l_times_l_plus_two(float64):
    def embedding(q):
        a, b, c = q
        sines = jnp.cumprod(jnp.sin(q))
        return jnp.stack([jnp.cos(a), sines[0] * jnp.cos(b), sines[1] * jnp.cos(c), sines[2]])

    def functions(q):
        x = embedding(q)
        return jnp.concatenate([x, x * jnp.roll(x, 1)])

    u, ku = both(LaplaceBeltrami(embedding), functions, np.random.default_rng(2).uniform(0.4, 2.7, (20, 3)))
    np.testing.assert_allclose(ku, -np.array([3] * 4 + [8] * 4) * u, atol=1e-11)


def bumpy(q):
    """A surface without symmetry in R⁴, with oblique parameters."""
    return jnp.stack([q[0] + 0.3 * jnp.sin(q[1]), q[1] + 0.4 * q[0] * q[1], jnp.cos(q[0] - q[1]), 0.2 * q[0] ** 2])


def lively(q):
    return jnp.stack([jnp.sin(q[0]) * q[1] ** 2, jnp.exp(-q[0] * q[1] / 4), q[0] ** 3 - q[1]])


def textbook(embedding, function, q):
    """(1/√g) ∂_i(√g g^ij ∂_j u), with g inverted and differentiated as it stands."""

    def flux(q):
        jacobian = jax.jacfwd(embedding)(q)
        metric = jacobian.T @ jacobian
        gradient = jnp.linalg.solve(metric, jax.jacfwd(function)(q).T)
        return jnp.sqrt(jnp.linalg.det(metric)) * gradient

    def divergence(q):
        jacobian = jax.jacfwd(embedding)(q)
        return jnp.einsum("iki->k", jax.jacfwd(flux)(q)) / jnp.sqrt(jnp.linalg.det(jacobian.T @ jacobian))

    return jax.jit(jax.vmap(divergence))(jnp.asarray(q))


def test_it_is_the_formula_of_the_textbook(float64):
    _, ku = both(LaplaceBeltrami(bumpy), lively, SAMPLES)
    np.testing.assert_allclose(ku, textbook(bumpy, lively, SAMPLES), rtol=1e-9, atol=1e-9)


def test_on_a_curve_it_is_the_second_derivative_by_arc_length(float64):
    def spiral(q):
        return jnp.exp(q[0]) * jnp.stack([jnp.cos(q[0]), jnp.sin(q[0])])

    q = SAMPLES[:, :1]
    _, ku = both(LaplaceBeltrami(spiral), lambda q: jnp.stack([jnp.exp(q[0]), jnp.exp(2 * q[0])]), q)
    np.testing.assert_allclose(ku, np.stack([0 * q[:, 0], np.ones(40)], axis=1), atol=1e-12)


def test_flat_parameters_give_the_laplacian():
    _, curved = both(LaplaceBeltrami(lambda q: q), lively, SAMPLES.astype(np.float32))
    _, flat = both(ex.Laplacian("exact"), lively, SAMPLES.astype(np.float32))
    np.testing.assert_allclose(curved, flat, rtol=1e-5, atol=1e-5)


def ellipsoid(q):
    return jnp.asarray([1.0, 1.7, 0.6]) * UNIT(q)


def grid(high, size=96):
    """θ up to `high` and φ once around: periodic rules, Gauss–Legendre from pole to pole."""
    phi = 2 * np.pi * np.arange(size) / size
    if high == 2 * np.pi:
        theta, weights = phi, np.full(size, high / size)
    else:
        nodes, weights = np.polynomial.legendre.leggauss(size)
        theta, weights = high * (nodes + 1) / 2, high * weights / 2
    q = np.stack(np.meshgrid(theta, phi, indexing="ij"), axis=-1).reshape(-1, 2)
    return q, np.repeat(weights * 2 * np.pi / size, size)


def ellipsoid_area(q):
    """|X_θ × X_φ|, by hand."""
    a, b, c = 1.0, 1.7, 0.6
    sine, cosine = np.sin(q[:, 0]), np.cos(q[:, 0])
    across = (b * c * np.cos(q[:, 1])) ** 2 + (a * c * np.sin(q[:, 1])) ** 2
    return sine * np.sqrt(sine**2 * across + (a * b * cosine) ** 2)


@pytest.mark.parametrize(
    ("embedding", "high", "area"),
    [
        (ellipsoid, np.pi, ellipsoid_area),
        (TorusEmbedding(2.0, 0.8), 2 * np.pi, lambda q: 0.8 * (2 + 0.8 * np.cos(q[:, 0]))),
    ],
    ids=["ellipsoid", "torus"],
)
def test_it_is_symmetric_and_its_image_has_zero_mean(embedding, high, area, float64):
    matrix = np.random.default_rng(1).normal(size=(3, 5)) * 0.8
    q, weights = grid(high)
    f, kf = both(LaplaceBeltrami(embedding), lambda q: jnp.sin(embedding(q) @ matrix + jnp.arange(5.0)), q)
    weights = weights * area(q)
    pi = f.T @ (weights[:, None] * kf)
    assert np.abs(pi).max() > 1
    np.testing.assert_allclose(pi, pi.T, atol=1e-9)
    np.testing.assert_allclose(weights @ kf, np.zeros(5), atol=1e-9)


def test_ritz_values_on_a_torus_are_those_of_its_spectrum(float64):
    embedding = TorusEmbedding(1.0, 0.4)
    k, m = (part.ravel() for part in np.meshgrid(np.arange(-8, 9), np.arange(-3, 4)))

    def waves(q):
        phase = k * q[0] + m * q[1]
        return jnp.cos(phase) + jnp.sin(phase)

    q, weights = grid(2 * np.pi, 24)
    u, ku = both(LaplaceBeltrami(embedding), waves, q)
    values = np.linalg.eigvals(np.linalg.lstsq(weights[:, None] ** 0.5 * u, weights[:, None] ** 0.5 * ku)[0])
    np.testing.assert_allclose(np.sort(-values.real)[:12], torus_spectrum(1.0, 0.4, 12), atol=1e-6)


def test_what_it_tells_the_rest_of_the_library():
    operator = LaplaceBeltrami(UNIT)
    assert operator.acts_on is ex.Points
    assert not operator.wants_boundary
    assert operator.unbounded == -1
    assert (-operator + ex.Potential(lambda q: q[0])).unbounded == 1


def checked(embedding, q=SAMPLES):
    LaplaceBeltrami(embedding).check(ex.Points(jnp.asarray(q, jnp.float32), jnp.ones(len(q))))


@pytest.mark.parametrize("embedding", [UNIT, flat_torus, bumpy, lambda q: q], ids=["sphere", "flat", "bumpy", "plane"])
def test_good_embeddings_pass_their_check(embedding):
    checked(embedding)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("embedding", "message"),
    [
        (lambda q: q[:1], r"at least 2 real numbers.*returned shape \(1,\)"),
        (lambda q: q[0], r"at least 2 real numbers.*returned shape \(\)"),
        (lambda q: (q[0], q[1], q[0]), "returned tuple.*jnp.stack"),
        (lambda q: jnp.exp(1j * q), "of complex64"),
        (lambda q: jnp.stack([jnp.float32(np.sin(q[0])), q[1]]), "Use jax.numpy"),
        (lambda q: q if q[0] > 0 else -q, "jnp.where"),
        (lambda q: jnp.stack([q[0], q[1], q[2]]), r"parameters of shape \(2,\) have not"),
        (lambda q: jnp.log(q - 1), r"returned \[.*nan.* at q = \[.*must be finite wherever"),
        (lambda q: jnp.stack([q[0], q[0] ** 2, q[0]]), "by its 2 parameters.*independent.*Drop parameters"),
        (lambda q: jnp.stack([q[0] + 2 * q[1], jnp.sin(q[0] + 2 * q[1])]), "linearly independent"),
        (lambda q: jnp.sqrt(jnp.maximum(q - 4, 0)), "finite and linearly independent"),
    ],
)
def test_bad_embeddings_are_refused_in_words(embedding, message):
    with pytest.raises(ValueError, match=r"LaplaceBeltrami\(embedding\): .*" + message):
        checked(embedding)


def test_a_sample_at_a_pole_is_named():
    with pytest.raises(ValueError, match=r"at q = \[0., 1.\]"):
        checked(UNIT, np.array([[1.0, 1.0], [0.0, 1.0]]))


def test_points_must_be_vectors():
    with pytest.raises(ValueError, match=r"vector of parameters, shape \(d,\); got shape \(1, 8, 8\)"):
        checked(UNIT, np.zeros((2, 1, 8, 8)))


@pytest.mark.usefixtures("as_user")
def test_an_embedding_must_be_a_function():
    with pytest.raises(TypeError, match=r"got str.*\.embedding"):
        LaplaceBeltrami("sphere")
