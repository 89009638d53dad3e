"""The alternatives that the paper discusses: the unmasked trace, one mode after the other, an augmented Lagrangian.

These small solvers are for comparison with `SpIN`; docs/alternatives.md has the results. Letters as in
`core/rayleigh.py`.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float

from eigenax.checks import positive_int
from eigenax.core.batch import Batch
from eigenax.core.rayleigh import HIGHEST, residual, spectral_size, whiten
from eigenax.networks.base import is_separate
from eigenax.operators.base import Operator
from eigenax.solvers.averaging import Averaging, Info, State, at_step, check_optimizer, descend, evaluate
from eigenax.solvers.schedules import Schedule, starts_below_one


class Alternative(Averaging):
    """A solver with averages whose `ema_rate` is one, no averaging, unless given."""

    ema_rate: eqx.AbstractVar[float | Schedule]

    @property
    def averages_from_the_start(self) -> bool:
        """Whether `ema_rate` is below one at the first step."""
        return starts_below_one(self.ema_rate)


class Trace(Alternative):
    """Descent along the gradient of tr(Σ⁻¹Π) without a mask: the functions span the modes, but are in no order.

    Up to a factor 2 the gradient is w (K v − Λᵀ v)ᵀ L⁻¹ at each sample. With `rescale`, L⁻¹ is left out, which
    `orthonormal_pull` keeps near one; instead the residual is divided by a scale for each eigenvector of Λ, as `SpIN`
    does for each function. The logged eigenvalues and residuals are those after rotation by these eigenvectors, which
    `finish="eigh"` does at the end.

    >>> span = Trace(optax.adam(1e-3), ema_rate=0.1)
    """

    optimizer: optax.GradientTransformation = eqx.field(static=True)
    ema_rate: float | Schedule = eqx.field(static=True, default=1.0)
    orthonormal_pull: float = eqx.field(static=True, default=0.1)
    rescale: bool = eqx.field(static=True, default=True)

    def __check_init__(self):
        _check(self.optimizer, self.ema_rate)

    def update(self, operator: Operator, state: State, batch: Batch) -> tuple[State, Info]:
        """One update of the averages, then of the network."""
        seen = evaluate(operator, state, batch, at_step(self.ema_rate, state.step, state.sigma))
        cholesky, matrix = seen.now
        v = whiten(cholesky, seen.u)
        r = whiten(cholesky, seen.ku) - _times(v, matrix)
        values, rotation = jnp.linalg.eigh((matrix + matrix.T) / 2)
        rotated = _times(r, rotation)
        if self.rescale:
            descent = _times(rotated / spectral_size(values), rotation.T)
        else:
            descent = jax.scipy.linalg.solve_triangular(cholesky, r.T, lower=True, trans="T").T
        descent += self.orthonormal_pull * (seen.u - v)
        network, memory, info = descend(self.optimizer, state.optimizer, seen, seen.gradient(descent), values, rotated)
        return State(network, memory, seen.sigma, seen.pi, state.step + 1), info


class Sequential(Alternative):
    """One function after the other: each descends its own Rayleigh quotient for `steps_per_mode` steps, then is frozen.

    The last function trains until the end. The optimiser, `ema_rate` and their schedules start anew for each function.
    The network must have separate parameters for each function: otherwise, training one would change all those before
    it. Give `solve` a `tol`: without one, a run ends when the residuals stop falling, and those of functions that wait
    for their turn do not fall.

    >>> deflation = Sequential(optax.adam(1e-3), steps_per_mode=2000, ema_rate=0.1)
    """

    wants_separate: ClassVar[bool] = True

    optimizer: optax.GradientTransformation = eqx.field(static=True)
    steps_per_mode: int = eqx.field(static=True)
    ema_rate: float | Schedule = eqx.field(static=True, default=1.0)
    orthonormal_pull: float = eqx.field(static=True, default=0.1)

    def __check_init__(self):
        _check(self.optimizer, self.ema_rate)
        positive_int("steps_per_mode", self.steps_per_mode)

    def begin(self, network: Any, outputs: int) -> State:
        """The state before the first step."""
        if not is_separate(network):
            raise ValueError(
                "Sequential needs a network with parameters of its own for each function, such as EnsembleMLP: in this "
                "one they share some, and a function cannot stay as it is while the next one learns"
            )
        return super().begin(network, outputs)

    def update(self, operator: Operator, state: State, batch: Batch) -> tuple[State, Info]:
        """One update of the averages, then of the function that trains now."""
        outputs = len(state.sigma)
        turn = jnp.minimum(state.step // self.steps_per_mode, outputs - 1)
        since, learns = state.step - turn * self.steps_per_mode, jnp.arange(outputs) == turn
        seen = evaluate(operator, state, batch, at_step(self.ema_rate, since, state.sigma))
        v, r = residual(seen.u, seen.ku, seen.now)
        descent = jnp.where(
            learns, r / spectral_size(jnp.diag(seen.now.matrix)) + self.orthonormal_pull * (seen.u - v), 0
        )
        fresh = super().begin(state.network, outputs).optimizer
        memory = jax.tree.map(lambda new, old: jnp.where(since == 0, new, old), fresh, state.optimizer)
        network, memory, info = descend(
            self.optimizer, memory, seen, seen.gradient(descent), jnp.diag(seen.now.matrix), r
        )
        network = _where_learning(learns, network, state.network)
        return State(network, memory, seen.sigma, seen.pi, state.step + 1), info


class AugmentedLagrangian(Alternative):
    """tr Π descends under the constraint Σ = I, which dual variables and a quadratic barrier impose.

    Let C = Σ − I on and below the diagonal, and s the largest Rayleigh quotient. The solver seeks a saddle point of
    ½ tr Π / s + Σ_{i ≤ k} (B_ki C_ki + ½ barrier · C_ki²). The functions u descend; no gradient passes through the
    earlier u_i of a C_ki, so that no function gives way to a later one and they come in order. The dual variables B
    ascend by `dual_rate` · barrier · C.

    Each step adds `growth` times the mean of C² to the barrier, which must exceed the spread of the wanted eigenvalues
    over s. If the barrier is much larger, the noise of Σ hides the operator; if B moves faster than u, the two circle
    around the saddle point.

    >>> saddle = AugmentedLagrangian(optax.adam(1e-3), ema_rate=0.1, dual_rate=1e-3)
    """

    optimizer: optax.GradientTransformation = eqx.field(static=True)
    ema_rate: float | Schedule = eqx.field(static=True, default=1.0)
    dual_rate: float | Schedule = eqx.field(static=True, default=1e-3)
    barrier: float = eqx.field(static=True, default=1.0)
    growth: float = eqx.field(static=True, default=1e-3)

    def __check_init__(self):
        _check(self.optimizer, self.ema_rate)
        if not self.barrier > 0 or self.growth < 0:
            raise ValueError(f"barrier must be positive and growth not negative; got {self.barrier} and {self.growth}")

    def begin(self, network: Any, outputs: int) -> State:
        """The state before the first step: dual variables of zero."""
        state = super().begin(network, outputs)
        zero = jnp.zeros_like(state.sigma)
        return state._replace(more=(zero, jnp.asarray(self.barrier, zero.dtype)))

    def update(self, operator: Operator, state: State, batch: Batch) -> tuple[State, Info]:
        """One step down in the network and one up in the dual variables."""
        seen = evaluate(operator, state, batch, at_step(self.ema_rate, state.step, state.sigma))
        # s comes from the orthonormalised functions: the raw quotient of a function that has become equal to an earlier
        # one would be that one's, and s too small for the barrier to separate them. In units of s, a barrier of one is
        # enough where all eigenvalues have the same sign.
        scale = jnp.abs(jnp.diag(seen.now.matrix)).max()
        violation = jnp.tril(seen.sigma - jnp.eye(len(seen.sigma), dtype=seen.sigma.dtype))
        dual, barrier = state.more
        pull = dual + barrier * violation
        descent = seen.ku / scale + _times(seen.u, pull.T)
        _, r = residual(seen.u, seen.ku, seen.now)
        network, memory, info = descend(
            self.optimizer, state.optimizer, seen, seen.gradient(descent), jnp.diag(seen.now.matrix), r
        )
        dual += at_step(self.dual_rate, state.step, dual) * barrier * violation
        more = dual, barrier + self.growth * jnp.mean(violation**2)
        return State(network, memory, seen.sigma, seen.pi, state.step + 1, more), info


def _check(optimizer: Any, ema_rate: float | Schedule) -> None:
    check_optimizer(optimizer)
    if not callable(ema_rate) and not 0 < ema_rate <= 1:
        raise ValueError(f"ema_rate must be in (0, 1], 1 being no averaging; got {ema_rate}")


def _times(left: Float[Array, "b k"], right: Float[Array, "k k"]) -> Float[Array, "b k"]:
    return jnp.matmul(left, right, precision=HIGHEST)


def _where_learning(learns: Bool[Array, " k"], after: Any, before: Any) -> Any:
    """A network with the parameters of `after` for the function that learns, and those of `before` for all others.

    Setting the gradient of the others to zero would not freeze them: an optimiser with momentum moves on without one.
    Functions without parameters come first, so that only the last entries of `learns` count.
    """

    def leaf(new: Array, old: Array) -> Array:
        return jnp.where(learns[-len(new) :].reshape(-1, *[1] * (new.ndim - 1)), new, old)

    return jax.tree.map(lambda new, old: leaf(new, old) if eqx.is_inexact_array(new) else new, after, before)
