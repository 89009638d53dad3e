"""Learning successor features with the losses of Machado et al., ICLR 2018, and their eigenpurposes."""

from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int

from eigenax.driver.iterate import iterate
from eigenax.driver.progress import progress_bar
from eigenax.lab.baselines.agent_steps import AgentSteps, Transition
from eigenax.lab.baselines.predictor import Predictor
from eigenax.operators.base import Operator
from eigenax.operators.slowness import Slowness
from eigenax.problem import Problem
from eigenax.solvers.gradient import GradientSolver


class SuccessorState(NamedTuple):
    """The trained network, the target network, and the state of the optimiser."""

    network: Predictor
    target: Predictor
    optimizer: Any
    step: Int[Array, ""]


class SuccessorInfo(NamedTuple):
    """Mean squared errors: of the next frame, and of successor features against one step of their recursion.

    `aim` is the variance of the latter's target, which grows whenever the target network is renewed.
    """

    prediction: Float[Array, ""]
    successor: Float[Array, ""]
    aim: Float[Array, ""]
    healthy: Bool[Array, ""]


class SuccessorLearning(GradientSolver):
    """Learns to predict the next frame, and by temporal differences ψ(s) → φ(s) + γ ψ⁻(s′) of the latent code φ."""

    divergence_hint: ClassVar[str] = "a loss of the successor features is not finite; lower their learning rate"
    learning_rate: float = eqx.field(static=True, default=1e-4)
    discount: float = eqx.field(static=True, default=0.99)
    target_every: int = eqx.field(static=True, default=10_000)
    transitions: int = eqx.field(static=True, default=0)
    """Number of transitions to learn from; a resumed run must have the same."""

    @property
    def _optimizer(self) -> optax.GradientTransformation:
        return optax.rmsprop(self.learning_rate)

    def begin(self, network: Predictor, outputs: int) -> SuccessorState:
        """The state before the first step."""
        parameters = eqx.filter(network, eqx.is_inexact_array)
        return SuccessorState(network, network, self._optimizer.init(parameters), jnp.zeros((), jnp.int32))

    def update(self, operator: Operator, state: SuccessorState, batch: Any) -> tuple[SuccessorState, SuccessorInfo]:
        """One step of both losses; the operator is not used."""
        parameters, static = eqx.partition(state.network, eqx.is_inexact_array)
        losses = jax.grad(lambda p: self._loss(eqx.combine(p, static), state.target, batch), has_aux=True)
        gradient, (prediction, successor, aim) = losses(parameters)
        updates, optimizer = self._optimizer.update(gradient, state.optimizer, parameters)
        network = eqx.apply_updates(state.network, updates)
        due = (state.step + 1) % self.target_every == 0
        target = jax.tree.map(
            lambda new, old: jnp.where(due, new, old), *(eqx.filter(n, eqx.is_array) for n in (network, state.target))
        )
        after = SuccessorState(network, eqx.combine(target, state.target), optimizer, state.step + 1)
        return after, SuccessorInfo(prediction, successor, aim, jnp.isfinite(prediction + successor))

    def settings(self, problem: Problem) -> dict[str, Any]:
        """The settings of the training, and the number of transitions, which a resumed run must share."""
        return {
            "batch": self.batch, "learning_rate": self.learning_rate, "target_every": self.target_every,
            "discount": self.discount, "transitions": self.transitions,
        }  # fmt: skip

    def _loss(
        self, network: Predictor, target: Predictor, batch: Transition
    ) -> tuple[Array, tuple[Array, Array, Array]]:
        if jax.default_backend() != "cpu":
            network, target = network.with_short_kernels(), target.with_short_kernels()
        # Pixels have few significant digits, and neither loss is a small difference of large numbers.
        with jax.default_matmul_precision("tensorfloat32"):
            code = jax.vmap(network.encoder)(batch.x)
            frames = jax.vmap(network.next_frame)(code, batch.action)
            codes = jax.vmap(target.encoder)(jnp.concatenate([batch.x, batch.after]))
            now, later = jnp.split(codes, 2)
            aim = now + self.discount * jax.vmap(target.successors)(later)
            foreseen = jax.vmap(network.successors)(code)
        prediction = jnp.mean((frames - batch.after[:, -1]) ** 2)
        successor = jnp.mean((foreseen - jax.lax.stop_gradient(aim)) ** 2)
        return prediction + successor, (prediction, successor, jnp.mean(jnp.var(aim, 0)))


def learn_successors(
    played: AgentSteps,
    network: Predictor,
    folder: Path,
    *,
    steps: int = 300_000,
    batch: int = 32,
    learning_rate: float = 1e-4,
    target_every: int = 10_000,
    discount: float = 0.99,
    seed: int = 0,
    progress: bool = False,
) -> Predictor:
    """Train, or resume training from the folder's checkpoints; the losses are in its metrics.jsonl."""
    solver = SuccessorLearning(learning_rate, discount, target_every, len(played.firsts), batch=batch)
    # A problem needs an operator, but this training never applies it.
    problem = Problem(Slowness(), played, 0, network=network, max_steps=steps, seed=seed, progress=progress)
    with progress_bar("successor features", show=progress) as show:
        last, _ = iterate(problem, solver, callbacks=[show], checkpoint_dir=folder)
    return last.state.solver.network


def eigenpurposes(
    successors: Float[np.ndarray, "time latent"], n: int, centred: bool = True
) -> Float[np.ndarray, "time n"]:
    """Values of the n eigenpurposes: the first principal components of successor features, centred or not."""
    values = successors.astype(np.float64)
    if centred:
        values -= values.mean(0)
    axes = np.linalg.eigh(values.T @ values)[1][:, ::-1][:, :n]
    return values @ axes
