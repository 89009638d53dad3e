"""Whether a network obeys the boundary conditions of a box, and what to do if it does not."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from eigenax.core.compiled import for_one_run
from eigenax.domains.base import Domain
from eigenax.sources.base import Source

BOUNDARY_ADVICE = {
    "dirichlet": ("does not vanish", "Multiply(DirichletFactor(box), network)"),
    "neumann": (
        "has a slope",
        "Compose(BoundaryCoordinates(box), network), a network of BoundaryCoordinates(box).size inputs",
    ),
    "periodic": (
        "is not periodic",
        "Compose(BoundaryCoordinates(box), network), a network of BoundaryCoordinates(box).size inputs",
    ),
}
"""For each boundary condition: what a network that violates it does at a face, and which network obeys it."""

OfPoints = Callable[[Array, int], Array]
"""Maps points and the number of an axis to values of functions."""


def warn_of_violations(domain: Domain, source: Source, network: Any) -> None:
    """Warn of each axis at whose faces the network violates the boundary condition."""
    inside, values_and_slopes, box = source.sample(jax.random.key(0), 64).x, _values_and_slopes(network), domain.box
    for axis, pair in enumerate(domain.faces):
        for kind in dict.fromkeys(pair):
            both = {"lower": box.low[axis], "upper": box.high[axis]}
            faces = {name: place for (name, place), has in zip(both.items(), pair, strict=True) if has == kind}
            if not _violates(values_and_slopes, inside, axis, kind, list(faces.values())):
                continue
            what, instead = BOUNDARY_ADVICE[kind]
            where = "faces" if len(faces) == 2 else f"{next(iter(faces))} face"
            warnings.warn(
                f"the network {what} at the {where} of axis {axis} of the box, whose boundary is {kind!r}. The "
                "operator is symmetric only for functions that obey it, and eigenvalues may mean nothing. "
                f"Take {instead}",
                RuntimeWarning,
                stacklevel=6,
            )


def _values_and_slopes(network: Any) -> tuple[OfPoints, OfPoints]:
    """The values of a network, and its slopes along an axis, at points; each is compiled once for all axes."""
    return (lambda x, axis: _values(network, x)), (lambda x, axis: _slopes(network, x, jnp.asarray(axis)))


@for_one_run
def _values(network: Any, x: Float[Array, "b d"]) -> Float[Array, "b k"]:
    return jax.vmap(network)(x)


@for_one_run
def _slopes(network: Any, x: Float[Array, "b d"], axis: Int[Array, ""]) -> Float[Array, "b k"]:
    return jax.vmap(lambda one: jax.jvp(network, (one,), (jnp.zeros_like(one).at[axis].set(1.0),))[1])(x)


def _violates(
    values_and_slopes: tuple[OfPoints, OfPoints], inside: Array, axis: int, kind: str, faces: list[float]
) -> bool:
    """Whether the values or the slopes at these faces of an axis violate a boundary condition."""
    values_at, slopes_at = values_and_slopes
    for at in {"dirichlet": [values_at], "neumann": [slopes_at], "periodic": [values_at, slopes_at]}[kind]:
        on_faces, values = [at(inside.at[:, axis].set(face), axis) for face in faces], at(inside, axis)
        wrong = [on_faces[0] - on_faces[1]] if kind == "periodic" else on_faces
        usual = [values, *on_faces] if kind == "periodic" else [values]
        largest, expected = (jnp.abs(jnp.concatenate(parts)).max(0) for parts in (wrong, usual))
        if bool((largest > 1e-2 * expected).any()):
            return True
    return False
