"""Seconds to three digits: from `import eigenax` in a fresh process to the result, compilation included.

`python benchmarks/seconds_to_tol.py` solves each problem twice, with nothing chosen and with `tol=1e-3`.
"""

import argparse
import json
import os
import platform
import subprocess
import sys

PROBLEMS = {
    "oscillator 1D, 3 states": ("jnp.sum(x**2)", [], "ex.Box(-6, 6)", [1, 3, 5]),
    "oscillator 2D, 6 states": ("jnp.sum(x**2)", [], "ex.Box(-6, 6, dims=2)", [2, 4, 4, 6, 6, 6]),
    "hydrogen 2D, 9 states": (
        "-1 / jnp.linalg.norm(x)",
        [(0.0, 0.0)],
        "ex.Box(-80, 80, dims=2)",
        [-1, *[-1 / 9] * 3, *[-1 / 25] * 5],
    ),
}
PROGRAM = """
import time
began = time.perf_counter()
import json
import eigenax as ex, jax.numpy as jnp, numpy as np
operator = -ex.Laplacian() + ex.Potential(lambda x: {potential}, singularities={points})
modes = ex.solve(operator, {box}, {n}, progress=False, **{settings})
seconds, exact = time.perf_counter() - began, np.array({exact})
scale = np.maximum(np.abs(exact), np.ptp(exact))
told = [seconds, np.abs(modes.eigenvalues - exact) / scale, modes.standard_errors / scale]
print(json.dumps([told[0], float(told[1].max()), float(told[2].max()), getattr(modes, "steps", 0)]))
"""


def run(name: str, settings: dict[str, float]) -> tuple[float, float, float, int]:
    """Seconds, the largest true and stated error relative to what tol is, and the bases that were tried."""
    potential, points, box, exact = PROBLEMS[name]
    program = PROGRAM.format(
        potential=potential, points=points, box=box, exact=exact, n=len(exact), settings=repr(settings)
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return tuple(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tol", type=float, default=1e-3)
    tol = parser.parse_args().tol
    print(f"{os.cpu_count()} CPU cores ({platform.machine()}), Python {platform.python_version()}")
    for name in PROBLEMS:
        whole, quick = run(name, {}), run(name, {"tol": tol})
        for label, (seconds, error, stated, steps) in (("nothing chosen", whole), (f"tol={tol:g}", quick)):
            print(f"{name:26s} {label:16s} {seconds:6.1f} s  error {error:.1e}  stated {stated:.1e}  {steps} bases")
        print(f"{name:26s} {'ratio':16s} {quick[0] / whole[0]:6.2f}")


if __name__ == "__main__":
    main()
