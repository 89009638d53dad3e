"""What `eigenax slow` says of features that may not be what they seem: one sentence each."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

CLOCK_SHARE = 0.98
"""R² of a feature and a cosine of time from which on a warning says that the feature may only tell the time."""
STILL_VARIANCE = 0.01
"""Variance in new files below which a feature hardly varies there; where it was learned, its variance is one."""
TOO_FAST = 3.0
"""Mean squared change between held-out rows, divided by the learned one, from which on there is a warning."""


def kept_step_note(metrics: list[dict[str, Any]]) -> list[str]:
    """A note that says which step's network was kept, if it is not that of the last step."""
    last = metrics[-1]
    if last["step"] == last.get("kept_step", last["step"]):
        return []
    return [
        f"the features are those of step {last['kept_step']} of {last['step']}: later ones are faster on frames "
        "that were held out to judge the training by"
    ]


def clock_warning(features: "np.ndarray") -> list[str]:
    """A warning where the first features of a single film are functions of time alone."""
    from eigenax.lab.scores.slowness import clock_shares

    shares = clock_shares(features)
    count = next((k for k, share in enumerate(shares) if share < CLOCK_SHARE), len(shares))
    if not count:
        return []
    which = "the first feature is a cosine" if count == 1 else f"the first {count} features are cosines"
    return [
        f"{which} of the time of this film (R² {shares[:count].min():.3f}), as of any film in which nothing comes "
        "back: they tell when a frame was, and perhaps nothing of what is in it; give several films, or a longer one"
    ]


def still_warning(features: "list[np.ndarray]") -> list[str]:
    """A warning where features hardly vary; where they were learned, their variance is one."""
    import numpy as np

    variances = np.concatenate(features).var(0)
    still = np.flatnonzero(variances < STILL_VARIANCE)
    if not len(still):
        return []
    which = (
        f"feature {still[0] + 1} hardly varies"
        if len(still) == 1
        else (f"features {', '.join(str(k + 1) for k in still)} hardly vary")
    )
    return [
        f"{which} in these files (variance {variances[still].max():.1g}, 1 where learned): nothing that was learned "
        "changes here, and slowness tells nothing"
    ]


def overfitting_warning(held_out: "list[np.ndarray]", learned: "np.ndarray", n_stack: int) -> list[str]:
    """A warning where features change much faster on held-out time than where they were learned.

    Mean squared changes are compared and not slowness, which divides them by the variance: a feature so slow that it
    hardly varies within the held-out part would seem fast.
    """
    import numpy as np

    changes = np.concatenate([np.diff(one, axis=0) for one in held_out])
    times = float(np.median((changes**2).mean(0) / np.maximum(learned, 1e-12)))
    if times < TOO_FAST:
        return []
    advice = "take fewer --steps or a smaller --n" if n_stack == 2 else "take a smaller --n"
    return [
        f"from one held-out row to the next the features change {times:.2g} times as much, squared, as where they were "
        f"learned: they overfit the rows learned from, or later rows are different; give more rows, or {advice}"
    ]
