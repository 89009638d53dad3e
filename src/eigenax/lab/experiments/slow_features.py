"""Settings and training of the experiments that learn slow features of video with a convolutional network."""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from eigenax.errors import InputError
from eigenax.lab.experiment import IterativeExperiment
from eigenax.lab.experiments.training import SpINSettings

if TYPE_CHECKING:
    import numpy as np

    from eigenax.lab.baselines.classical_features import Classical
    from eigenax.modes import Modes
    from eigenax.networks.base import Network
    from eigenax.solvers.spin import SpIN
    from eigenax.sources.time_series import TimeSeries

HELD_OUT_SEED = 1 << 16
"""Added to the seed for data that is held out."""
SLOWER = 0.98
"""Classical features are offered when their slowness sums to less than this share of that of the learned ones."""


class Offer(NamedTuple):
    """Classical features that are slower than the learned ones."""

    modes: "Modes"
    file: Path
    """Where they are saved."""
    note: str
    """What the results say about them."""


@dataclasses.dataclass(frozen=True)
class SlowFeatures(IterativeExperiment):
    """Settings and training of a network that looks at successive frames."""

    kernel: ClassVar[int] = 5
    """Side of the convolutions' kernels."""
    stride: ClassVar[int] = 2
    """Stride of the convolutions: each divides the sides of an image by it, rounded up."""
    noun: ClassVar[str] = "feature"
    heading: ClassVar[str] = "Slowness"
    reading: ClassVar[str] = (
        "Slowness Δ of a feature is E[(y(t+1) − y(t))²] / Var[y]: 0 never changes, 2 is noise. The column “learned”, "
        "with its standard error, is measured on clips of the video that was trained on; “held out” is measured on "
        "other video, and so are the classical methods, which learn from the same video as the network."
    )

    n: int = 12
    """Number of features, without the constant function."""
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
    training: SpINSettings = SpINSettings()
    """How SpIN trains."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """Whether the learning rate falls to a thousandth along a cosine, or stays constant."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.training.check()
        self.check_at_least_one("clips", "width")
        if self.length < 2:
            raise ValueError(f"--length must be at least 2, one pair of points; got {self.length}")
        if min(self.maps) < 1:
            raise ValueError(f"--channels must be at least 1 for each convolution; got {self.channels!r}")

    def check_batch(self) -> None:
        """Raise `ValueError` where a batch has no more points than functions, unless the first batches are averaged."""
        averaged = self.training.ema_power == 0 and self.training.ema_rate < 1
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
        """Number of functions that are learned; the slowest of them are the features."""
        return self.n

    @property
    def held_out_seed(self) -> int:
        """The seed of data that is held out."""
        return (self.seed + HELD_OUT_SEED) % 2**32

    def network(self, shape: tuple[int, int, int], pixels: "np.ndarray | None" = None, coarse: int = 1) -> "Network":
        """The paper's convolutional network, with a constant function before its outputs.

        It sees the means of squares of `coarse` × `coarse` pixels, scaled by the mean and the standard deviation of
        `pixels` where those are given.
        """
        import jax

        from eigenax.core.compiled import for_one_run
        from eigenax.networks.base import Compose, WithConstant
        from eigenax.networks.conv import Conv
        from eigenax.networks.features import CoarsePixels, ScaledPixels
        from eigenax.solvers.default_parts import network_key

        frames, rows, columns = shape

        @for_one_run  # one program instead of one for each array
        def made(key: jax.Array) -> Conv:
            return Conv(
                (frames, rows // coarse, columns // coarse),
                self.functions,
                channels=self.maps,
                kernel=self.kernel,
                stride=self.stride,
                width=self.width,
                activation=self.activation,
                sparsity=self.sparsity,
                image_gradients=self.training.average == "jacobian",
                key=key,
            )

        try:
            conv = made(network_key(self.seed))
        except ValueError as error:  # too few maps or units for block sparsity, or too few pixels
            seen = f", --coarse {coarse}" if coarse > 1 else ""
            raise InputError(f"--channels {self.channels}, --width {self.width}{seen}: {error}") from error
        scaled = ScaledPixels(0.0, 1.0) if pixels is None else ScaledPixels.of(pixels)
        return WithConstant(Compose(CoarsePixels(coarse), Compose(scaled, conv)))

    def solver(self) -> "SpIN":
        """The SpIN solver; its averaging rate β is constant or follows the learning rate."""
        import optax

        first = self.training.learning_rate
        falling = optax.cosine_decay_schedule(first, self.steps, 1e-3)
        learning_rate = falling if self.schedule == "cosine" else optax.constant_schedule(first)
        return self.training.solver(learning_rate, self.clips)

    def train(self, source: "TimeSeries", network: Any, samples: int, folder: Path, progress: bool) -> "Modes":
        """The slowest features, ordered and orthonormal on `samples` clips of the source, without the constant."""
        import eigenax

        solver = dataclasses.replace(self.solver(), samples=samples)
        modes = self.solved(
            eigenax.Slowness(), source, folder, progress, n=self.functions + 1, network=network, solver=solver
        )
        return modes[1 : self.n + 1]

    def offer_slower(
        self, own: "np.ndarray", methods: "dict[str, Classical]", source: "Callable[[str], TimeSeries]", folder: Path
    ) -> "Offer | None":
        """Save the slowest of the classical methods in the folder if it beats the learned features on held-out time."""
        sums = {name: total for name, method in methods.items() if math.isfinite(total := float(method.slowness.sum()))}
        best = min(sums, key=lambda name: sums[name], default="")
        if not best or own.sum() * SLOWER <= sums[best]:
            return None
        modes, file = (
            methods[best].modes(best, source(best), self.seed),
            folder / f"{best.replace(' ', '-')}.safetensors",
        )
        modes.save(file)
        return Offer(
            modes,
            file,
            f"{best} is slower on held-out time: its values sum to {sums[best]:.3g}, those learned to {own.sum():.3g}. "
            f"It is saved too: eigenax.load('{file}')",
        )
