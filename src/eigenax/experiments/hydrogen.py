"""The two-dimensional hydrogen atom, the paper's first experiment: −∇² − 1/r in a box."""

import dataclasses
import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from eigenax.experiments.base import Experiment, Outcome

if TYPE_CHECKING:
    from jaxtyping import Array

    from eigenax.modes import Modes
    from eigenax.networks.base import Network
    from eigenax.operators.base import Operator
    from eigenax.solvers.spin import SpIN
    from eigenax.sources.base import Source
    from eigenax.sources.box import Box
    from eigenax.training.loop import Moment

RADIAL_SCALES, UNIFORM_SHARE = (0.7, 4.0, 10.0), 0.2
GRID_POINTS = 128


@dataclasses.dataclass(frozen=True)
class Hydrogen(Experiment):
    """Learn the lowest states of the hydrogen atom in two dimensions.

    `quick` samples near the nucleus and gives the network inputs with a cusp. `paper` has the settings of the
    publication, uniform samples and finite differences, and trains without bias correction as well.
    """

    name: ClassVar[str] = "hydrogen"
    summary: ClassVar[str] = "two-dimensional hydrogen atom, nine states, against the closed form and a grid solver"
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "quick": {},
        "paper": {
            "steps": 600_000,
            "half_width": 50.0,
            "sampling": "uniform",
            "inputs": "plain",
            "width": 128,
            "depth": 4,
            "sparsity": "paper",
            "laplacian": "finite-difference",
            "optimizer": "rmsprop",
            "learning_rate": 1e-5,
            "final_learning_rate": 1e-5,
            "average": "jacobian",
            "rate": 0.01,
            "rate_power": 0.0,
            "gauge": 0.0,
            "rescale": False,
            "finish": "triangular",
            "samples": 2**20,
            "uncorrected_too": True,
        },
    }

    steps: int = 20_000
    """Training steps."""
    half_width: float = 80.0
    """Half the side of the box; the functions are zero at its edge."""
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
    optimizer: Literal["adam", "rmsprop"] = "adam"
    """Which optax optimiser takes the gradients."""
    decay: float = 0.999
    """How much of its second moment the optimiser keeps a step; it must forget more slowly than β does."""
    learning_rate: float = 5e-3
    """Learning rate at the first step."""
    final_learning_rate: float = 5e-6
    """Learning rate at the last step, with exponential decay between."""
    average: Literal["moments", "jacobian"] = "moments"
    """What the bias correction averages: Σ and Π, or Σ and its Jacobian as in the paper."""
    rate: float = 0.01
    """β, the averaging rate, or its floor when it follows the learning rate."""
    rate_power: float = 0.5
    """β follows the learning rate to this power; 0 keeps β constant."""
    gauge: float = 0.1
    """Pull of the raw functions towards the orthonormal ones."""
    rescale: bool = True
    """Give each mode its residual in units of the spectrum."""
    finish: Literal["rotate", "triangular"] = "rotate"
    """Diagonalise the small matrix Λ at the end, or keep the paper's triangular orthonormalisation."""
    samples: int = 2**17
    """Fresh points for measuring eigenvalues and errors."""
    uncorrected_too: bool = False
    """Train once more without averaging (β = 1), for comparison."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        for name in ("half_width", "epsilon", "learning_rate", "final_learning_rate", "rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"--{name.replace('_', '-')} must be positive; got {getattr(self, name)}")
        for name in ("batch", "width", "depth", "samples"):
            if getattr(self, name) < 1:
                raise ValueError(f"--{name} must be at least 1; got {getattr(self, name)}")
        if self.batch < self.n:
            raise ValueError(f"--batch must be at least --n, {self.n}; got {self.batch}")
        if not 0 <= self.decay < 1:
            raise ValueError(f"--decay must be at least 0 and below 1; got {self.decay}")
        if self.rate > 1:
            raise ValueError(f"--rate must be at most 1, which is no averaging; got {self.rate}")
        from eigenax.networks.block_sparse import masks

        masks([2, *[self.width] * self.depth, self.n], self.sparsity)

    @property
    def label(self) -> str:
        """What the bias correction was, in a word."""
        fall = self.final_learning_rate / self.learning_rate
        return f"β → {max(self.rate, fall**self.rate_power):.2g}" if self.rate_power else f"β = {self.rate:g}"

    @property
    def box(self) -> "Box":
        """The domain."""
        from eigenax.sources.box import Box

        return Box(-self.half_width, self.half_width, dims=2)

    def hamiltonian(self, laplacian: Any = "forward") -> "Operator":
        """−∇² − 1/r."""
        from eigenax.operators.laplacian import Laplacian
        from eigenax.operators.potential import Potential

        return -Laplacian(laplacian, self.epsilon) + Potential(coulomb)

    def source(self, sampling: str) -> "Source":
        """Uniform points, or the mixture with radial parts around the nucleus."""
        from eigenax.sources.mixture import Mixture, Radial

        if sampling == "uniform":
            return self.box
        radial = [Radial(scale, dims=2) for scale in RADIAL_SCALES]
        shares = [UNIFORM_SHARE, *[(1 - UNIFORM_SHARE) / len(radial)] * len(radial)]
        return Mixture(self.box, [self.box, *radial], shares)

    def network(self) -> "Network":
        """A perceptron on coordinates or cusp features, zero at the edge of the box."""
        from eigenax.assemble import network_key
        from eigenax.networks.base import Bounded, OnInputs
        from eigenax.networks.boundary import BoxFactor
        from eigenax.networks.features import CuspInputs, ScaledInputs
        from eigenax.networks.mlp import MLP

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
        return Bounded(BoxFactor(self.box.low, self.box.high), OnInputs(inputs, mlp))

    def solver(self, corrected: bool = True) -> "SpIN":
        """SpIN; without correction both averages are the same, and moments are the cheaper one."""
        import optax

        from eigenax.solvers.schedules import following
        from eigenax.solvers.spin import SpIN

        fall = self.final_learning_rate / self.learning_rate
        learning_rate = optax.exponential_decay(self.learning_rate, self.steps, fall)
        if self.optimizer == "adam":
            optimizer = optax.adam(learning_rate, b2=self.decay)
        else:
            optimizer = optax.rmsprop(learning_rate, decay=self.decay)
        if not corrected:
            return SpIN(optimizer, "moments", 1.0, self.gauge, self.rescale)
        rate = following(learning_rate, power=self.rate_power, floor=self.rate) if self.rate_power else self.rate
        return SpIN(optimizer, self.average, rate, self.gauge, self.rescale)

    def train(self, folder: Path, progress: bool, corrected: bool = True) -> "tuple[Modes, Moment]":
        """Train in a folder, then measure with exact derivatives on the mixture."""
        from eigenax.assemble import fit
        from eigenax.measurement import measure

        last = fit(
            self.hamiltonian(self.laplacian),
            self.source(self.sampling),
            self.n,
            network=self.network(),
            solver=self.solver(corrected),
            steps=self.steps,
            batch=self.batch,
            seed=self.seed,
            folder=folder,
            progress=progress,
            label=(self.label if corrected else "β = 1") if self.uncorrected_too else self.name,
        )
        modes = measure(
            last.state.solver.network,
            self.hamiltonian(),
            self.source("mixture"),
            finish=self.finish,
            samples=self.samples,
            seed=self.seed,
            steps=self.steps,
            progress=progress,
        )
        return modes, last

    def run(self, folder: Path, progress: bool) -> Outcome:
        """Train, with and without correction where asked, and compare with the closed form and the grid."""
        from eigenax.baselines.grid import grid_modes
        from eigenax.modes import FILE
        from eigenax.report.hydrogen import Panels, draw
        from eigenax.training.metrics import read_metrics

        modes, last = self.train(folder, progress)
        grid = grid_modes(coulomb, self.box, self.n, GRID_POINTS)
        result = self.scores(modes, progress) | {
            "training_seconds": last.seconds,
            "compile_seconds": last.compile_seconds,
            "sparsity": self.sparsity,
            "grid_eigenvalues": grid.eigenvalues,
        }
        panels = Panels(self.box, grid, modes, read_metrics(folder / "metrics.jsonl"), self.label)
        if self.uncorrected_too:
            beside = folder / "uncorrected"
            uncorrected, _ = self.train(beside, progress, corrected=False)
            uncorrected.save(beside / FILE)
            result["uncorrected"] = {"eigenvalues": uncorrected.eigenvalues} | self.scores(uncorrected, progress)
            panels = panels._replace(
                uncorrected=uncorrected, uncorrected_metrics=read_metrics(beside / "metrics.jsonl")
            )
        return Outcome(modes, result, draw(panels))

    def scores(self, modes: "Modes", progress: bool) -> dict[str, Any]:
        """Errors against the closed form; subspace distances are those of the degenerate shells."""
        from eigenax.evaluation import hydrogen as exact
        from eigenax.evaluation.scores import (
            degenerate_blocks,
            gram_matrices,
            orthogonality,
            relative_errors,
            subspace_distance,
        )
        from eigenax.measurement import FreshSamples

        energies = exact.energies(self.n)
        errors = relative_errors(modes.eigenvalues, energies)
        samples = FreshSamples(self.source("mixture"), self.seed, purpose=4, samples=self.samples, progress=progress)
        gram, cross, own = gram_matrices(modes.at_point, partial(exact.shells, n=self.n), samples)
        distances = []
        for m, block in enumerate(degenerate_blocks(energies)):
            shell = slice(m**2, (m + 1) ** 2)
            distances.append(subspace_distance(gram[block, block], cross[shell, block], own[shell, shell]))
        return {
            "exact": energies,
            "relative_errors": errors,
            "mean_relative_error": float(errors.mean()),
            "subspace_distances": distances,
            "orthogonality": orthogonality(gram),
        }


def coulomb(x: "Array") -> "Array":
    """−1/r."""
    import jax.numpy as jnp

    return -1 / jnp.linalg.norm(x)
