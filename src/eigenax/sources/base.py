"""The source: something that draws batches of points; and the sampler, which may look at the functions as it does."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from eigenax.core.batch import Batch, Function, Pairs, Points
from eigenax.domains.base import Domain

if TYPE_CHECKING:
    from eigenax.sources.graph_data import TransitionData, WholeGraph


@runtime_checkable
class Component(Protocol):
    """A density that uniform numbers can be turned into points of: `Box`, `Gaussian`, `Radial`, `LogUniformRadius`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one point."""
        ...

    @property
    def n_uniforms(self) -> int:
        """How many numbers between 0 and 1 place one point."""
        ...

    def icdf(self, uniform: Float[Array, "b m"]) -> Float[Array, "b d"]:
        """The points that uniform numbers stand for."""
        ...

    def density(self, x: Float[Array, "b d"]) -> Float[Array, " b"]:
        """The density of those points at x."""
        ...


T = TypeVar("T")


class HostData(Generic[T]):
    """All the data there is, made when it is first asked for, beside the arrays that programs take of it.

    Programs never look inside, so that to them all are alike: data of one shape are compiled for once.
    """

    def __init__(self, make: Callable[[], T]):
        self._make = make

    @cached_property
    def data(self) -> T:
        """As it was given, in float64."""
        return self._make()

    def __reduce__(self) -> tuple[Any, ...]:
        return _holding, (self.data,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostData)

    def __hash__(self) -> int:
        return hash(HostData)


def _holding(data: Any) -> HostData:
    return HostData(lambda: data)


class Sampler(eqx.Module):
    """Draws the batches of a training run, inside its compiled loop; what it must remember is part of the run's state.

    `source` is where results are measured, with the same inner product.
    """

    local_only: ClassVar[bool] = False
    """Whether its points depend on each other, which only local operators allow."""

    @property
    @abstractmethod
    def source(self) -> "Source":
        """What draws independent points."""

    @abstractmethod
    def init(self, functions: Function, key: PRNGKeyArray, size: int) -> Any:
        """The state before the first of batches of `size` draws, a tree of arrays."""

    @abstractmethod
    def draw(self, state: Any, functions: Function, key: PRNGKeyArray, size: int) -> tuple[Any, Batch]:
        """The next state, and a batch for training these functions."""


class Source(Sampler):
    """Draws batches of `Points` or `Pairs` as a function of a key: a sampler without a state, that looks at nothing.

    What else is known of it, it declares; a solver asks for what it needs, and nothing is where it is not known:

    | property | what it is |
    |---|---|
    | `domain` | where points can be drawn at will, such as a `Box` |
    | `density` | the density they have, from which they can be drawn evenly |
    | `rows` | all points there are, rows of numbers of equal weight |
    | `graph` | all nodes, rows of numbers, and all edges |
    | `steps` | all steps of a process between rows of numbers |
    | `numbered` | whether these rows are numbers of nodes or states, which tell nothing else |
    | `episodes` | all series, of rows of numbers |
    | `held_out` | more of the same, to judge functions by, that nothing is trained on |
    | `in_order` | batches of all there is, in order of time |
    """

    draws: ClassVar[type[Points] | type[Pairs]] = Points

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of one point."""

    @abstractmethod
    def sample(self, key: PRNGKeyArray, size: int) -> Batch:
        """A batch of `size` draws; the same key gives the same batch."""

    def sample_qmc(self, key: PRNGKeyArray, size: int, part: int | Int[Array, ""] = 0) -> Batch:
        """A batch whose points fill the domain evenly, for means over single points.

        The parts 0, 1, 2 … of one key fill it evenly together. Here they are independent draws, for want of better.
        """
        return self.sample(jax.random.fold_in(key, part), size)

    @property
    def source(self) -> "Source":
        """Itself."""
        return self

    def init(self, functions: Function, key: PRNGKeyArray, size: int) -> tuple[()]:
        """Nothing to remember."""
        return ()

    def draw(self, state: Any, functions: Function, key: PRNGKeyArray, size: int) -> tuple[Any, Batch]:
        """A batch, whatever the functions are."""
        return state, self.sample(key, size)

    @property
    def domain(self) -> Domain | None:
        """Where points can be drawn at will."""
        return None

    @property
    def density(self) -> Component | None:
        """The density that points have."""
        return None

    @property
    def is_endless(self) -> bool:
        """Whether it is no data, so that results may keep it to draw more points."""
        return self.domain is not None or self.density is not None

    @property
    def rows(self) -> Float[np.ndarray, "rows d"] | None:
        """All points, in float64."""
        return None

    @property
    def graph(self) -> "WholeGraph | None":
        """All nodes and edges."""
        return None

    @property
    def steps(self) -> "TransitionData | None":
        """All steps."""
        return None

    @property
    def numbered(self) -> bool:
        """Whether nodes or states are known by their number alone."""
        return False

    @property
    def episodes(self) -> Sequence[Float[np.ndarray, "_ d"]] | None:
        """All series."""
        return None

    @property
    def held_out(self) -> "Source | None":
        """More of the same that nothing is trained on."""
        return None

    @property
    def in_order(self) -> Iterator[Batch] | None:
        """Batches of one size, enough to tell the scatter over time."""
        return None
