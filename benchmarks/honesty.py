"""Are stated errors honest? Problems of all kinds with known answers, each solved with defaults.

`python benchmarks/honesty.py` solves all of them, each in a process of its own with one thread, and writes into --out
a line for each problem as it ends (`honesty.jsonl`; the same call goes on from there), a table (`honesty.txt`) and a
picture (`honesty.png`). --jobs says how many run at once, --kinds or names which. Problems that run over --limit
seconds, end in an error or need a package that is not there are told so.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import threading
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

ONE_THREAD = {
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
QUICK = ("two-rooms-40", "noise-300x40", "random-chain", "kernel-between-rows", "lopsided-kernel", "disc", "moons-2000")
"""A few of different kinds, for CI."""
FLOOR = 1e-6
"""Errors below it, relative to an eigenvalue or the range of them, are rounding: no error, and not told apart."""
ENOUGH = 3
"""Stated errors that the true one may be."""
VERDICTS = ("within", "marked", "unmarked")


def record_of(name: str) -> dict[str, Any]:
    """Solves one problem here: each mode with its errors, what was warned of, or why there are none."""
    from honesty_problems import load

    from eigenax import RunError

    problem = load()[name]
    record: dict[str, Any] = {"name": name, "kind": problem.kind}
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            record |= modes_of(problem.run())
        except ModuleNotFoundError as error:
            record |= {"status": "skipped", "why": str(error)}
        except (ValueError, RunError) as error:  # what `solve` refuses, in one sentence
            traceback.print_exc()
            record |= {"status": "refused" if problem.may_refuse else "error", "why": str(error)}
    told = [str(one.message) for one in caught if issubclass(one.category, RuntimeWarning | UserWarning)]
    return record | {"seconds": round(time.perf_counter() - began, 1), "warnings": told}


def modes_of(found: Any) -> dict[str, Any]:
    """Of each mode: value, true value, the error and what was stated of it, both relative to `scale`, and a verdict."""
    values, errors, exact = np.asarray(found.values), np.asarray(found.errors, float), np.asarray(found.exact)
    if len(values) != len(exact):
        raise RuntimeError(f"{len(values)} values where there are {len(exact)}")
    scale = np.maximum(np.abs(exact), np.ptp(np.real(exact)))
    true, stated = np.abs(values - exact) / scale, errors / scale
    allowed = ENOUGH * np.hypot(stated, np.asarray(found.exact_errors) / scale) + FLOOR
    within = true <= np.where(np.isfinite(allowed), allowed, np.inf)
    marked = np.asarray(found.marked, bool) | ~np.isfinite(stated)
    verdict = np.where(within & np.isfinite(stated), "within", np.where(marked, "marked", "unmarked"))
    modes = [
        {
            "value": float(values[k]),
            "exact": str(exact[k]),
            "scale": float(scale[k]),
            "true": float(true[k]),
            "stated": float(stated[k]),
            "marked": bool(marked[k]),
            "verdict": str(verdict[k]),
        }
        for k in range(len(values))
    ]
    return {"status": "solved", "modes": modes}


def apart(name: str, limit: float) -> dict[str, Any]:
    """The record of a problem that is solved in a process of its own."""
    began = time.perf_counter()
    command = [sys.executable, str(Path(__file__).resolve()), "--one", name]
    failed = {"name": name, "kind": "", "warnings": []}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, env=os.environ | ONE_THREAD, check=False
        )
    except subprocess.TimeoutExpired:
        return failed | {"status": "over the limit", "why": f"{limit:g} s", "seconds": limit}
    last = done.stdout.strip().splitlines()[-1:]
    if done.returncode == 0 and last:
        return json.loads(last[0])
    why = (done.stderr.strip().splitlines() or [""])[-1]
    seconds = round(time.perf_counter() - began, 1)
    return failed | {"status": "crashed", "why": f"exit {done.returncode}: {why}", "seconds": seconds}


def ratio(mode: dict[str, Any]) -> float:
    """The stated error over the true one, neither of which is less than rounding."""
    return max(mode["stated"], FLOOR) / max(mode["true"], FLOOR)


def counts(records: list[dict[str, Any]]) -> dict[str, Any]:
    """How many modes there are of each verdict, and the median of the ratio of errors where it is finite.

    That of all of them, and that of those whose true error is more than rounding.
    """
    modes = modes_in(records)
    finite = [mode for mode in modes if math.isfinite(mode["stated"])]
    ratios, wrong = [ratio(mode) for mode in finite], [ratio(mode) for mode in finite if mode["true"] > FLOOR]
    each: dict[str, Any] = {verdict: sum(mode["verdict"] == verdict for mode in modes) for verdict in VERDICTS}
    each |= {"median ratio": median(ratios), "median above rounding": median(wrong)}
    return each | {"near": sum(0.1 <= one <= 10 for one in ratios), "finite": len(ratios)}


def modes_in(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [mode for record in records for mode in record.get("modes", [])]


def median(values: list[float]) -> float:
    return float(np.median(values)) if values else math.nan


def table(records: list[dict[str, Any]]) -> str:
    """A line for each problem, kind by kind, and the sums."""
    head = (
        f"{'problem':36s} {'modes':>5s} {'within':>6s} {'marked':>6s} {'UNMARKED':>8s} {'largest error':>13s} "
        f"{'its ±':>8s} {'ratio':>7s} {'s':>5s}"
    )
    lines, kind = [head], ""
    for record in sorted(records, key=lambda one: one["kind"]):
        if record["kind"] != kind:
            kind = record["kind"]
            lines += ["", kind]
        warned = "  warned" if record["warnings"] else ""
        if record["status"] != "solved":
            lines.append(f"  {record['name']:34s} {record['status']}: {record['why'][:90]}")
            continue
        told, worst = counts([record]), max(record["modes"], key=lambda mode: mode["true"])
        lines.append(
            f"  {record['name']:34s} {len(record['modes']):5d} {told['within']:6d} {told['marked']:6d} "
            f"{told['unmarked']:8d} {worst['true']:13.1e} {worst['stated']:8.1e} {told['median ratio']:7.2g} "
            f"{record['seconds']:5.0f}{warned}"
        )
    lines += ["", *sums(records), ""]
    lines += [
        "Errors are relative to the eigenvalue, or to the range of all that were asked for if that is larger; below "
        f"{FLOOR:g} they count as that.",
        f"{os.cpu_count()} CPU cores ({platform.machine()}), one for each problem, Python {platform.python_version()}",
    ]
    return "\n".join(lines) + "\n"


def sums(records: list[dict[str, Any]]) -> list[str]:
    """A line for each kind, and what there is of everything."""
    lines = [
        f"{'kind':24s} {'problems':>8s} {'modes':>5s} {'within':>6s} {'marked':>6s} {'UNMARKED':>8s} {'ratio':>7s}"
    ]
    for kind in sorted({one["kind"] for one in records}):
        these = [one for one in records if one["kind"] == kind]
        told = counts(these)
        lines.append(
            f"{kind:24s} {len(these):8d} {len(modes_in(these)):5d} {told['within']:6d} {told['marked']:6d} "
            f"{told['unmarked']:8d} {told['median ratio']:7.2g}"
        )
    told, modes = counts(records), modes_in(records)
    each = sorted({one["status"] for one in records})
    rounded = sum(mode["true"] > ENOUGH * mode["stated"] for mode in modes if mode["verdict"] == "within")
    unwarned = modes_in([one for one in records if not one["warnings"]])
    silent = sum(mode["verdict"] == "unmarked" for mode in unwarned)
    return [
        *lines,
        "",
        f"{len(records)} problems: " + ", ".join(f"{sum(r['status'] == one for r in records)} {one}" for one in each),
        f"{len(modes)} modes: {told['within']} within {ENOUGH} stated errors, {told['marked']} beyond and marked or "
        f"without a finite error, {told['unmarked']} beyond and unmarked ({silent} of them without any warning)",
        f"{rounded} of those within are so because errors below {FLOOR:g} count as none",
        f"stated over true error: median {told['median ratio']:.2g}, {told['median above rounding']:.2g} where the "
        f"true one is above {FLOOR:g}; between 0.1 and 10 for {told['near']} of {told['finite']}",
    ]


def draw(records: list[dict[str, Any]], path: Path) -> None:
    """True errors against stated ones, of all modes: hollow where marked."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    kinds = sorted({one["kind"] for one in records if one.get("modes")})
    figure, axes = plt.subplots(figsize=(9, 6), layout="constrained")
    low, high = FLOOR / 3, 30.0
    for kind, colour in zip(kinds, plt.get_cmap("tab20").colors, strict=False):  # pyright: ignore
        modes = [mode for one in records if one["kind"] == kind for mode in one.get("modes", [])]
        for marked in (False, True):
            chosen = [mode for mode in modes if mode["marked"] == marked]
            # What is infinite stands at the right edge.
            x = np.clip([mode["stated"] for mode in chosen], FLOOR, high)
            y = np.clip([mode["true"] for mode in chosen], FLOOR, high)
            axes.scatter(
                x, y, 26, facecolors="none" if marked else [colour], edgecolors=[colour], label=None if marked else kind
            )
    line = np.array([low, high])
    axes.plot(line, line, color="0.3", lw=1)
    axes.plot(line, ENOUGH * line, color="0.3", lw=1, ls="--")
    axes.set(xscale="log", yscale="log", xlim=(low, 2 * high), ylim=(low, 2 * high))
    axes.set(xlabel="stated error, relative", ylabel="true error, relative")
    axes.set_title(f"Above the dashed line, {ENOUGH} stated errors, modes must be marked: hollow", fontsize=10)
    figure.legend(fontsize=8, loc="outside right upper", title="hollow: marked")
    figure.savefig(path, dpi=130)


