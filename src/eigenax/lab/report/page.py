"""report.html: everything that a run found on one page, in a single file."""

import base64
import functools
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, select_autoescape

from eigenax import __version__
from eigenax.errors import RunError
from eigenax.io.files import write_atomically
from eigenax.lab.experiment import flag
from eigenax.lab.report.digits import FEWEST, FEWEST_IN_UNITS, decimals, rounded

if TYPE_CHECKING:
    from eigenax.lab.experiment import Experiment


def write_page(folder: Path, experiment: "Experiment", result: dict[str, Any]) -> Path:
    """Write the page of a finished run into its folder."""
    environment = Environment(
        loader=PackageLoader("eigenax.lab", "report"), autoescape=select_autoescape(["j2", "html"])
    )
    fewest = FEWEST_IN_UNITS if result.get("unit") else FEWEST
    page = environment.get_template("page.html.j2").render(
        version=__version__,
        summary=experiment.summary,
        noun=experiment.noun,
        heading=experiment.heading,
        reading=experiment.reading,
        settings=[(name, _shown(value)) for name, value in experiment.flat().items()],
        result=result,
        rows=mode_rows(result),
        figures=[(caption, _embedded(folder / "figures" / f"{n}.png")) for n, caption in result["figures"].items()],
        command=command(experiment),
        value=functools.partial(rounded, places=decimals(result["standard_errors"], fewest)),
        excitation=functools.partial(
            rounded, places=decimals(result.get("excitations", {}).get("standard_errors", []), fewest)
        ),
    )
    path = folder / "report.html"
    write_atomically(path, page)
    return path


def _shown(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, tuple) else value


def command(experiment: "Experiment") -> str:
    """The command that repeats a run: its preset, its seed, and what differs from the preset."""
    first = [word for name in experiment.positional for word in getattr(experiment, name)]
    words = ["eigenax", *experiment.command, *first, "--preset", experiment.preset, "--seed", str(experiment.seed)]
    usual = experiment.with_preset(experiment.preset).flat()
    for name, value in experiment.flat().items():
        if name in {"seed", *experiment.positional} or value == usual[name]:
            continue
        if isinstance(value, bool):
            words.append(f"--{flag(name)}" if value else f"--no-{flag(name)}")
        else:
            for item in value if isinstance(value, tuple) else (value,):
                words += [f"--{flag(name)}", str(item)]
    return shlex.join(words)


def mode_rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each mode, without the columns for which a run has no values."""
    columns = {
        "eigenvalue": result["eigenvalues"],
        "standard_error": result["standard_errors"],
        "residual": result["residuals"],
        "exact": result.get("exact"),
        "relative_error": result.get("relative_errors"),
        "grid": result.get("grid_eigenvalues"),
        "uncorrected": result.get("uncorrected", {}).get("eigenvalues"),
    }
    known = {name: values for name, values in columns.items() if values is not None}
    if set(result["residuals"]) == {None}:
        del known["residual"]
    return [{name: values[k] for name, values in known.items()} for k in range(len(result["eigenvalues"]))]


def _embedded(path: Path) -> str:
    if not path.is_file():
        raise RunError(f"{path} is missing: the page shows it; run the experiment again in another folder")
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
