"""Curved surfaces, given by a parametrisation: a sphere, a torus, or one of your own."""

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
"""Panels along each axis of the composite Gauss–Legendre rule, for each number of axes."""
NODES_PER_PANEL = 16
"""Gauss–Legendre nodes along each axis of a panel."""
SOBOL_POINTS = 2**17
"""Points of the quadrature for more axes than `PANELS` lists."""
EDGE_SAMPLES = 32
"""Random points, each with its mirror image, at which `open_edge` looks at a side of the box."""
NEGLIGIBLE = 1e-6
"""Areas below this share of the mean area, and distances below this share of the surface's size, count as zero."""
CHUNK = 2**14
"""Quadrature points whose area is computed at once."""


class Surface(Domain):
    """The manifold that `embedding` maps the parameters in `box` to.

    Each point must be covered once, except by edges of the box. Parameters are drawn uniformly from the box, with
    weights ∝ √det g of mean one: eigenfunctions found on a surface are orthonormal under the uniform probability on
    it. Divide them by √area for ∫ v² dA = 1.

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
        """Empty: functions are functions of the point in space, and continue across the edges of the parameter box."""
        return ()

    @property
    def area(self) -> float:
        """The area of the manifold: a length for one parameter, a volume for three."""
        return self.mean_area * self.box.volume

    def icdf(self, uniform: Float[Array, "b d"]) -> Float[Array, "b d"]:
        """Turn numbers between 0 and 1 into parameters that are uniform in their box."""
        return self._clipped_inside(self.box.icdf(uniform))

    def importance_weights(self, x: Float[Array, "b d"]) -> Float[Array, " b"]:
        """√det g at parameters x, divided by its mean over the box."""
        return jax.vmap(lambda one: frame(self.embedding, one).area)(x) / self.mean_area

    def open_edge(self) -> str | None:
        """Name a side of the parameter box that is an open edge of the surface; None if the surface is closed.

        A side is no edge if it has no area, as at a pole, or if the opposite side is the same set of points.
        """
        low, high = np.asarray(self.box.low), np.asarray(self.box.high)
        inside = low + (high - low) * np.random.default_rng(0).random((EDGE_SAMPLES, len(low)))
        inside = np.concatenate([inside, low + high - inside])
        for axis in range(len(low)):
            sides = [np.where(np.arange(len(low)) == axis, end, inside) for end in (low, high)]
            with precision_scope("float64"):
                first, second = (np.asarray(jax.vmap(self.embedding)(jnp.asarray(side))) for side in sides)
                areas = [float(self.importance_weights(jnp.asarray(side)).max()) for side in sides]
            size = float(np.abs(first).max() + np.abs(second).max())
            # The sides may also coincide with the other parameters reversed, as on a Möbius strip.
            apart = min(float(np.abs(first - other).max()) for other in (second, np.roll(second, EDGE_SAMPLES, 0)))
            for area, end in zip(areas, (low, high), strict=True):
                if area > NEGLIGIBLE and apart > NEGLIGIBLE * size:
                    return f"parameter {axis} = {end[axis]:.6g}"
        return None

    def _clipped_inside(self, q: Float[Array, "b d"]) -> Float[Array, "b d"]:
        """Clip parameters to just inside the box: rounding puts some draws on its edge, where J may be singular.

        The margin is the smallest that rounding does not undo, with room for the rounding of the bounds themselves.
        """
        low, high = np.asarray(self.box.low), np.asarray(self.box.high)
        margin = 2 * float(jnp.finfo(q.dtype).eps) * np.maximum(np.maximum(-low, high), high - low)
        return jnp.clip(q, jnp.asarray(low + margin, q.dtype), jnp.asarray(high - margin, q.dtype))


class SphereEmbedding(eqx.Module):
    """Maps (θ, φ) to the point of a sphere at colatitude θ and longitude φ.

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
    """Maps (θ, φ) to the point of a torus at angle θ around its tube and φ around its axis.

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
    """The sphere, parametrised by colatitude θ in [0, π] and longitude φ in [0, 2π].

    >>> round(sphere(2.0).area / np.pi, 12)
    16.0
    """
    if not 0 < radius < math.inf:
        raise ValueError(f"radius must be positive and finite; got {radius}")
    return Surface(
        Box((0.0, 0.0), (math.pi, 2 * math.pi), boundary=("neumann", "periodic")), SphereEmbedding(float(radius))
    )


def torus(major: float, minor: float) -> Surface:
    """The torus of revolution: a tube of radius `minor` around a circle of radius `major`.

    >>> round(torus(2.0, 0.5).area / np.pi**2, 12)
    4.0
    """
    if not 0 < minor < major < math.inf:
        raise ValueError(f"a torus needs 0 < minor < major, or it intersects itself; got major {major}, minor {minor}")
    return Surface(
        Box((0.0, 0.0), (2 * math.pi, 2 * math.pi), boundary="periodic"), TorusEmbedding(float(major), float(minor))
    )


def _mean_area(box: Box, embedding: Embedding) -> float:
    """The mean of √det g over the box, in double precision regardless of the precision of samples."""
    nodes, weights = _quadrature(len(box.low))
    with jax.enable_x64(True):
        q = jnp.asarray(np.asarray(box.low) + 2 * box.half_width * nodes)
        # The stride is odd, so that the samples vary along every axis of the tensor rule.
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

        nodes = qmc.Sobol(dims, rng=0).random(SOBOL_POINTS)
        return nodes, np.full(SOBOL_POINTS, 1 / SOBOL_POINTS)
    x, w = np.polynomial.legendre.leggauss(NODES_PER_PANEL)
    axis = ((np.arange(PANELS[dims])[:, None] + (x + 1) / 2) / PANELS[dims]).ravel()
    weight = np.tile(w / 2, PANELS[dims]) / PANELS[dims]
    nodes = np.stack(np.meshgrid(*[axis] * dims, indexing="ij"), axis=-1).reshape(-1, dims)
    weights = np.prod(np.stack(np.meshgrid(*[weight] * dims, indexing="ij"), axis=-1).reshape(-1, dims), axis=1)
    return nodes, weights
