"""The two-dimensional hydrogen atom as the paper does it: a network trained on −∇² − 1/r in a box."""

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from eigenax.lab.experiment import IterativeExperiment, Outcome, Preset
from eigenax.lab.experiments.training import PUBLISHED, SpINSettings

if TYPE_CHECKING:
    from jaxtyping import Array

    from eigenax.domains.box import Box
    from eigenax.driver.snapshot import Snapshot
    from eigenax.lab.baselines.grid import GridModes
    from eigenax.modes import Modes
    from eigenax.networks.base import Network
    from eigenax.operators.base import Operator
    from eigenax.solvers.spin import SpIN
    from eigenax.sources.mixture import Mixture

RADIAL_SCALES = (0.7, 4.0, 10.0)
"""Scales of the mixture's radial densities around the nucleus."""
UNIFORM_SHARE = 0.2
"""Share of the mixture that is uniform in the box."""
GRID_POINTS = 128
"""Points on each side of the grid of the sparse eigensolver."""


@dataclasses.dataclass(frozen=True)
class TrainedAtom(IterativeExperiment):
    """The lowest states of the two-dimensional hydrogen atom, represented by a network that is trained."""

    name: ClassVar[str] = "hydrogen"
    summary: ClassVar[str] = "hydrogen atom in two dimensions, trained, against the closed form and a grid solver"
    presets: ClassVar[dict[str, Preset]] = {
        "quick": Preset("a network trained on samples near the nucleus, which sees inputs with a cusp"),
        "paper": Preset(
            "the published settings: uniform samples, finite differences; once more without bias correction",
            {
                "steps": 600_000,
                "half_width": 50.0,
                "sampling": "uniform",
                "inputs": "plain",
                "width": 128,
                "depth": 4,
                "sparsity": "paper",
                "laplacian": "finite-difference",
                "training": dataclasses.replace(PUBLISHED, learning_rate=1e-5),
                "final_learning_rate": 1e-5,
                "samples": 2**20,
                "uncorrected_too": True,
            },
        ),
    }

    steps: int = 20_000
    """Training steps."""
    samples: int = 0
    """Fresh points for measuring what was trained; 0: 2¹⁷."""
    half_width: float = 80.0
    """Half the side of the box; the functions are zero at its edge. 0: wide enough for the states asked for."""
    sampling: Literal["mixture", "uniform"] = "mixture"
    """Points near the nucleus with importance weights, or uniform ones."""
    inputs: Literal["cusp", "plain"] = "cusp"
    """What the network sees: features with a kink at the nucleus, or coordinates."""
    batch: int = 128
    """Points drawn for each step."""
    width: int = 64
    """Units of a hidden layer."""
    depth: int = 3
    """Hidden layers."""
    activation: Literal["softplus", "tanh", "silu", "gelu", "sin"] = "softplus"
    """Nonlinearity; it needs a second derivative."""
    sparsity: Literal["isolated", "paper", "none"] = "isolated"
    """Block sparsity: the paper's formula, the same with the last layer isolated per mode, or none."""
    laplacian: Literal["forward", "exact", "finite-difference"] = "forward"
    """How ∇² is taken during training; results are always measured with the exact one."""
    epsilon: float = 0.1
    """ε of the finite differences."""
    training: SpINSettings = SpINSettings(decay=0.999, learning_rate=5e-3, ema_rate=0.01, orthonormal_pull=0.1)
    """How SpIN trains."""
    final_learning_rate: float = 5e-6
    """Learning rate at the last step, with exponential decay between."""
    uncorrected_too: bool = False
    """Train once more without averaging (β = 1), for comparison."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.training.check()
        self.check_positive("epsilon", "final_learning_rate")
        self.check_not_negative("half_width")
        self.check_at_least_one("batch", "width", "depth")
        if self.batch < self.n:
            raise ValueError(f"--batch must be at least --n, {self.n}; got {self.batch}")
        from eigenax.networks.block_sparse import masks
        from eigenax.samples import BATCHES

        if self.samples:
            self.check_at_least(BATCHES, "samples")
        masks([2, *[self.width] * self.depth, self.n], self.sparsity)

    @property
    def label(self) -> str:
        """The averaging rate β of the bias correction, as figures show it."""
        floor, power = self.training.ema_rate, self.training.ema_power
        return f"β → {max(floor, self.fall**power):.2g}" if power else f"β = {floor:g}"

    @property
    def fall(self) -> float:
        """The learning rate at the last step, divided by that at the first."""
        return self.final_learning_rate / self.training.learning_rate

    def domain(self) -> "Box":
        """The box."""
        from eigenax.domains.box import Box
        from eigenax.lab.spectra.hydrogen import reach

        width = self.half_width or reach(self.n)
        return Box(-width, width, dims=2)

    @functools.cached_property
    def grid(self) -> "GridModes":
        """The modes that a sparse eigensolver finds on a grid."""
        from eigenax.lab.baselines.grid import grid_modes

        return grid_modes(coulomb, self.domain(), self.n, GRID_POINTS)

    def hamiltonian(self, laplacian: Any = "forward") -> "Operator":
        """−∇² − 1/r."""
        from eigenax.operators.laplacian import Laplacian
        from eigenax.operators.potential import Potential

        return -Laplacian(laplacian, self.epsilon) + Potential(coulomb)

    def source(self, sampling: str) -> "Box | Mixture":
        """Uniform points, or the mixture with radial parts around the nucleus."""
        from eigenax.sources.densities import Radial
        from eigenax.sources.mixture import Mixture

        if sampling == "uniform":
            return self.domain()
        radial = [Radial(scale, dims=2) for scale in RADIAL_SCALES]
        shares = [UNIFORM_SHARE, *[(1 - UNIFORM_SHARE) / len(radial)] * len(radial)]
        return Mixture(self.domain(), [self.domain(), *radial], shares)

    def network(self) -> "Network":
        """A perceptron on coordinates or cusp features, zero at the edge of the box."""
        from eigenax.networks.base import Compose, Multiply
        from eigenax.networks.boundary import BoxFactor
        from eigenax.networks.features import CuspInputs, ScaledInputs
        from eigenax.networks.mlp import MLP
        from eigenax.solvers.default_parts import network_key

        inputs = CuspInputs((0.0, 0.0)) if self.inputs == "cusp" else ScaledInputs((0.0, 0.0), (1.0, 1.0))
        mlp = MLP(
            inputs.size,
            self.n,
            width=self.width,
            depth=self.depth,
            activation=self.activation,
            sparsity=self.sparsity,
            key=network_key(self.seed),
        )
        return Multiply(BoxFactor(self.domain().low, self.domain().high), Compose(inputs, mlp))

    def solver(self, corrected: bool = True) -> "SpIN":
        """The SpIN solver, with or without bias correction."""
        import optax

        learning_rate = optax.exponential_decay(self.training.learning_rate, self.steps, self.fall)
        return self.training.solver(learning_rate, self.batch, corrected)

    def train(self, folder: Path, progress: bool, corrected: bool = True) -> "tuple[Modes, Snapshot]":
        """Train in a folder, then measure with exact derivatives on the mixture."""
        from eigenax.assemble import prepared
        from eigenax.driver.iterate import iterate
        from eigenax.driver.progress import progress_bar
        from eigenax.measurement.measure import FRESH, measure
        from eigenax.problem import Problem

        problem = Problem.checked(
            self.hamiltonian(self.laplacian),
            self.source(self.sampling),
            self.n,
            network=self.network(),
            max_steps=self.steps,
            seed=self.seed,
            progress=progress,
        )
        solver, problem = prepared(problem, self.solver(corrected))
        label = (self.label if corrected else "β = 1") if self.uncorrected_too else self.name
        with progress_bar(label, show=progress) as show:
            last, _ = iterate(problem, solver, callbacks=[show], checkpoint_dir=folder)
        modes = measure(
            last.state.solver.network,
            self.hamiltonian(),
            self.source("mixture"),
            finish=self.training.finish,
            samples=self.samples or FRESH,
            seed=self.seed,
            progress=progress,
        )
        return dataclasses.replace(modes, steps=last.step, solver=solver.name, stop_reason=last.stop_reason), last

    def run(self, folder: Path, progress: bool) -> Outcome:
        """Train, with and without correction where asked, and compare with the closed form and the grid."""
        from eigenax.io.metrics import read_metrics
        from eigenax.lab.report.hydrogen import Panels, draw
        from eigenax.modes_file import FILE

        modes, last = self.train(folder, progress)
        result = self.scores(modes, progress) | {
            "training_seconds": last.seconds,
            "compile_seconds": last.compile_seconds,
            "sparsity": self.sparsity,
            "grid_eigenvalues": self.grid.eigenvalues,
        }
        panels = Panels(self.domain(), self.grid, modes, read_metrics(folder / "metrics.jsonl"), self.label)
        if self.uncorrected_too:
            beside = folder / "uncorrected"
            uncorrected, _ = self.train(beside, progress, corrected=False)
            uncorrected.save(beside / FILE)
            result["uncorrected"] = {"eigenvalues": uncorrected.eigenvalues} | self.scores(uncorrected, progress)
            metrics = read_metrics(beside / "metrics.jsonl")
            panels = panels._replace(uncorrected=uncorrected, uncorrected_metrics=metrics)
        return Outcome(modes, result, draw(panels))

    def scores(self, modes: "Modes", progress: bool) -> dict[str, Any]:
        """Errors against the closed form, and the distance of each degenerate shell to the exact eigenspace."""
        from eigenax.core.random_streams import Stream
        from eigenax.lab.scores.hydrogen import hydrogen_scores
        from eigenax.lab.spectra.hydrogen import energies, shells
        from eigenax.measurement.measure import FRESH
        from eigenax.samples import FreshSamples
        from eigenax.sources.uniform import as_source

        source = as_source(self.source("mixture"))
        samples = FreshSamples(source, self.seed, Stream.OVERLAPS, self.samples or FRESH, progress)
        return hydrogen_scores(modes, energies(self.n), functools.partial(shells, n=self.n), samples)


def coulomb(x: "Array") -> "Array":
    """−1/r."""
    import jax.numpy as jnp

    return -1 / jnp.linalg.norm(x)
