"""The two-dimensional hydrogen atom as the paper does it: a network trained on −∇² − 1/r in a box."""

import abc
import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eigenax.lab.experiment import Outcome
from eigenax.lab.experiments.physics import Physics
from eigenax.lab.experiments.published import check_averaging, spin

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

RADIAL_SCALES, UNIFORM_SHARE = (0.7, 4.0, 10.0), 0.2


@dataclasses.dataclass(frozen=True)
class TrainedAtom(Physics, abc.ABC):
    """Settings and training of the network; `quick` and `paper` are two sets of them."""

    samples: int = 0
    """Fresh points for measuring what was trained, 0: 2¹⁷; or for a basis, 0: as many as its functions need."""
    half_width: float = 0.0
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
    ema_rate: float = 0.01
    """β, the averaging rate, or its floor when it follows the learning rate."""
    ema_power: float = 0.5
    """β follows the learning rate to this power; 0 keeps β constant."""
    orthonormal_pull: float = 0.1
    """Pull of the raw functions towards the orthonormal ones."""
    rescale: bool = True
    """Give each mode its residual in units of the spectrum."""
    finish: Literal["eigh", "cholesky"] = "eigh"
    """Diagonalise the small matrix Λ at the end, or keep the paper's triangular orthonormalisation."""
    uncorrected_too: bool = False
    """Train once more without averaging (β = 1), for comparison."""

    def check_training(self) -> None:
        """Raise `ValueError` naming the first setting of the training that makes no sense."""
        self.check_positive("epsilon", "learning_rate", "final_learning_rate", "ema_rate")
        self.check_at_least_one("batch", "width", "depth")
        if self.batch < self.n:
            raise ValueError(f"--batch must be at least --n, {self.n}; got {self.batch}")
        check_averaging(self)
        from eigenax.networks.block_sparse import masks

        masks([2, *[self.width] * self.depth, self.n], self.sparsity)

    @property
    def label(self) -> str:
        """What the bias correction was, in a word."""
        fall = self.final_learning_rate / self.learning_rate
        return f"β → {max(self.ema_rate, fall**self.ema_power):.2g}" if self.ema_power else f"β = {self.ema_rate:g}"

    @abc.abstractmethod
    def domain(self) -> "Box":
        """The box."""

    @functools.cached_property
    @abc.abstractmethod
    def grid(self) -> "GridModes":
        """What a sparse eigensolver on a grid finds."""

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
        """SpIN; without correction both averages are the same, and moments are the cheaper one."""
        import optax

        fall = self.final_learning_rate / self.learning_rate
        return spin(self, optax.exponential_decay(self.learning_rate, self.steps, fall), self.batch, corrected)

    def train(self, folder: Path, progress: bool, corrected: bool = True) -> "tuple[Modes, Snapshot]":
        """Train in a folder, then measure with exact derivatives on the mixture."""
        from eigenax.assemble import prepared
        from eigenax.driver.iterate import iterate
        from eigenax.driver.progress import progress_bar
        from eigenax.measurement import FRESH, measure
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
            finish=self.finish,
            samples=self.samples or FRESH,
            seed=self.seed,
            progress=progress,
        )
        return dataclasses.replace(modes, steps=last.step, solver=solver.name, stop_reason=last.stop_reason), last

    def run_training(self, folder: Path, progress: bool) -> Outcome:
        """Train, with and without correction where asked, and compare with the closed form and the grid."""
        from eigenax.io.metrics import read_metrics
        from eigenax.lab.report.hydrogen import Panels, draw
        from eigenax.modes import FILE

        modes, last = self.train(folder, progress)
        result = self.training_scores(modes, progress) | {
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
            result["uncorrected"] = {"eigenvalues": uncorrected.eigenvalues} | self.training_scores(
                uncorrected, progress
            )
            panels = panels._replace(
                uncorrected=uncorrected, uncorrected_metrics=read_metrics(beside / "metrics.jsonl")
            )
        return Outcome(modes, result, draw(panels))

    def training_scores(self, modes: "Modes", progress: bool) -> dict[str, Any]:
        """Errors against the closed form; subspace distances are those of the degenerate shells."""
        from eigenax.core.random_streams import Stream
        from eigenax.lab.scores.spectrum import (
            degenerate_blocks,
            gram_matrices,
            orthogonality,
            relative_errors,
            subspace_distance,
        )
        from eigenax.lab.spectra import hydrogen as exact
        from eigenax.measurement import FRESH
        from eigenax.samples import FreshSamples
        from eigenax.sources.uniform import as_source

        energies = exact.energies(self.n)
        errors = relative_errors(modes.eigenvalues, energies)
        samples = FreshSamples(
            as_source(self.source("mixture")),
            self.seed,
            purpose=Stream.OVERLAPS,
            samples=self.samples or FRESH,
            progress=progress,
        )
        gram, cross, own = gram_matrices(modes.at_point, functools.partial(exact.shells, n=self.n), samples)
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
