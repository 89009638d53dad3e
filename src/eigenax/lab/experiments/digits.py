"""Handwritten digits: the spectral embedding of held-out images, against decomposing the graph of all images."""

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from eigenax.errors import InputError
from eigenax.lab.experiment import Experiment, Outcome, Preset

if TYPE_CHECKING:
    import numpy as np

    from eigenax.estimators.spectral import SpectralEmbedding
    from eigenax.lab.baselines.nystrom import Decomposition, Likeness, Nystrom

HELD_OUT = 5
"""One image in this many is held out."""
MORE = 4
"""Number of exact eigenvalues that are shown beyond those asked for."""
MODEL = "embedding.safetensors"
"""The file of the fitted estimator in the folder of the run."""
SIZES = (1 / 8, 1 / 4, 1 / 2)
"""Numbers of cells of the smaller models that are compared, divided by the number asked for."""
LANDMARK_SIZES = 8
"""Number of Nyström models that are compared; the landmarks of the largest are all images learned from."""


@dataclasses.dataclass(frozen=True)
class Digits(Experiment):
    """Spectral embedding of 1797 handwritten digits: four fifths are learned from, the others are embedded.

    Nothing is trained. The graph of all images is decomposed afterwards, for scores alone.
    """

    name: ClassVar[str] = "digits"
    summary: ClassVar[str] = "spectral embedding of held-out digits, against the full decomposition"
    presets: ClassVar[dict[str, Preset]] = {"quick": Preset("all 1797 images, 256 cells")}
    noun: ClassVar[str] = "feature"
    reading: ClassVar[str] = (
        "Learned and exact values are eigenvalues of the graph of the images learned from; residuals are those of the "
        "functions fitted to its eigenvectors. The last column is of the larger graph of all images."
    )

    n: int = 10
    """Number of features, without the constant."""
    cells: int = 256
    """Number of softmax cells that the functions combine: the size of the model."""
    neighbors: int = 10
    """Number of nearest neighbours that each image is joined with."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_at_least_one("neighbors")
        self.check_at_least(self.n + 1, "cells")

    def run(self, folder: Path, progress: bool) -> Outcome:
        """Fit on four fifths, embed the rest, and compare with the full decomposition and with Nyström's."""
        from eigenax.bases.softmax_cells import neighbour_graph
        from eigenax.lab.baselines.nystrom import decomposed, landmarks_within
        from eigenax.lab.report.embedding import draw_embedding, draw_error_by_size, draw_spectrum
        from eigenax.lab.scores.spectrum import relative_errors

        rows, labels = _digits()
        seen, new = split(len(rows), self.seed)
        if self.n + MORE >= len(new):
            raise InputError(f"--n must be below {len(new) - MORE}, since {len(new)} images are held out; got {self.n}")
        began = time.perf_counter()
        fitted = self._fitted(rows[seen], self.cells, progress)
        seconds = time.perf_counter() - began
        fitted.save(folder / MODEL)
        size = (folder / MODEL).stat().st_size
        exact = decomposed(neighbour_graph(rows, self.neighbors), self.n + MORE)
        of_seen = decomposed(neighbour_graph(rows[seen], self.neighbors), self.n + MORE).eigenvalues
        same = self._nystrom(landmarks_within(size, rows[seen], self.n, self.seed))
        everything = self._nystrom(rows[seen])
        errors, held_out = relative_errors(fitted.eigenvalues_, of_seen[: self.n]), fitted.transform(rows[new])
        result = {
            "steps": 0,
            "stopped": fitted.modes_.stop_reason,
            **_score("", held_out, exact, new),
            **_score("nystrom_", same(rows[new]), exact, new),
            **_score("nystrom_all_", everything(rows[new]), exact, new),
            "model_bytes": size,
            "nystrom_bytes": same.model_bytes,
            "nystrom_landmarks": len(same.landmarks),
            "nystrom_all_bytes": everything.model_bytes,
            "seconds": seconds,
            "exact": of_seen[: self.n],
            "relative_errors": errors,
            "mean_relative_error": float(errors.mean()),
            "columns": {"all images": exact.eigenvalues[: self.n]},
            "eigengap": fitted.eigengap_._asdict(),
        }
        result["notes"] = [_note(result)]
        spectra = {"images learned from": of_seen, "all images": exact.eigenvalues}
        embedded = {
            "learned from": (fitted.embedding_, labels[seen]),
            "held out": (held_out, labels[new]),
        }
        figures = {
            "embedding": draw_embedding(embedded),
            "spectrum": draw_spectrum(fitted.eigenvalues_, spectra, fitted.eigengap_.after),
            "error-by-size": draw_error_by_size(
                *self._by_size(fitted, rows, (seen, new), exact, folder), "subspace distance"
            ),
        }
        return Outcome(fitted.modes_, result, figures)

    def _fitted(self, rows: "np.ndarray", cells: int, progress: bool) -> "SpectralEmbedding":
        from eigenax.estimators.spectral import SpectralEmbedding

        return SpectralEmbedding(
            self.n, n_neighbors=self.neighbors, cells=cells, random_state=self.seed, verbose=progress
        ).fit(rows)

    def _nystrom(self, landmarks: "np.ndarray") -> "Nystrom":
        from eigenax.lab.baselines.nystrom import Nystrom

        return Nystrom.of(landmarks, self.n, neighbours=self.neighbors)

    def _by_size(
        self,
        fitted: "SpectralEmbedding",
        rows: "np.ndarray",
        parts: "tuple[np.ndarray, np.ndarray]",
        exact: "Decomposition",
        folder: Path,
    ) -> tuple[list[Any], list[Any]]:
        """Size and error of models of several sizes: ours, and Nyström's."""
        import numpy as np

        from eigenax.lab.baselines.nystrom import landmarks_within
        from eigenax.lab.report.embedding import Sized

        (seen, new), file = parts, folder / f".{MODEL}"
        ours, nystrom = [], []
        smaller = sorted({max(self.n + 1, int(share * self.cells)) for share in SIZES} - {self.cells})
        for model in (*(self._fitted(rows[seen], cells, progress=False) for cells in smaller), fitted):
            model.save(file)
            ours.append(Sized(file.stat().st_size, likeness(model.transform(rows[new]), exact, new).subspace_distance))
        file.unlink()
        sizes = np.geomspace(ours[0].size, 4 * len(seen) * (rows.shape[1] + self.n + 1), LANDMARK_SIZES).astype(int)
        for size in sizes:
            there = self._nystrom(landmarks_within(int(size), rows[seen], self.n, self.seed))
            nystrom.append(Sized(there.model_bytes, likeness(there(rows[new]), exact, new).subspace_distance))
        return ours, nystrom


