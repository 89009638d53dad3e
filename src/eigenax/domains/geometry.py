"""The geometry of an embedded manifold: orthonormal tangents and areas. Checks of a user's embedding."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eigenax.checks import check_reads, traced

Embedding = Callable[[Float[Array, " d"]], Float[Array, " m"]]
"""Maps the parameters of a point to its position in space."""
MIN_ANGLE_IN_EPS = 16
"""Tangents count as parallel if the sine of the angle between them is at most this many machine epsilons."""


class Frame(NamedTuple):
    """d orthonormal tangents n_a = J e_a of a manifold at one point, where J is the Jacobian of its embedding.

    From J e_a · J e_b = δ_ab it follows that Σ_a e_a^i e_a^j is the inverse metric g^ij.
    """

    directions: Float[Array, "d d"]
    """The vectors e_a in parameter space, as rows."""
    tangents: Float[Array, "d m"]
    """The vectors n_a in space, as rows."""
    area: Float[Array, ""]
    """√det g: the area on the manifold per unit volume of parameters."""
    angle: Float[Array, ""]
    """The sine of the smallest angle between a column of J and the span of those before it; zero if one vanishes."""


def frame(embedding: Embedding, q: Float[Array, " d"]) -> Frame:
    """Orthonormal tangents at q, by Gram–Schmidt on the columns of J: the metric g would square its condition number.

    Sums replace matrix products, which GPUs round more coarsely. A column of J that vanishes or depends linearly on
    those before it gives a zero direction: at a point of zero area, such as a pole, the frame only must not be NaN.

    >>> frame(lambda q: jnp.stack([3 * q[0], 2 * q[1], q[0]]), jnp.zeros(2)).tangents
    Array([[0.94868326, 0.        , 0.31622776],
           [0.        , 1.        , 0.        ]], dtype=float32)
    """
    threshold = MIN_ANGLE_IN_EPS * jnp.finfo(q.dtype).eps
    directions, tangents, lengths, angles = [], [], [], []
    for e, derivative in zip(jnp.eye(q.size, dtype=q.dtype), jax.jacfwd(embedding)(q).T, strict=True):
        n = derivative
        for direction, tangent in zip(directions, tangents, strict=True):
            along = jnp.sum(tangent * n)
            e, n = e - along * direction, n - along * tangent
        length, norm = jnp.sqrt(jnp.sum(n**2)), jnp.sqrt(jnp.sum(derivative**2))
        independent = length > threshold * norm
        scale = jnp.where(independent, 1 / jnp.where(independent, length, 1), 0)
        directions.append(scale * e)
        tangents.append(scale * n)
        lengths.append(length)
        # NaN stays NaN in the angle, as in the area, so that `check_embedding` sees it.
        angles.append(jnp.where(norm == 0, 0, length / jnp.where(norm == 0, 1, norm)))
    area, angle = jnp.prod(jnp.stack(lengths)), jnp.min(jnp.stack(angles))
    return Frame(jnp.stack(directions), jnp.stack(tangents), area, angle)


def check_callable(name: str, embedding: Embedding) -> None:
    """Refuse an embedding that is not a function."""
    if not callable(embedding):
        raise TypeError(
            f"{name} must be a JAX function from parameters (d,) to a point in space (m,); got "
            f"{type(embedding).__name__}. A Surface has such a function as its .embedding"
        )


def check_embedding(name: str, embedding: Embedding, q: Float[Array, "b ..."]) -> None:
    """Refuse an embedding whose values at samples q are not finite vectors, or whose derivatives are dependent."""
    if q.ndim != 2:
        raise ValueError(f"{name}: a point must be a vector of parameters, shape (d,); got shape {q.shape[1:]}")
    _check_vector(name, embedding, q[0])
    values = np.asarray(jax.vmap(embedding)(q))
    bad = ~np.isfinite(values).all(1)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"{name}: the embedding returned {_show(values[i])} at q = {_show(q[i])}; it must be finite wherever the "
            "source draws parameters"
        )
    angle = np.asarray(jax.jit(jax.vmap(lambda one: frame(embedding, one).angle))(q))
    bad = ~(angle > MIN_ANGLE_IN_EPS * np.finfo(angle.dtype).eps)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"{name}: the derivatives of the embedding by its {q.shape[1]} parameters must be finite and linearly "
            f"independent; at q = {_show(q[i])} they are not: {_show(jax.jacfwd(embedding)(q[i]).T)}. Drop parameters "
            "that do not move the point, or keep such places out of the box"
        )


def _check_vector(name: str, embedding: Embedding, q: Float[Array, " d"]) -> None:
    must = (
        f"{name}: the embedding must take parameters of shape {q.shape} to one vector of at least {q.size} real "
        "numbers, the coordinates of the point in space"
    )
    returned = traced(must, embedding, q)
    shape = getattr(returned, "shape", None)
    real = shape is not None and jnp.issubdtype(returned.dtype, jnp.floating)
    if shape is None or not real or len(shape) != 1 or shape[0] < q.size:
        came = type(returned).__name__ if shape is None else f"shape {shape} of {returned.dtype}"
        raise ValueError(f"{must}; it returned {came}. Use jnp.stack([x, y, ...])")
    check_reads(f"{name}: the embedding", f"parameters of shape {q.shape} have", embedding, q)


def _show(x: Float[Array | np.ndarray, "..."]) -> str:
    return np.array2string(np.asarray(x), precision=4, separator=", ", threshold=16).replace("\n", "")
