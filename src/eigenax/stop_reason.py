"""Why a run ended."""

import enum


class StopReason(enum.StrEnum):
    """Why a run ended; the value says it in words.

    >>> StopReason.TOL.value
    'the errors are within tol'
    """

    TOL = "the errors are within tol"
    STALLED = "the residuals no longer fall"
    MAX_STEPS = "all steps were taken"
    EXACT = "what the functions miss is less than a millionth"
    DECOMPOSED = "the matrix of all nodes was decomposed"
    SPANNED = "on these data, further basis functions depend linearly on the others"
    HELD_OUT = "a larger basis does no better on held-out data"
    OVERFITS = "more steps do no better on held-out data"
    LARGEST_BASIS = "there is no further basis to try"

    @property
    def advice(self) -> str:
        """What to try if results are not good enough."""
        return ADVICE.get(self, "a larger basis or batch, or another solver")


ADVICE = {
    StopReason.LARGEST_BASIS: "a larger basis, or another solver",
    StopReason.MAX_STEPS: "more steps",
    StopReason.HELD_OUT: "more data",
    StopReason.OVERFITS: "more data",
    StopReason.SPANNED: "more data",
    StopReason.DECOMPOSED: "more data; if nodes are known by features, features that tell all of them apart",
    StopReason.EXACT: "more points, or a larger tol",
}
"""What to try after each of these endings."""
