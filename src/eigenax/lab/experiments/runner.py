"""Run an experiment in its folder and write down what it found."""

import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from eigenax.lab.experiment import Experiment, Outcome
from eigenax.lab.experiments.folder import FIGURES, RESULT, plain


def execute(experiment: Experiment, folder: Path, progress: bool = True) -> dict[str, Any]:
    """Train or resume training, measure, and write modes, figures, result.json and the page; return the result."""
    from eigenax.io.checkpoint import checkpoints
    from eigenax.io.files import write_atomically
    from eigenax.lab.report.page import write_page
    from eigenax.modes_file import FILE

    began, resumed = time.perf_counter(), bool(checkpoints(folder / "checkpoints"))
    outcome = experiment.run(folder, progress)
    outcome.modes.save(folder / FILE)
    captions = _save_figures(outcome, folder)
    elapsed = time.perf_counter() - began
    result = plain(_result(experiment, outcome, elapsed) | {"resumed": resumed, "figures": captions})
    write_atomically(folder / RESULT, json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    write_page(folder, experiment, result)
    return result


def _result(experiment: Experiment, outcome: Outcome, elapsed: float) -> dict[str, Any]:
    modes, own = outcome.modes, outcome.result
    return {
        "experiment": experiment.name,
        "preset": experiment.preset,
        "seed": experiment.seed,
        "steps": modes.steps,
        "wall_seconds": elapsed,
        "device": _device(),
        "eigenvalues": modes.eigenvalues,
        "standard_errors": modes.standard_errors,
        "residuals": modes.residuals,
        "unconverged": modes.unconverged,
    } | own


def _device() -> str:
    import jax

    device = jax.devices()[0]
    kind = f"{os.cpu_count()} CPU cores ({platform.machine()})" if device.platform == "cpu" else device.device_kind
    return f"{kind}, jax {jax.__version__}"


def _save_figures(outcome: Outcome, folder: Path) -> dict[str, str]:
    from eigenax.io.files import make_folder, write_atomically
    from eigenax.lab.report.style import to_png

    make_folder(folder / FIGURES)
    for name, (figure, _) in outcome.figures.items():
        write_atomically(folder / FIGURES / f"{name}.png", to_png(figure))
    return {name: caption for name, (_, caption) in outcome.figures.items()}
