"""Principal components, linear and quadratic slow features of a video, and how slow they are in another video."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num

from eigenax.core.random_streams import Stream
from eigenax.lab.baselines.by_pieces import Function, by_pieces, of_rows
from eigenax.lab.baselines.linear_sfa import moments_of
from eigenax.lab.baselines.principal_components import evenly_spread, principal_components
from eigenax.lab.scores.slowness import delta_values
from eigenax.measurement.on_samples import errors, moments
from eigenax.modes import Modes
from eigenax.networks.base import Compose
from eigenax.networks.features import Products, Projection
from eigenax.operators.slowness import Slowness
from eigenax.samples import FreshSamples
from eigenax.sources.base import Source

COMPONENTS = (12, 25, 50, 100, 200)
"""Numbers of principal components that linear slow feature analysis may combine."""
EXPANDED = (10, 20, 40)
"""Numbers of the slowest linear features whose products quadratic slow feature analysis may combine."""
CHOOSING = 0.1
"""Share of a video, at its end, on which these numbers are chosen, with features found on the rest."""
SAMPLES = 4096
"""Number of clips on which saved features are measured."""


class Video(NamedTuple):
    """A video as rows of pixels, of a frame or of several successive ones, and which rows begin an episode."""

    look: Callable[[Int[np.ndarray, " b"]], Float[Array | np.ndarray, "b m"]]
    """Returns the rows with these numbers, which count through all episodes."""
    begins: Bool[np.ndarray, " time"]

    @classmethod
    def of(cls, series: Sequence[Num[np.ndarray, "_ ..."]], frames: int) -> "Video":
        """A video of several episodes, with `frames` successive frames as one row; mapped files stay on the disk."""
        counts = [len(rows) - frames + 1 for rows in series]
        firsts = np.cumsum([0, *counts])

        def look(numbers: Int[np.ndarray, " b"]) -> Float[np.ndarray, "b m"]:
            episodes = np.searchsorted(firsts, numbers, side="right") - 1
            found = np.empty((len(numbers), frames * int(np.prod(series[0].shape[1:]))), np.float32)
            for episode in np.unique(episodes):
                here = episodes == episode
                times = (numbers[here] - firsts[episode])[:, None] + np.arange(frames)
                found[here] = series[episode][times].reshape(len(times), -1)
            return found

        return cls(look, np.isin(np.arange(firsts[-1]), firsts))


class Classical(NamedTuple):
    """Features that a classical method finds in one video, and how slow they are in another."""

    components: Projection
    """From rows to principal components."""
    after: Function
    """From these components to features."""
    slowness: Float[np.ndarray, " n"]
    """NaN for features beyond those that have enough variance."""

    def modes(self, name: str, source: Source, seed: int) -> Modes:
        """The features as functions of the points of a source, measured on that source."""
        network, operator = Compose(self.components.of(source.shape), self.after), Slowness()
        sigma, pi, _ = moments(network, operator, FreshSamples(source, seed, Stream.FINDING, SAMPLES))
        values = np.diag(pi) / np.diag(sigma)
        scatter, residuals = errors(network, values, operator, FreshSamples(source, seed, Stream.MEASURING, SAMPLES))
        unknown = np.full(len(values), np.nan)
        return Modes(
            network, np.eye(len(values)), values, scatter, unknown, residuals, source.shape, seed=seed, solver=name
        )


def classical_features(seen: Video, other: Video, n: int, progress: bool = False) -> dict[str, Classical]:
    """The n features that each of three methods finds in one video, and their slowness in another.

    PCA: the first n principal components. Linear SFA: the slowest combinations of more of them. Quadratic SFA: the
    slowest combinations of the products of some of the slowest linear features. How many are combined is chosen on the
    last tenth of the video, by the slowness there of features found on the rest.
    """
    components = principal_components(seen.look(evenly_spread(len(seen.begins))), max(n, *COMPONENTS))
    rows, other_rows = (
        by_pieces(_to_components(video, components), len(video.begins), progress) for video in (seen, other)
    )
    part = len(rows) - int(CHOOSING * len(rows))
    found_in = {stop: moments_of(rows[:stop], seen.begins[:stop]) for stop in (part, len(rows))}

    def best(keeps: Sequence[int], found: Callable[[int, int], Function]) -> tuple[int, Function]:
        """How many columns to keep, as chosen on the last part, and the features found in so many of all rows."""
        scores = {}
        for keep in sorted({min(max(n, keep), rows.shape[1]) for keep in keeps}):
            values = _slowness(found(keep, part), rows[part:], seen.begins[part:], n)
            scores[keep] = np.isnan(values).sum(), np.nansum(values)
        keep = min(scores, key=lambda keep: scores[keep])
        return keep, found(keep, len(rows))

    def products(keep: int, stop: int) -> Function:
        expand = Compose(found_in[stop].slowest(keep, max(keep, kept)), Products())
        return Compose(expand, moments_of(rows[:stop], seen.begins[:stop], expand).slowest(n))

    kept, linear = best(COMPONENTS, lambda keep, stop: found_in[stop].slowest(n, keep))
    found = {
        "PCA": found_in[len(rows)].one_by_one(n),
        "linear SFA": linear,
        "quadratic SFA": best(EXPANDED, products)[1],
    }
    return {
        name: Classical(components, function, _slowness(function, other_rows, other.begins, n))
        for name, function in found.items()
    }


def _slowness(
    function: Function, rows: Float[np.ndarray, "time m"], begins: Bool[np.ndarray, " time"], n: int
) -> Float[np.ndarray, " n"]:
    """The slowness of n features over all episodes; NaN for missing features, and where no episode has two rows."""
    if begins[1:].all():
        return np.full(n, np.nan)
    values = delta_values(np.split(of_rows(function, rows), np.flatnonzero(begins[1:]) + 1))
    return np.pad(values, (0, n - len(values)), constant_values=np.nan)


def _to_components(video: Video, components: Projection) -> Callable[[Int[np.ndarray, " b"]], Array]:
    return lambda numbers: components(video.look(numbers))
