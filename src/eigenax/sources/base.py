"""The source, which draws batches of points, and the sampler, which may look at the functions as it draws."""

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
    """A density whose points are made from uniform numbers: `Box`, `Gaussian`, `Radial`, `LogUniformRadius`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one point."""
        ...

    @property
    def n_uniforms(self) -> int:
        """How many numbers between 0 and 1 make one point."""
        ...

    def icdf(self, uniform: Float[Array, "b m"]) -> Float[Array, "b d"]:
        """Turn numbers between 0 and 1 into points."""
        ...

    def density(self, x: Float[Array, "b d"]) -> Float[Array, " b"]:
        """The probability density of these points at x."""
        ...


T = TypeVar("T")


class HostData(Generic[T]):
    """All the data of a source, beside the arrays that compiled programs use; made when first asked for.

    Programs never look inside. All `HostData` therefore compare equal, so that a program is compiled once for all data
    of one shape.
    """

    def __init__(self, make: Callable[[], T]):
        self._make = make

    @cached_property
    def data(self) -> T:
        """The data as given, in float64."""
        return self._make()

    def __reduce__(self) -> tuple[Any, ...]:
        return _holding, (self.data,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostData)

    def __hash__(self) -> int:
        return hash(HostData)


def _holding(data: Any) -> HostData:
    """What unpickling calls."""
    return HostData(lambda: data)


class Sampler(eqx.Module):
    """Draws the batches of a training run, inside its compiled loop.

    What it must remember is part of the run's state. `source` has the same inner product, and results are measured on
    it.
    """

    local_only: ClassVar[bool] = False
    """Whether the points of a batch depend on each other, which only local operators allow."""

    @property
    @abstractmethod
    def source(self) -> "Source":
        """The source of independent points."""

    @abstractmethod
    def init(self, functions: Function, key: PRNGKeyArray, size: int) -> Any:
        """The state before the first batch, a tree of arrays; each batch has `size` draws."""

    @abstractmethod
    def draw(self, state: Any, functions: Function, key: PRNGKeyArray, size: int) -> tuple[Any, Batch]:
        """The next state, and a batch for training these functions."""

    def measured(self, state: Any, functions: Function, key: PRNGKeyArray) -> "Source":
        """The source that trained functions are measured on."""
        return self.source


class Source(Sampler):
    """Draws batches of `Points` or `Pairs` as a function of a key alone: a sampler without a state.

    A source declares in properties what else is known of it, and solvers ask for what they need. A property is None,
    or False, where it does not apply:

    | property | what it is |
    |---|---|
    | `domain` | the domain, such as a `Box`, on which points can be drawn at will |
    | `density` | the probability density of the points, from which evenly spread points can be drawn |
    | `rows` | all points, as rows of numbers of equal weight |
    | `graph` | all nodes, as rows of numbers, and all edges |
    | `steps` | all recorded steps of a process from one row of numbers to the next |
    | `numbered` | whether these rows are mere numbers of nodes or states, and no features |
    | `episodes` | all time series, as rows of numbers |
    | `held_out` | a source of held-out data: functions are judged on it and never trained on it |
    | `in_order` | batches of all the data, in order of time |
    """

    draws: ClassVar[type[Points] | type[Pairs]] = Points
    up_to_a_factor: ClassVar[bool] = False
    """Whether weighted means are those of the inner product only up to a factor, which no eigenvalue depends on."""
    few_operations: ClassVar[bool] = False
    """Whether points are simple functions of random numbers: a program that draws them is then compiled in a hurry."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of one point."""

    @abstractmethod
    def sample(self, key: PRNGKeyArray, size: int) -> Batch:
        """A batch of `size` draws; the same key gives the same batch."""

    def sample_qmc(self, key: PRNGKeyArray, size: int, part: int | Int[Array, ""] = 0) -> Batch:
        """A quasi-Monte Carlo batch: its points fill the domain evenly, for means over single points.

        The parts 0, 1, 2 … of one key together fill it evenly, too. Unless overridden, draws are independent instead.
        """
        return self.sample(jax.random.fold_in(key, part), size)

    @property
    def source(self) -> "Source":
        """The source itself."""
        return self

    def init(self, functions: Function, key: PRNGKeyArray, size: int) -> tuple[()]:
        """An empty state: there is nothing to remember."""
        return ()

    def draw(self, state: Any, functions: Function, key: PRNGKeyArray, size: int) -> tuple[Any, Batch]:
        """A batch that does not depend on the functions."""
        return state, self.sample(key, size)

    @property
    def domain(self) -> Domain | None:
        """The domain on which points can be drawn at will; None for data."""
        return None

    @property
    def density(self) -> Component | None:
        """The probability density of the points; None if it is not known."""
        return None

    @property
    def is_endless(self) -> bool:
        """Whether points come from a distribution, not from data: results may keep such a source to draw more."""
        return self.domain is not None or self.density is not None

    @property
    def rows(self) -> Float[np.ndarray, "rows d"] | None:
        """All points, as rows of numbers in float64."""
        return None

    @property
    def graph(self) -> "WholeGraph | None":
        """All nodes and edges of a graph."""
        return None

    @property
    def steps(self) -> "TransitionData | None":
        """All recorded steps of a process."""
        return None

    @property
    def numbered(self) -> bool:
        """Whether nodes or states are known only by their number."""
        return False

    @property
    def episodes(self) -> Sequence[Float[np.ndarray, "_ d"]] | None:
        """All time series."""
        return None

    @property
    def held_out(self) -> "Source | None":
        """A source of held-out data, which nothing is trained on."""
        return None

    @property
    def in_order(self) -> Iterator[Batch] | None:
        """All the data in order of time, in batches of one size: enough of them to measure the scatter over time."""
        return None
