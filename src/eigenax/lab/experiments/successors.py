"""The settings and the training of successor features, which slow features are compared with."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from eigenax.errors import InputError
from eigenax.lab.experiment import Settings

if TYPE_CHECKING:
    import numpy as np

    from eigenax.lab.baselines.predictor import Predictor
    from eigenax.lab.datasets.gameplay import Gameplay


@dataclasses.dataclass(frozen=True)
class SuccessorSettings(Settings):
    """The network of the successor features and its training."""

    successor_steps: int = 300_000
    """Training steps of the successor features."""
    successor_batch: int = 32
    """Transitions in a batch of the successor features."""
    successor_learning_rate: float = 1e-4
    """Learning rate of the successor features, of RMSProp."""
    successor_maps: int = 64
    """Feature maps of each convolution of the successor features."""
    successor_width: int = 1024
    """Units of the dense layers of the successor features."""
    latent: int = 2048
    """Length of the latent code that predicts the next frame; each of its entries has a successor feature."""
    target_every: int = 10_000
    """Steps between two updates of the target network, with which successor features are compared."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        self.check_at_least_one(
            "successor_steps", "successor_batch", "successor_maps", "successor_width", "latent", "target_every",
        )  # fmt: skip
        self.check_positive("successor_learning_rate")

    def network(self, side: int, actions: int, seed: int) -> "Predictor":
        """The untrained network, for frames of this side and a game with these actions."""
        from eigenax.core.compiled import for_one_run
        from eigenax.core.random_streams import Stream, stream
        from eigenax.lab.baselines.predictor import Predictor

        return for_one_run(Predictor)(  # one program instead of one for each array
            side, actions, maps=self.successor_maps, width=self.successor_width, latent=self.latent,
            key=stream(seed, Stream.SUCCESSOR),
        )  # fmt: skip

    def check_network(self, side: int) -> None:
        """Refuse a network that cannot be made; only its shapes are computed."""
        import equinox as eqx

        try:
            eqx.filter_eval_shape(self.network, side, 1, 0)
        except (ValueError, MemoryError) as error:
            raise InputError(
                f"--successor-maps {self.successor_maps}, --successor-width {self.successor_width}, "
                f"--latent {self.latent}: {error}"
            ) from error

    def learned(self, seen: "Gameplay", frames: "np.ndarray", seed: int, folder: Path, progress: bool) -> "np.ndarray":
        """Learn from gameplay, and return the successor features of all frames of other games."""
        from eigenax.lab.baselines.agent_steps import STACK, AgentSteps
        from eigenax.lab.baselines.successor import learn_successors
        from eigenax.over_time import values_over

        fresh = self.network(seen.frames.shape[1], int(seen.actions.max()) + 1, seed)
        network = learn_successors(
            AgentSteps(seen.frames, seen.actions, seen.starts), fresh, folder,
            steps=self.successor_steps, batch=self.successor_batch, learning_rate=self.successor_learning_rate,
            target_every=self.target_every, seed=seed, progress=progress,
        )  # fmt: skip
        return values_over(network, frames, n_stack=STACK, progress=progress)