def _digits() -> "tuple[np.ndarray, np.ndarray]":
    """1797 images of 8 × 8 pixels between 0 and 1, and the digits that they show."""
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError as error:
        raise InputError("the digits come with scikit-learn: install the extra eigenax[estimators]") from error
    rows, labels = load_digits(return_X_y=True)
    return rows / 16, labels


def split(count: int, seed: int) -> "tuple[np.ndarray, np.ndarray]":
    """Indices of the rows to learn from, and of the rows held out, chosen at random."""
    import numpy as np

    order = np.random.default_rng(seed).permutation(count)
    return order[count // HELD_OUT :], order[: count // HELD_OUT]


def likeness(found: "np.ndarray", exact: "Decomposition", rows: "np.ndarray") -> "Likeness":
    """How similar an embedding of some rows is to that of the full decomposition."""
    from eigenax.lab.baselines.nystrom import Likeness

    return Likeness.of(found, exact.vectors[rows, : found.shape[1]])


def _score(prefix: str, found: "np.ndarray", exact: "Decomposition", rows: "np.ndarray") -> dict[str, float]:
    return {f"{prefix}{name}": value for name, value in likeness(found, exact, rows)._asdict().items()}


def _note(result: dict[str, Any]) -> str:
    return (
        f"subspace distance to the full decomposition at held-out images {result['subspace_distance']:.4f} in "
        f"{result['model_bytes']:,} bytes; Nyström in as many {result['nystrom_subspace_distance']:.4f}, with all "
        f"images learned from, {result['nystrom_all_bytes']:,} bytes, {result['nystrom_all_subspace_distance']:.4f}"
    )
