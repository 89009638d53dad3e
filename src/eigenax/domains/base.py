"""The domain: where functions live, and how uniform numbers become points of it."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import equinox as eqx
from jaxtyping import Array, Float

from eigenax.domains.geometry import Embedding

if TYPE_CHECKING:
    from eigenax.domains.box import Box


class Domain(eqx.Module):
    """Where functions live: a box of parameters and, on a curved domain, their embedding in space.

    A domain turns uniform numbers into points and weights them so that they are uniform on it. A source draws them.
    """

    box: eqx.AbstractVar["Box"]
    """The box of the parameters."""
    embedding: eqx.AbstractVar[Embedding | None]
    """The map from parameters to points in space; None on a flat domain."""
    faces: eqx.AbstractVar[tuple[tuple[str, str], ...]]
    """The boundary conditions at the lower and at the upper face of each axis; empty if the domain has no faces."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(d,), the shape of one point."""
        return (len(self.box.low),)

    @property
    def n_uniforms(self) -> int:
        """How many numbers between 0 and 1 make one point."""
        return len(self.box.low)

    @property
    def flat(self) -> "Box | None":
        """The box itself on a flat domain, where points are their own parameters; None on a curved one."""
        return self.box if self.embedding is None else None

    @property
    def uniform_density(self) -> Any:
        """The uniform density on the domain, a `Component`; None if it has no closed form."""
        return None

    def open_edge(self) -> str | None:
        """Name an edge at which functions obey no boundary condition; None if there is no such edge.

        Most differential operators are not symmetric on a domain with such an edge.
        """
        return None

    @abstractmethod
    def icdf(self, uniform: Float[Array, "b d"]) -> Float[Array, "b d"]:
        """Turn numbers between 0 and 1 into points."""

    @abstractmethod
    def importance_weights(self, x: Float[Array, "b d"]) -> Float[Array, " b"]:
        """Importance weights, of mean one, that make the points of `icdf` uniform on the domain."""
