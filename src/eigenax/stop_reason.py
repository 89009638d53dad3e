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
    EXACT = "what is missed is less than a millionth"
    DECOMPOSED = "the matrix of all nodes was decomposed"
    SPANNED = "more functions are no further functions of what was seen"
    HELD_OUT = "more functions do no better on data that they were not found on"
    OVERFITS = "more steps do no better on data that were held out"
    LARGEST_BASIS = "there is no further basis to try"

    @property
    def advice(self) -> str:
        """What to try where results are not good enough."""
        return ADVICE.get(self, "a larger basis or batch, or another solver")


ADVICE = {
    StopReason.LARGEST_BASIS: "a larger basis, or another solver",
    StopReason.MAX_STEPS: "more steps",
    StopReason.HELD_OUT: "more data",
    StopReason.OVERFITS: "more data",
    StopReason.SPANNED: "more data",
    StopReason.DECOMPOSED: "more data; where nodes are known by features, such as tell all of them apart",
    StopReason.EXACT: "more points, or a larger tol",
}
