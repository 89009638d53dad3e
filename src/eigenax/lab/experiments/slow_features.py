"""Experiments that learn slow features of video with a convolution: their settings and their training."""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from eigenax.errors import InputError
from eigenax.lab.experiment import Experiment
from eigenax.lab.experiments.published import check_averaging, spin

if TYPE_CHECKING:
    import numpy as np

    from eigenax.lab.baselines.linear_sfa import Classical
    from eigenax.modes import Modes
    from eigenax.networks.base import Network
    from eigenax.solvers.spin import SpIN
    from eigenax.sources.time_series import TimeSeries

HELD_OUT_SEED = 1 << 16
"""Added to the seed for what nothing is trained on."""

SLOWER = 0.98
"""Classical features are offered when their values sum to less than this share of those that were learned."""


class Offer(NamedTuple):
    """Features that are better than those learned, where they are saved, and what is to be said of them."""

    modes: "Modes"
    file: Path
    said: str


@dataclasses.dataclass(frozen=True)
class SlowFeatures(Experiment):
    """Settings and training of a network that looks at successive frames."""

    kernel: ClassVar[int] = 5
    """Side of the convolutions' kernels."""
    noun: ClassVar[str] = "feature"
    values: ClassVar[str] = "Slowness"
    reading: ClassVar[str] = (
        "Slowness Δ of a feature is E[(y(t+1) − y(t))²] / Var[y]: 0 never changes, 2 is noise. Learned is on clips of "
        "the video that was trained on, with its standard error; held out is on video that nothing was trained on, and "
        "so are the classical ways, which learn from the same video."
    )

    n: int = 12
    """Number of features; the constant one is not counted."""
    clips: int = 96
    """Clips in a batch."""
    length: int = 10
    """Points of a clip, each made of successive frames."""
    channels: str = "32,64,64"
    """Feature maps of each convolution, with commas between them."""
    width: int = 256
    """Units of the layer after them."""
    activation: Literal["silu", "relu", "gelu", "softplus", "tanh"] = "silu"
    """Nonlinearity."""
    sparsity: Literal["none", "isolated", "paper"] = "none"
    """Block sparsity across feature maps: none, the paper's, or the same with the last layer isolated per feature."""
    optimizer: Literal["adam", "rmsprop"] = "adam"
    """Which optax optimiser takes the gradients."""
    decay: float = 0.99
    """How much of its second moment the optimiser keeps a step; it must forget more slowly than β does."""
    learning_rate: float = 1e-3
    """Learning rate at the first step."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """Whether the learning rate falls to a thousandth, along a cosine."""
    average: Literal["moments", "jacobian"] = "moments"
    """What the bias correction averages: Σ and Π, or Σ and its Jacobian as in the paper."""
    ema_rate: float = 0.05
    """β, the averaging rate, or its floor when it follows the learning rate."""
    ema_power: float = 0.5
    """β follows the learning rate to this power; 0 keeps β constant."""
    orthonormal_pull: float = 1.0
    """Pull of the raw functions towards the orthonormal ones."""
    rescale: bool = True
    """Give each feature its residual in units of the spectrum."""
    finish: Literal["eigh", "cholesky"] = "eigh"
    """Diagonalise the small matrix Λ at the end, or keep the paper's triangular orthonormalisation."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_at_least_one("clips", "width")
        self.check_positive("learning_rate", "ema_rate")
        if self.length < 2:
            raise ValueError(f"--length must be at least 2, one pair of points; got {self.length}")
        if min(self.maps) < 1:
            raise ValueError(f"--channels must be at least 1 for each convolution; got {self.channels!r}")
        check_averaging(self)

    def check_batch(self) -> None:
        """Raise `ValueError` where a batch has too few points to begin with, unless it is averaged from the start."""
        averaged = self.ema_power == 0 and self.ema_rate < 1
        if self.clips * self.length <= self.functions and not averaged:
            raise ValueError(
                f"--clips times --length must be more than the {self.functions} functions that are learned; "
                f"got {self.clips * self.length}"
            )

    @property
    def maps(self) -> tuple[int, ...]:
        """Feature maps of each convolution."""
        try:
            return tuple(int(word) for word in self.channels.split(","))
        except ValueError:
            raise ValueError(f"--channels must be numbers like 32,64,64; got {self.channels!r}") from None

    @property
    def functions(self) -> int:
        """Functions that are learned, of which the slowest are the features."""
        return self.n

    @property
    def held_out_seed(self) -> int:
        """The seed of what nothing is trained on."""
        return (self.seed + HELD_OUT_SEED) % 2**32

    def network(
        self, shape: tuple[int, int, int], centre: float = 0.0, scale: float = 1.0, coarse: int = 1
    ) -> "Network":
        """The paper's convolution, of pixels made coarser and scaled first, with a constant before its outputs."""
        import equinox as eqx
        import jax

        from eigenax.networks.base import Compose, WithConstant
        from eigenax.networks.conv import Conv
        from eigenax.networks.features import CoarsePixels, ScaledPixels
        from eigenax.solvers.default_parts import network_key

        frames, rows, columns = shape

        @eqx.filter_jit  # one program instead of one for each array
        def made(key: jax.Array) -> Conv:
            return Conv(
                (frames, rows // coarse, columns // coarse),
                self.functions,
                channels=self.maps,
                kernel=self.kernel,
                width=self.width,
                activation=self.activation,
                sparsity=self.sparsity,
                image_gradients=self.average == "jacobian",
                key=key,
            )

        try:
            conv = made(network_key(self.seed))
        except ValueError as error:  # too few maps or units for block sparsity, or too few pixels
            seen = f", --coarse {coarse}" if coarse > 1 else ""
            raise InputError(f"--channels {self.channels}, --width {self.width}{seen}: {error}") from error
        return WithConstant(Compose(CoarsePixels(coarse), Compose(ScaledPixels(centre, scale), conv)))

    def solver(self) -> "SpIN":
        """SpIN, with β constant or following the learning rate."""
        import optax

        learning_rate = optax.constant_schedule(self.learning_rate)
        if self.schedule == "cosine":
            learning_rate = optax.cosine_decay_schedule(self.learning_rate, self.steps, 1e-3)
        return spin(self, learning_rate, self.clips)

    def train(self, source: "TimeSeries", network: Any, samples: int, folder: Path, progress: bool) -> "Modes":
        """The slowest features, ordered and orthonormal on `samples` clips of the source, without the constant."""
        import eigenax

        try:
            modes = eigenax.solve(
                eigenax.Slowness(),
                source,
                self.functions + 1,
                network=network,
                solver=dataclasses.replace(self.solver(), samples=samples),
                max_steps=self.steps,
                seed=self.seed,
                checkpoint_dir=folder,
                progress=progress,
            )
        except ValueError as error:  # what only the solver could see, such as too few different frames
            raise InputError(str(error)) from error
        return modes[1 : self.n + 1]

    def offered(
        self, own: "np.ndarray", ways: "dict[str, Classical]", source: "Callable[[str], TimeSeries]", folder: Path
    ) -> "Offer | None":
        """The best of the classical ways, saved in the folder, if it is slower on held-out time than our features."""
        sums = {name: total for name, way in ways.items() if math.isfinite(total := float(way.slowness.sum()))}
        best = min(sums, key=lambda name: sums[name], default="")
        if not best or own.sum() * SLOWER <= sums[best]:
            return None
        modes, file = ways[best].modes(best, source(best), self.seed), folder / f"{best.replace(' ', '-')}.safetensors"
        modes.save(file)
        return Offer(
            modes,
            file,
            f"{best} is slower on held-out time: its values sum to {sums[best]:.3g}, those learned to {own.sum():.3g}. "
            f"It is saved too: eigenax.load('{file}')",
        )
