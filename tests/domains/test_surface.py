"""Surfaces: their area, what happens at the edge of their parameters, and the spectrum of a sphere from samples."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import eigenax as ex
from eigenax.domains.surface import SphereEmbedding, Surface, TorusEmbedding, sphere, torus
from eigenax.lab.spectra.sphere import sphere_spectrum
from eigenax.operators.laplace_beltrami import LaplaceBeltrami


def circle(q):
    return 3 * jnp.concatenate([jnp.cos(q), jnp.sin(q)])


def hypersphere(q):
    """(d,) angles to S^d."""
    ones, sines = jnp.ones(1, q.dtype), jnp.cumprod(jnp.sin(q))
    return jnp.concatenate([ones, sines]) * jnp.concatenate([jnp.cos(q), ones])


MADE = {
    "sphere": cache(lambda: sphere(1.5)),
    "torus": cache(lambda: torus(2.0, 0.7)),
    "circle": cache(lambda: Surface(ex.Box(0, 2 * np.pi), circle)),
    "three-sphere": cache(lambda: Surface(ex.Box(0, [np.pi, np.pi, 2 * np.pi]), hypersphere)),
    "oblique plane": lambda: Surface(ex.Box((0, -1), (2, 3)), lambda q: jnp.stack([q[0] + q[1], q[1], 2 * q[0]])),
    "disc": cache(lambda: Surface(ex.Box((0, 0), (1, 2 * np.pi)), disc)),
    "annulus": lambda: Surface(ex.Box((0.5, 0), (1, 2 * np.pi)), disc),
    "strip": lambda: Surface(ex.Box((0, -0.5), (2 * np.pi, 0.5)), strip),
    "half a sphere": lambda: Surface(ex.Box((0, 0), (np.pi / 2, 2 * np.pi)), SphereEmbedding(1.5)),
}
"""Surfaces, each of which a program is compiled for when it is made."""


@pytest.mark.parametrize(
    ("surface", "area"),
    [
        ("sphere", 4 * np.pi * 1.5**2),
        ("torus", 4 * np.pi**2 * 2.0 * 0.7),
        ("circle", 6 * np.pi),
        ("three-sphere", 2 * np.pi**2),
        ("oblique plane", 24),
    ],
)
def test_areas_are_exact(surface, area):
    assert MADE[surface]().area == pytest.approx(area, rel=1e-12)


def test_beyond_three_axes_areas_are_good_to_a_millionth():
    surface = Surface(ex.Box(0, [np.pi, np.pi, np.pi, 2 * np.pi]), hypersphere)
    assert surface.area == pytest.approx(8 * np.pi**2 / 3, rel=1e-6)


class Corners(ex.Box):
    """A box whose every draw is a corner: what happens once in millions of draws of a real one."""

    def icdf(self, uniform):
        return jnp.stack([jnp.asarray(self.low, uniform.dtype), jnp.asarray(self.high, uniform.dtype)])


@pytest.mark.parametrize("x64", [False, True])
def test_draws_from_the_very_edge_are_brought_inside_where_there_is_area(x64):
    poles = Surface(Corners((0.0, 0.0), (np.pi, 2 * np.pi)), MADE["sphere"]().embedding)

    @jax.jit
    def weighed(key):
        batch = ex.Uniform(poles).sample(key, 2)
        u = jax.vmap(poles.embedding)(batch.x)
        return batch.weights, LaplaceBeltrami(poles.embedding).apply(poles.embedding, batch, u)

    with jax.enable_x64(x64):
        weights, ku = (np.asarray(part) for part in weighed(jax.random.key(0)))
    assert (weights > 0).all()
    assert (weights < 1e-5).all()
    assert np.isfinite(ku).all()


def test_ritz_values_of_random_functions_on_the_sphere_are_its_spectrum(float64):
    surface, rng = sphere(), np.random.default_rng(1)
    matrix, phases = rng.normal(size=(3, 60)), rng.uniform(0, 2 * np.pi, 60)
    operator = -LaplaceBeltrami(surface.embedding)

    def functions(q):
        return jnp.sin(surface.embedding(q) @ matrix + phases)

    @jax.jit
    def moments(key):
        batch = ex.Uniform(surface).sample(key, 10_000)
        u = jax.vmap(functions)(batch.x)
        weighted = batch.weights[:, None] * u
        return u.T @ weighted, weighted.T @ operator.apply(functions, batch, u)

    sigma, pi = (np.asarray(part) for part in moments(jax.random.key(0)))
    # Unsymmetrised, E[w u Ku] is exact for eigenfunctions in the span, whatever the samples.
    values = np.sort(scipy.linalg.eigvals(pi, sigma).real)
    np.testing.assert_allclose(values[:9], sphere_spectrum(9), atol=1e-3)


def test_equal_embeddings_are_equal_so_that_nothing_is_compiled_twice():
    again = SphereEmbedding(1.5)
    assert again == MADE["sphere"]().embedding
    assert hash(again) == hash(MADE["sphere"]().embedding)
    assert SphereEmbedding(1.0) != MADE["sphere"]().embedding
    assert TorusEmbedding(2.0, 0.7) == MADE["torus"]().embedding


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan"), float("inf")])
def test_a_radius_must_be_positive(radius):
    with pytest.raises(ValueError, match=f"radius must be positive and finite; got {radius}"):
        sphere(radius)


@pytest.mark.parametrize(("major", "minor"), [(1.0, 1.0), (1.0, 2.0), (1.0, 0.0), (float("inf"), 1.0)])
def test_a_torus_must_not_meet_itself(major, minor):
    with pytest.raises(ValueError, match=f"0 < minor < major.*got major {major}, minor {minor}"):
        torus(major, minor)


@pytest.mark.usefixtures("as_user")
def test_parts_of_the_wrong_kind_are_named():
    with pytest.raises(TypeError, match=r"Surface\(box\) must be a Box.*got tuple"):
        Surface((0, 1), circle)
    with pytest.raises(TypeError, match=r"Surface\(embedding\) must be a JAX function.*got ndarray"):
        Surface(ex.Box(0, 1), np.zeros(3))


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("embedding", "message"),
    [
        (lambda q: q[:1], "at least 2 real numbers"),
        (lambda q: jnp.stack([q[0], q[0]]), "linearly independent"),
        (lambda q: jnp.log(q - 0.5), "must be finite"),
        (lambda q: jnp.where(jnp.abs(q[0] - 0.37) < 1e-3, jnp.inf, 1.0) * q, "area.*positive and finite; got"),
    ],
)
def test_bad_embeddings_are_refused_when_the_surface_is_made(embedding, message):
    with pytest.raises(ValueError, match=r"Surface\(embedding\): .*" + message):
        Surface(ex.Box(0, 1, dims=2), embedding)


def disc(q):
    return q[0] * jnp.stack([jnp.cos(q[1]), jnp.sin(q[1])])


def strip(q):
    """Möbius': q₀ goes around, q₁ across, the other way after one turn."""
    out = 2 + q[1] * jnp.cos(q[0] / 2)
    return jnp.stack([out * jnp.cos(q[0]), out * jnp.sin(q[0]), q[1] * jnp.sin(q[0] / 2)])


