"""−kinetic ∇² + V for a V from a user's own file: what `eigenax solve` runs."""

import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from eigenax.lab.experiment import parse_boundaries, parse_numbers
from eigenax.lab.experiments.physics import Physics

if TYPE_CHECKING:
    from eigenax.domains.box import Box
    from eigenax.operators.base import Operator

LOOKED_AT = 64
"""Number of points at which V is evaluated before anything is written."""


@dataclasses.dataclass(frozen=True)
class UserPotential(Physics):
    """The lowest states of −kinetic ∇² + V in a box, V a function of your own.

    V takes a point, an array of shape (dims,), and returns one number, with jax.numpy:
    `eigenax solve --potential wells.py:V --dims 2 --low -8 --high 8 --n 6`.
    """

    name: ClassVar[str] = "solve"
    summary: ClassVar[str] = "a potential of your own"
    command: ClassVar[tuple[str, ...]] = ("solve",)

    n: int = 6
    """Number of modes."""
    potential: str = ""
    """FILE.py:function; the name can be left out where the file has one function."""
    dims: int = 1
    """Number of dimensions."""
    low: str = ""
    """Lower end of the box: one number for all axes, or one for each with commas between them."""
    high: str = ""
    """Upper end of the box, in the same way."""
    kinetic: float = 1.0
    """What multiplies −∇²: 0.5 is ħ²/2m in units of ħ = m = 1."""
    boundary: str = "dirichlet"
    """At the faces: dirichlet (zero), neumann (no slope) or periodic; dirichlet,periodic for each axis;
    dirichlet:neumann for each face of one."""
    singularity: tuple[str, ...] = ()
    """A point like "0,0" where V is infinite, such as a nucleus; once for each."""

    def resolved(self) -> Self:
        """The same settings with the absolute path of the file and the name of the function."""
        path, name, _ = self._found
        return dataclasses.replace(self, potential=f"{path.resolve()}:{name}")

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_at_least_one("dims")
        self.check_positive("kinetic")
        parse_boundaries(self.boundary, self.dims)
        for name in ("low", "high"):
            if not getattr(self, name):
                raise ValueError(f"--{name} is needed: the box in which to look for states")
        for low, high in zip(
            *(parse_numbers(name, getattr(self, name), self.dims) for name in ("low", "high")), strict=True
        ):
            if low >= high:
                raise ValueError(f"--low must be below --high on every axis; got {self.low} and {self.high}")
        for point in self.singularity:
            if len(parse_numbers("singularity", point, self.dims)) != point.count(",") + 1:
                raise ValueError(f"--singularity must have {self.dims} numbers; got {point!r}")
        self._try_out()

    def _try_out(self) -> None:
        """Evaluate V at a few points, as the solver will."""
        import jax

        import eigenax

        operator, batch = self.operator(), eigenax.Uniform(self.domain()).sample(jax.random.key(0), LOOKED_AT)
        try:
            operator.check(batch)
        except Exception as error:
            said = str(error).strip().split("\n")[0]
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            raise ValueError(f"{self.potential}: {kind}{said}") from error

    @property
    def _found(self) -> tuple[Path, str, Callable]:
        return find_function(self.potential)

    def operator(self) -> "Operator":
        """−kinetic ∇² + V."""
        import eigenax

        points = [parse_numbers("singularity", point, self.dims) for point in self.singularity]
        return -self.kinetic * eigenax.Laplacian() + eigenax.Potential(self._found[2], singularities=points)

    def domain(self) -> "Box":
        """The box."""
        import eigenax

        low, high = (parse_numbers(name, getattr(self, name), self.dims) for name in ("low", "high"))
        return eigenax.Box(low, high, boundary=parse_boundaries(self.boundary, self.dims))

    def exact(self) -> None:
        """None: the exact values are not known."""


def find_function(place: str) -> tuple[Path, str, Callable]:
    """The file, the name and the function that FILE.py:function stands for; `ValueError` says what is wrong."""
    if not place:
        raise ValueError("--potential FILE.py:function is needed: a function of one point that returns one number")
    file, colon, name = place.rpartition(":")
    path = Path(file if colon else place)
    if not path.is_file():
        raise ValueError(f"--potential: there is no file {path}")
    content = _executed(path)
    functions = {
        key: value
        for key, value in content.items()
        if inspect.isfunction(value) and value.__module__ == content["__name__"] and not key.startswith("_")
    }
    there = f"there are: {', '.join(functions)}" if functions else "there are no functions in it"
    if not colon:
        if len(functions) != 1:
            raise ValueError(f"--potential: say which function of {path}, as {path}:NAME; {there}")
        name = next(iter(functions))
    if name not in content:
        raise ValueError(f"--potential: {path} has no function {name!r}; {there}")
    if not callable(content[name]):
        raise ValueError(f"--potential: {name} in {path} is not a function; {there}")
    return path, name, content[name]


def _executed(path: Path) -> dict[str, Any]:
    """Run a Python file and return the names that it defines."""
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ValueError(f"--potential: {path} is not Python: {error}") from error
    except (Exception, SystemExit) as error:
        raise ValueError(f"--potential: {path} cannot be loaded: {type(error).__name__}: {error}") from error
    return module.__dict__
