"""What experiments that train with SpIN share: the solver from their settings, checks of these, the paper's values."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import optax

    from eigenax.experiments.slow_features import SlowFeatures
    from eigenax.experiments.trained_atom import TrainedAtom
    from eigenax.solvers.spin import SpIN

PUBLISHED: dict[str, Any] = {
    "sparsity": "paper",
    "optimizer": "rmsprop",
    "decay": 0.999,
    "average": "jacobian",
    "rate": 0.01,
    "rate_power": 0.0,
    "gauge": 0.0,
    "rescale": False,
    "finish": "triangular",
}
"""The settings that all experiments of the paper have in common."""


def check_averaging(settings: "TrainedAtom | SlowFeatures") -> None:
    """Raise `ValueError` for an optimiser's memory or a β that make no sense."""
    if not 0 <= settings.decay < 1:
        raise ValueError(f"--decay must be at least 0 and below 1; got {settings.decay}")
    if settings.rate > 1:
        raise ValueError(f"--rate must be at most 1, which is no averaging; got {settings.rate}")


def spin(
    settings: "TrainedAtom | SlowFeatures", learning_rate: "optax.Schedule", batch: int, corrected: bool = True
) -> "SpIN":
    """SpIN; without correction both averages are the same, and moments are the cheaper one."""
    import optax

    from eigenax.solvers.schedules import following
    from eigenax.solvers.spin import SpIN

    if settings.optimizer == "adam":
        optimizer = optax.adam(learning_rate, b2=settings.decay)
    else:
        optimizer = optax.rmsprop(learning_rate, decay=settings.decay)
    measured = {"batch": batch, "finish": settings.finish}
    if not corrected:
        return SpIN(optimizer, "moments", 1.0, settings.gauge, settings.rescale, **measured)
    follows = settings.rate_power != 0
    rate = following(learning_rate, power=settings.rate_power, floor=settings.rate) if follows else settings.rate
    return SpIN(optimizer, settings.average, rate, settings.gauge, settings.rescale, **measured)
