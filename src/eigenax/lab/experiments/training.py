"""The settings of SpIN in all experiments that train with it, and the paper's values of them."""

import dataclasses
from typing import TYPE_CHECKING, Literal

from eigenax.lab.experiment import Settings

if TYPE_CHECKING:
    import optax

    from eigenax.solvers.spin import SpIN


@dataclasses.dataclass(frozen=True)
class SpINSettings(Settings):
    """The optimiser, the bias correction, and how the functions are orthonormalised at the end."""

    optimizer: Literal["adam", "rmsprop"] = "adam"
    """Which optax optimiser takes the gradients."""
    decay: float = 0.99
    """Decay of the optimiser's average of squared gradients; it must remember for longer than β does."""
    learning_rate: float = 1e-3
    """Learning rate at the first step."""
    average: Literal["moments", "jacobian"] = "moments"
    """What the bias correction averages: Σ and Π, or Σ and its Jacobian as in the paper."""
    ema_rate: float = 0.05
    """β, the averaging rate, or its floor when it follows the learning rate."""
    ema_power: float = 0.5
    """β follows the learning rate to this power; 0 keeps β constant."""
    orthonormal_pull: float = 1.0
    """Pull of the raw functions towards the orthonormal ones."""
    rescale: bool = True
    """Divide residuals by the size of the spectrum, so that the unit of the operator does not matter."""
    finish: Literal["eigh", "cholesky"] = "eigh"
    """Diagonalise the small matrix Λ at the end, or keep the paper's triangular orthonormalisation."""

    def check(self) -> None:
        """Raise `ValueError` for a learning rate, an optimiser's memory or a β that make no sense."""
        self.check_positive("learning_rate", "ema_rate")
        if not 0 <= self.decay < 1:
            raise ValueError(f"--decay must be at least 0 and below 1; got {self.decay}")
        if self.ema_rate > 1:
            raise ValueError(f"--ema-rate must be at most 1, which is no averaging; got {self.ema_rate}")

    def solver(self, learning_rate: "optax.Schedule", batch: int, corrected: bool = True) -> "SpIN":
        """The SpIN solver. Without bias correction β is 1, which makes both averages the same: it takes the cheaper."""
        import optax

        from eigenax.solvers.schedules import ema_schedule
        from eigenax.solvers.spin import SpIN

        if self.optimizer == "adam":
            optimizer = optax.adam(learning_rate, b2=self.decay)
        else:
            optimizer = optax.rmsprop(learning_rate, decay=self.decay)
        average, rate = self.average, self.ema_rate
        if self.ema_power:
            rate = ema_schedule(learning_rate, power=self.ema_power, floor=self.ema_rate)
        if not corrected:
            average, rate = "moments", 1.0
        return SpIN(optimizer, average, rate, self.orthonormal_pull, self.rescale, batch=batch, finish=self.finish)


PUBLISHED = SpINSettings(
    optimizer="rmsprop",
    decay=0.999,
    learning_rate=1e-6,
    average="jacobian",
    ema_rate=0.01,
    ema_power=0.0,
    orthonormal_pull=0.0,
    rescale=False,
    finish="cholesky",
)
"""The settings common to all experiments of the paper, with the learning rate of its experiments on video."""
