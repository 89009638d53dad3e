"""What experiments that train with SpIN share: the solver from their settings, checks of these, the paper's values."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import optax

    from eigenax.lab.experiments.slow_features import SlowFeatures
    from eigenax.lab.experiments.trained_atom import TrainedAtom
    from eigenax.solvers.spin import SpIN

PUBLISHED: dict[str, Any] = {
    "sparsity": "paper",
    "optimizer": "rmsprop",
    "decay": 0.999,
    "average": "jacobian",
    "ema_rate": 0.01,
    "ema_power": 0.0,
    "orthonormal_pull": 0.0,
    "rescale": False,
    "finish": "cholesky",
}
"""The settings that all experiments of the paper have in common."""


def check_averaging(settings: "TrainedAtom | SlowFeatures") -> None:
    """Raise `ValueError` for an optimiser's memory or a β that make no sense."""
    if not 0 <= settings.decay < 1:
        raise ValueError(f"--decay must be at least 0 and below 1; got {settings.decay}")
    if settings.ema_rate > 1:
        raise ValueError(f"--ema-rate must be at most 1, which is no averaging; got {settings.ema_rate}")


def spin(
    settings: "TrainedAtom | SlowFeatures", learning_rate: "optax.Schedule", batch: int, corrected: bool = True
) -> "SpIN":
    """SpIN; without correction both averages are the same, and moments are the cheaper one."""
    import optax

    from eigenax.solvers.schedules import ema_schedule
    from eigenax.solvers.spin import SpIN

    if settings.optimizer == "adam":
        optimizer = optax.adam(learning_rate, b2=settings.decay)
    else:
        optimizer = optax.rmsprop(learning_rate, decay=settings.decay)
    measured = {"batch": batch, "finish": settings.finish}
    if not corrected:
        return SpIN(optimizer, "moments", 1.0, settings.orthonormal_pull, settings.rescale, **measured)
    follows = settings.ema_power != 0
    rate = (
        ema_schedule(learning_rate, power=settings.ema_power, floor=settings.ema_rate) if follows else settings.ema_rate
    )
    return SpIN(optimizer, settings.average, rate, settings.orthonormal_pull, settings.rescale, **measured)
