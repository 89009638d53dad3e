"""The table of eigenvalues in the terminal."""

from typing import Any

from rich.console import Console
from rich.table import Table

from eigenax.lab.report.digits import FEWEST, FEWEST_IN_UNITS, decimals, rounded


def print_table(result: dict[str, Any], noun: str) -> None:
    """Print one row for each mode or feature, with the columns that the result has."""
    exact, errors, more = result.get("exact"), result.get("relative_errors"), result.get("columns", {})
    unconverged = result.get("unconverged") or [False] * len(result["eigenvalues"])
    with_residuals = set(result["residuals"]) != {None}
    table = Table(box=None, header_style="bold", padding=(0, 1))
    for column in (
        noun,
        "learned",
        "± std. error",
        *(("residual",) if with_residuals else ()),
        *((result.get("reference", "exact"), "relative error") if exact is not None else ()),
        *more,
        *([""] if any(unconverged) else ()),
    ):
        table.add_column(column, justify="right", vertical="bottom")
    fewest = FEWEST_IN_UNITS if result.get("unit") else FEWEST
    digits = decimals(result["standard_errors"], fewest)
    columns = (result[name] for name in ("eigenvalues", "standard_errors", "residuals"))
    for k, (value, error, residual) in enumerate(zip(*columns, strict=True)):
        row = [str(k + 1), rounded(value, digits), "–" if error is None else f"{error:.1g}"]
        if with_residuals:
            row.append("" if residual is None else f"{residual:.1g}")
        if exact is not None and errors is not None:
            row += [rounded(exact[k], digits), f"{errors[k]:.1e}"]
        table.add_row(
            *row,
            *("–" if values[k] is None else f"{values[k]:.3g}" for values in more.values()),
            *(["*"] if unconverged[k] else ()),
        )
    console = Console()
    console.print(table)
    if any(unconverged):
        console.print("* not converged, as its residual or its errors tell", highlight=False)
    if result.get("mean_relative_error") is not None:
        console.print(f"mean relative error {result['mean_relative_error']:.2e}", highlight=False)
    if result.get("mean_relative_excitation_error") is not None:
        error = result["mean_relative_excitation_error"]
        console.print(f"mean relative error of the excitation energies {error:.2e}", highlight=False)
    if result.get("yardstick"):
        console.print(result["yardstick"], highlight=False)
    if result.get("stopped"):
        console.print(f"ended because {result['stopped']}", highlight=False)
    for note in result.get("notes", ()):
        console.print(f"note: {note}", highlight=False)
    steps = f"{result['steps']} steps; " if result["steps"] else ""
    which = "since it was resumed " if result.get("resumed") else "in all " * bool(steps)
    console.print(f"{steps}{which}{result['wall_seconds']:.0f} s on {result['device']}", highlight=False)