@pytest.mark.parametrize(
    ("surface", "edge"),
    [
        ("sphere", None),
        ("torus", None),
        ("circle", None),
        ("three-sphere", None),
        ("disc", "parameter 0 = 1"),
        ("annulus", "parameter 0 = 0.5"),
        ("strip", "parameter 1 = -0.5"),
        ("half a sphere", "parameter 0 = 1.5708"),
    ],
)
def test_edges_are_told_from_poles_and_seams(surface, edge):
    assert MADE[surface]().open_edge() == edge


def test_a_surface_with_an_edge_is_refused_where_operators_take_derivatives():
    surface = MADE["disc"]()
    with pytest.raises(ValueError, match=r"the Surface has an edge at parameter 0 = 1, .*or a Box"):
        ex.solve(-ex.LaplaceBeltrami(disc), surface, 2, progress=False)
    near = ex.Kernel(lambda a, b: jnp.exp(-jnp.sum((disc(a) - disc(b)) ** 2)))
    assert ex.solve(near, surface, 1, which="largest", progress=False).eigenvalues[0] > 0


def test_the_laplacian_of_flat_space_is_refused_on_a_curved_surface():
    message = r"Laplacian takes the parameters of the Surface .* take LaplaceBeltrami\(surface.embedding\)"
    with pytest.raises(ValueError, match=message):
        ex.solve(-ex.Laplacian() + ex.Potential(lambda q: q[0]), ex.sphere(), 2, progress=False)
