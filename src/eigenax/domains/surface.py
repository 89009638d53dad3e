"""Curved surfaces, known by parameters of their points: a sphere, a torus, or one of your own."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eigenax.core.precision import precision_scope
from eigenax.domains.base import Domain
from eigenax.domains.box import Box
from eigenax.domains.geometry import Embedding, check_callable, check_embedding, frame

PANELS = {1: 64, 2: 16, 3: 4}
"""Pieces of each axis, for as many axes, with a Gauss–Legendre rule of `NODES` points on each."""
NODES = 16
QUASI_RANDOM = 2**17
LOOKED_AT, NO_AREA = 32, 1e-6
"""Points of each side that are looked at, and what area or distance is none, as a share of the mean or of the size."""
CHUNK = 2**14


class Surface(Domain):
    """The manifold that `embedding` takes the parameters in `box` to; every point of it once, but for edges.

    Parameters are drawn uniformly from the box, with weights √det g of mean one: functions learned on a surface are
    orthonormal under the uniform probability on it. Divide them by √area for ∫ v² dA = 1.

    >>> cone = Surface(Box((0, 0), (1, 2 * np.pi)), lambda q: q[0] * jnp.stack([jnp.cos(q[1]), jnp.sin(q[1]), 1.0]))
    >>> round(cone.area / np.pi, 12)
    1.414213562373
    """

    box: Box
    embedding: Embedding = eqx.field(static=True)  # pyright: ignore[reportIncompatibleVariableOverride]
    mean_area: float = eqx.field(static=True)
    """The mean of √det g over the box."""

    def __init__(self, box: Box, embedding: Embedding):
        if not isinstance(box, Box):
            raise TypeError(f"Surface(box) must be a Box of parameters; got {type(box).__name__}")
        check_callable("Surface(embedding)", embedding)
        self.box, self.embedding = box, embedding  # pyright: ignore[reportIncompatibleVariableOverride]
        self.mean_area = _mean_area(box, embedding)

    @property
    def faces(self) -> tuple[tuple[str, str], ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """None: functions of the points in space go on across the edges of the box of parameters."""
        return ()

    @property
    def area(self) -> float:
        """The area of the manifold: a length for one parameter, a volume for three."""
        return self.mean_area * self.box.volume

    def icdf(self, uniform: Float[Array, "b d"]) -> Float[Array, "b d"]:
        """Parameters that are uniform in their box."""
        return self._off_the_edge(self.box.icdf(uniform))

    def importance_weights(self, x: Float[Array, "b d"]) -> Float[Array, " b"]:
        """The area at parameters x, over its mean."""
        return jax.vmap(lambda one: frame(self.embedding, one).area)(x) / self.mean_area

    def open_edge(self) -> str | None:
        """A side of the box that is neither one point or line of no area, as a pole is, nor the opposite side again."""
        low, high = np.asarray(self.box.low), np.asarray(self.box.high)
        inside = low + (high - low) * np.random.default_rng(0).random((LOOKED_AT, len(low)))
        inside = np.concatenate([inside, low + high - inside])
        for axis in range(len(low)):
            sides = [np.where(np.arange(len(low)) == axis, end, inside) for end in (low, high)]
            with precision_scope("float64"):
                first, second = (np.asarray(jax.vmap(self.embedding)(jnp.asarray(side))) for side in sides)
                areas = [float(self.importance_weights(jnp.asarray(side)).max()) for side in sides]
            size = float(np.abs(first).max() + np.abs(second).max())
            # Also where the other parameters run backwards, as on a Möbius strip.
            apart = min(float(np.abs(first - other).max()) for other in (second, np.roll(second, LOOKED_AT, 0)))
            for area, end in zip(areas, (low, high), strict=True):
                if area > NO_AREA and apart > NO_AREA * size:
                    return f"parameter {axis} = {end[axis]:.6g}"
        return None

    def _off_the_edge(self, q: Float[Array, "b d"]) -> Float[Array, "b d"]:
        """Inside the box by a little: rounding takes some draws to the very edge, where parameters may be singular.

        By as little as is not lost to rounding, with room for that of the bounds themselves.
        """
        low, high = np.asarray(self.box.low), np.asarray(self.box.high)
        margin = 2 * float(jnp.finfo(q.dtype).eps) * np.maximum(np.maximum(-low, high), high - low)
        return jnp.clip(q, jnp.asarray(low + margin, q.dtype), jnp.asarray(high - margin, q.dtype))


class SphereEmbedding(eqx.Module):
    """(θ, φ) to the point of a sphere at colatitude θ and longitude φ.

    >>> SphereEmbedding(2.0)(jnp.array([0.0, 1.0]))
    Array([0., 0., 2.], dtype=float32)
    """

    radius: float = eqx.field(static=True)

    def __call__(self, q: Float[Array, " 2"]) -> Float[Array, " 3"]:
        """The point in space."""
        theta, phi = q[0], q[1]
        across = jnp.sin(theta)
        return self.radius * jnp.stack([across * jnp.cos(phi), across * jnp.sin(phi), jnp.cos(theta)])


class TorusEmbedding(eqx.Module):
    """(θ, φ) to the point of a torus at angle θ around its tube and φ around its axis.

    >>> TorusEmbedding(2.0, 0.5)(jnp.array([0.0, 0.0]))
    Array([2.5, 0. , 0. ], dtype=float32)
    """

    major: float = eqx.field(static=True)
    minor: float = eqx.field(static=True)

    def __call__(self, q: Float[Array, " 2"]) -> Float[Array, " 3"]:
        """The point in space."""
        theta, phi = q[0], q[1]
        across = self.major + self.minor * jnp.cos(theta)
        return jnp.stack([across * jnp.cos(phi), across * jnp.sin(phi), self.minor * jnp.sin(theta)])


def sphere(radius: float = 1.0) -> Surface:
    """The sphere, by colatitude θ in [0, π] and longitude φ in [0, 2π].

    >>> round(sphere(2.0).area / np.pi, 12)
    16.0
    """
    if not 0 < radius < math.inf:
        raise ValueError(f"radius must be positive and finite; got {radius}")
    return Surface(
        Box((0.0, 0.0), (math.pi, 2 * math.pi), boundary=("neumann", "periodic")), SphereEmbedding(float(radius))
    )


def torus(major: float, minor: float) -> Surface:
    """The torus of revolution: a tube of radius `minor` whose middle is at `major` from the axis.

    >>> round(torus(2.0, 0.5).area / np.pi**2, 12)
    4.0
    """
    if not 0 < minor < major < math.inf:
        raise ValueError(f"a torus needs 0 < minor < major, or it meets itself; got major {major}, minor {minor}")
    return Surface(
        Box((0.0, 0.0), (2 * math.pi, 2 * math.pi), boundary="periodic"), TorusEmbedding(float(major), float(minor))
    )


def _mean_area(box: Box, embedding: Embedding) -> float:
    """The mean of √det g over the box, in double precision whatever the sampling will be in."""
    nodes, weights = _quadrature(len(box.low))
    with jax.enable_x64(True):
        q = jnp.asarray(np.asarray(box.low) + 2 * box.half_width * nodes)
        # An odd stride, for it to go along every axis of the tensor rule.
        check_embedding("Surface(embedding)", embedding, q[:: len(q) // 64 + 1])
        areas = jax.jit(lambda q: jax.lax.map(lambda one: frame(embedding, one).area, q, batch_size=CHUNK))(q)
        mean = float(weights @ np.asarray(areas))
    if not 0 < mean < math.inf:
        raise ValueError(
            f"Surface(embedding): the area of the manifold must be positive and finite; got {mean * box.volume}. "
            "Keep places where the embedding is singular out of the box"
        )
    return mean


def _quadrature(dims: int) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
    """Nodes inside the unit cube and weights of sum one: Gauss–Legendre up to three axes, Sobol' points beyond."""
    if dims not in PANELS:
        from scipy.stats import qmc

        nodes = qmc.Sobol(dims, rng=0).random(QUASI_RANDOM)
        return nodes, np.full(QUASI_RANDOM, 1 / QUASI_RANDOM)
    x, w = np.polynomial.legendre.leggauss(NODES)
    axis = ((np.arange(PANELS[dims])[:, None] + (x + 1) / 2) / PANELS[dims]).ravel()
    weight = np.tile(w / 2, PANELS[dims]) / PANELS[dims]
    nodes = np.stack(np.meshgrid(*[axis] * dims, indexing="ij"), axis=-1).reshape(-1, dims)
    weights = np.prod(np.stack(np.meshgrid(*[weight] * dims, indexing="ij"), axis=-1).reshape(-1, dims), axis=1)
    return nodes, weights