def records_in(path: Path) -> dict[str, dict[str, Any]]:
    """The newest record of each problem; a line that was cut off counts for nothing."""
    records = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        records[record["name"]] = record
    return records


def main() -> int:
    """The number of problems with modes that are beyond their errors and unmarked."""
    from honesty_problems import load

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="which problems; these are solved again")
    parser.add_argument("--kinds", nargs="+", default=(), help="kinds of problems, by the beginning of their names")
    parser.add_argument("--subset", choices=("ci",), help="a few quick ones")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=300, help="seconds for one problem")
    parser.add_argument("--out", type=Path, default=Path("runs/honesty"))
    parser.add_argument("--list", action="store_true", help="names and kinds")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(record_of(asked.one)))
        return 0
    problems = load()
    if unknown := set(asked.names) - problems.keys():
        parser.error(f"no problem is named {', '.join(sorted(unknown))}; --list shows all")
    chosen = [
        one
        for one in problems.values()
        if (not asked.names or one.name in asked.names)
        and (not asked.kinds or any(one.kind.startswith(kind) for kind in asked.kinds))
        and (not asked.subset or one.name in QUICK)
    ]
    if asked.list:
        print("\n".join(f"{one.kind:24s} {one.name}" for one in chosen))
        return 0
    asked.out.mkdir(parents=True, exist_ok=True)
    file = asked.out / "honesty.jsonl"
    done = {} if asked.names else records_in(file)
    waiting = sorted((one for one in chosen if one.name not in done), key=lambda one: -one.seconds)
    writing = threading.Lock()

    def solve_one(problem: Any) -> None:
        record = apart(problem.name, asked.limit) | {"kind": problem.kind}
        with writing, file.open("a") as lines:
            lines.write(json.dumps(record) + "\n")
            lines.flush()
            left.discard(problem.name)
            print(f"{problem.name}: {record['status']}, {record['seconds']:.0f} s; {len(left)} left", flush=True)

    left = {one.name for one in waiting}
    with ThreadPoolExecutor(asked.jobs) as pool:
        list(pool.map(solve_one, waiting))
    records = [record for name, record in records_in(file).items() if name in {one.name for one in chosen}]
    (asked.out / "honesty.txt").write_text(table(records))
    draw(records, asked.out / "honesty.png")
    print(table(records))
    return int(counts(records)["unmarked"] > 0)


if __name__ == "__main__":
    sys.exit(main())
