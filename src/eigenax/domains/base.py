"""The domain: where functions live, as places that uniform numbers stand for."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import equinox as eqx
from jaxtyping import Array, Float

from eigenax.domains.geometry import Embedding

if TYPE_CHECKING:
    from eigenax.domains.box import Box


class Domain(eqx.Module):
    """A box of parameters, and what is uniform on what they stand for; a source draws the points."""

    box: eqx.AbstractVar["Box"]
    """That parameters come from."""
    embedding: eqx.AbstractVar[Embedding | None]
    """From parameters to points in space, where the domain is curved."""
    faces: eqx.AbstractVar[tuple[tuple[str, str], ...]]
    """What functions do at the lower and at the upper face of each axis; empty where the domain has none."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(d,), the shape of one point."""
        return (len(self.box.low),)

    @property
    def n_uniforms(self) -> int:
        """How many numbers between 0 and 1 place one point."""
        return len(self.box.low)

    @property
    def flat(self) -> "Box | None":
        """The box, where points are their own parameters."""
        return self.box if self.embedding is None else None

    @property
    def uniform_density(self) -> Any:
        """The density of uniform points, a component, where it is known in closed form."""
        return None

    def open_edge(self) -> str | None:
        """An edge at which functions obey nothing, in words, if there is one: few operators are symmetric then."""
        return None

    @abstractmethod
    def icdf(self, uniform: Float[Array, "b d"]) -> Float[Array, "b d"]:
        """The points that uniform numbers stand for."""

    @abstractmethod
    def importance_weights(self, x: Float[Array, "b d"]) -> Float[Array, " b"]:
        """What such points must weigh, in the mean one, to be uniform on the domain."""
