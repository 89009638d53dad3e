"""Successor features of a code that predicts the next frame, and their eigenpurposes: Machado et al., ICLR 2018.

The network is theirs; its losses and learning rates are those of the paper.
"""

from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8

from eigenax.driver.iterate import iterate
from eigenax.driver.progress import progress_bar
from eigenax.networks.conv import Conv
from eigenax.networks.convolution import conv2d_transpose, side_after
from eigenax.operators.base import Operator
from eigenax.operators.slowness import Slowness
from eigenax.problem import Problem
from eigenax.solvers.gradient import GradientSolver
from eigenax.sources.base import Source
from eigenax.sources.rows import Rows, rows_of

STACK = 4
"""Number of successive frames that the network sees."""
BRIGHTEST = 255.0
"""The largest value of a pixel."""
KERNEL, STRIDE, LAYERS = 6, 2, 3
"""Side of the kernels, stride and number of the convolutions, and of the transposed ones."""


class Transition(NamedTuple):
    """Stacked frames, the action taken then, and the stack one step later."""

    x: Float[Array, "b stack h w"]
    action: Int[Array, " b"]
    after: Float[Array, "b stack h w"]
    weights: Float[Array, " b"]


def into_episode(starts: Bool[np.ndarray, " time"]) -> Int[np.ndarray, " time"]:
    """The number of earlier steps in the same episode, for each step.

    >>> into_episode(np.array([True, False, False, True, False]))
    array([0, 1, 2, 0, 1])
    """
    times = np.arange(len(starts))
    return times - np.maximum.accumulate(np.where(starts, times, 0))


def with_whole_stacks(
    starts: Bool[np.ndarray, " time"],
) -> tuple[Bool[np.ndarray, " time"], Int[np.ndarray, " episodes"]]:
    """Which steps have a whole stack of frames in their episode; where, among these, each later episode begins.

    >>> shown, episodes = with_whole_stacks(np.arange(10) % 5 == 0)
    >>> np.flatnonzero(shown), episodes
    (array([3, 4, 8, 9]), array([2]))
    """
    into = into_episode(starts)
    shown = into >= STACK - 1
    return shown, np.flatnonzero(into[shown] == STACK - 1)[1:]


class AgentSteps(Source):
    """Transitions of an agent within episodes, as a source; pixels are between 0 and 1."""

    frames: Rows
    actions: UInt8[Array, " time"]
    firsts: Int[Array, " transitions"]
    """The number of the first frame of each transition."""

    def __init__(self, frames: Any, actions: np.ndarray, starts: Bool[np.ndarray, " time"]):
        self.frames, self.actions = rows_of([frames]), jnp.asarray(actions)
        self.firsts = jnp.asarray(np.flatnonzero(into_episode(starts) >= STACK) - STACK, jnp.int32)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of stacked frames."""
        return (STACK, *self.frames.shape)

    def sample(self, key: PRNGKeyArray, size: int) -> Any:
        """This many random transitions."""
        first = self.firsts[jax.random.randint(key, (size,), 0, len(self.firsts))]
        frames = self.frames.at(first[:, None] + jnp.arange(STACK + 1)).astype(float) / BRIGHTEST
        # An action is stored with the frame that it led to.
        action = self.actions[first + STACK].astype(jnp.int32)
        return Transition(frames[:, :-1], action, frames[:, 1:], jnp.ones(size))

    def draw(self, state: Any, functions: Any, key: PRNGKeyArray, size: int) -> tuple[Any, Any]:
        """The same as `sample`. A transition holds an action between two points, so that `Batch` would not do."""
        return state, self.sample(key, size)


class Predictor(eqx.Module):
    """Predicts the next frame from stacked frames and an action by a latent code, and the code's successor features."""

    encoder: Conv
    of_action: Float[Array, "actions latent"]
    decoder: tuple[eqx.nn.Linear, eqx.nn.Linear]
    kernels: tuple[Float[Array, "c o k k"], ...]
    biases: tuple[Float[Array, " o"], ...]
    successor: tuple[eqx.nn.Linear, eqx.nn.Linear]
    side: int = eqx.field(static=True)

    def __init__(
        self, side: int, actions: int, *, maps: int = 64, width: int = 1024, latent: int = 2048, key: PRNGKeyArray
    ):
        keys = iter(jax.random.split(key, 6 + LAYERS))
        self.side = side
        self.encoder = Conv(
            (STACK, side, side), latent, channels=(maps,) * LAYERS, kernel=KERNEL, stride=STRIDE, width=width,
            sparsity="none", key=next(keys),
        )  # fmt: skip
        smallest = self._sides[0]
        self.of_action = jax.random.normal(next(keys), (actions, latent))
        self.decoder = (
            eqx.nn.Linear(latent, width, key=next(keys)),
            eqx.nn.Linear(width, maps * smallest**2, key=next(keys)),
        )
        counts = [(maps, maps), (maps, maps), (maps, 1)]
        scale = 1 / (KERNEL * np.sqrt(maps) / STRIDE)
        self.kernels = tuple(scale * jax.random.normal(next(keys), (*count, KERNEL, KERNEL)) for count in counts)
        self.biases = tuple(jnp.zeros(count[1]) for count in counts)
        self.successor = (
            eqx.nn.Linear(latent, width, key=next(keys)),
            eqx.nn.Linear(width, latent, key=next(keys)),
        )

    @property
    def _sides(self) -> list[int]:
        """Sides of the decoder's images, from the smallest one to a frame."""
        return [side_after(self.side, STRIDE, LAYERS - layer) for layer in range(LAYERS + 1)]

    def next_frame(self, code: Float[Array, " latent"], action: Int[Array, ""]) -> Float[Array, "h w"]:
        """The frame that an action is predicted to lead to."""
        x = jax.nn.relu(self.decoder[1](self.decoder[0](code * self.of_action[action])))
        x = x.reshape(-1, self._sides[0], self._sides[0])
        for side, kernel, bias in zip(self._sides[1:], self.kernels, self.biases, strict=True):
            x = conv2d_transpose(x, kernel, STRIDE, (side, side)) + bias[:, None, None]
            x = x if side == self.side else jax.nn.relu(x)
        return x[0]

    def with_short_kernels(self) -> "Predictor":
        """The same network with kernels in bfloat16, which halves the time of a step on a GPU."""
        kernels = (self.encoder.kernels, self.kernels)
        short = jax.tree.map(lambda kernel: kernel.astype(jnp.bfloat16), kernels)
        return eqx.tree_at(lambda network: (network.encoder.kernels, network.kernels), self, short)

    def successors(self, code: Float[Array, " latent"]) -> Float[Array, " latent"]:
        """The predicted discounted sum Σ γᵗ of future codes; its gradient does not reach the code."""
        first, last = self.successor
        return last(jax.nn.relu(first(jax.nn.relu(jax.lax.stop_gradient(code)))))

    def __call__(self, x: Float[Array, "stack h w"]) -> Float[Array, " latent"]:
        """Successor features of stacked frames with pixels from 0 to 255."""
        return self.successors(self.encoder(x / BRIGHTEST))


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
