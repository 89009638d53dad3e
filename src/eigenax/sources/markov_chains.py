"""Markov chains: points distributed as the functions themselves are, in any number of dimensions."""

import dataclasses
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from eigenax.checks import check_choice, positive_int
from eigenax.core.batch import Function, Points
from eigenax.core.compiled import compiled
from eigenax.core.lattice import drawn_in_proportion
from eigenax.core.precision import full_precision, precision_scope
from eigenax.core.rayleigh import HIGHEST, second_moment
from eigenax.domains.base import Domain
from eigenax.domains.box import Box
from eigenax.sources.base import Sampler, Source
from eigenax.sources.drawn import drawn
from eigenax.sources.uniform import as_sampler

Proposal = Literal["langevin", "metropolis"]
ACCEPTED = {"langevin": 0.6, "metropolis": 0.3}
"""The share of moves that the step length is adapted to: about where chains forget the fastest."""
ADAPTATION = 0.3
"""How much the logarithm of the step length changes for each unit that the accepted share is off."""
BURN_IN = 200
"""Moves before the first batch."""
MOST_DRIFT = 2.0
"""The longest drift along an axis, in units of the noise: gradients of log ρ grow without bound where all functions
vanish."""
CANDIDATES = 64
"""Points of the source for each chain, of which the first positions are drawn if none are given."""
UNDERFLOW = 12.0
"""Where log ρ is less than this above the smallest number, it is taken for rounded to zero."""
JUMPS = 0.1
"""The share of moves that try to jump to another well, where there are several."""
POSITIONS = 2**14
"""Points that tell the norm of functions, their signs, and where they are."""
DRAWN = 2**12
"""How many of them are drawn at once."""
LAGS = 256
"""The most moves after which it is asked whether a chain has forgotten where it was."""
FORGOTTEN = 0.05
"""A chain has forgotten where it was when the correlation of all that is looked at is below this."""


class ChainState(NamedTuple):
    """Where the chains are, and what makes them move well."""

    x: Float[Array, "b d"]
    """The positions, in the parameters of the domain."""
    whitening: Float[Array, "k k"]
    """L⁻¹, which makes v = L⁻¹ u orthonormal in a unit that is not known."""
    step: Float[Array, ""]
    """The length of a move in units of the chains' own spread."""
    axes: Float[Array, "d d"]
    """A Cholesky factor of the covariance of the chains."""
    accepted: Float[Array, ""]
    """The share of the last moves that were accepted."""


class MarkovChains(Sampler):
    """Markov chains with the density ρ = mean_k v_k² of the functions being trained, for local operators.

    The functions v = L⁻¹ u are orthonormal combinations of those being trained: Σ = L Lᵀ is that of the last batch.

    Each draw makes `moves` moves of every chain, one chain for each point of the batch. The weights 1/ρ make means
    those of the source, up to a factor that is not known and that no eigenvalue depends on: what is averaged for Σ,
    n v_i v_j / Σ_k v_k², is bounded whatever the number of dimensions, where the weights of fixed points would mean
    nothing.

    A move is a step of `proposal="langevin"`, which follows the gradient of log ρ, or a random one, `"metropolis"`;
    both are accepted by the rule of Metropolis and Hastings, and their length is adapted. Moves over a periodic face
    come back at the other side, moves over any other face are rejected. If `start`, points in the places where
    states may be, falls into clusters, a tenth of the moves try to jump between these. Without `start`, chains
    begin at points of the source, drawn in proportion to the first functions.

    >>> from eigenax import Box
    >>> MarkovChains(Box(-6, 6, dims=20)).moves
    10
    """

    local_only = True

    of: Source
    start: Float[np.ndarray, "c d"] | None
    jumps: Float[np.ndarray, "j d"]
    """Differences between the centres of clusters, in both directions; none if there is one cluster."""
    moves: int = eqx.field(static=True)
    proposal: Proposal = eqx.field(static=True)

    def __init__(
        self,
        source: Any,
        moves: int = 10,
        proposal: Proposal = "langevin",
        start: Float[np.ndarray, "c d"] | None = None,
        centres: Float[np.ndarray, "m d"] | None = None,
    ):
        made = as_sampler(source)
        if not isinstance(made, Source) or made.domain is None:
            raise ValueError(
                f"MarkovChains needs a domain to move on, such as a Box or a Surface; got {type(source).__name__}"
            )
        check_choice("proposal", proposal, get_args(Proposal))
        self.of, self.moves, self.proposal = made, positive_int("moves", moves), proposal
        dims = made.shape[0]
        if start is not None and (start.ndim != 2 or start.shape[1] != dims or not len(start)):
            raise ValueError(f"start must be points (c, {dims}) of the domain; got an array of shape {start.shape}")
        self.start = start
        self.jumps = np.zeros((0, dims))
        if centres is not None and len(centres) > 1:
            self.jumps = (centres[:, None] - centres)[~np.eye(len(centres), dtype=bool)]

    @property
    def source(self) -> Source:
        """The source whose means the weighted points give."""
        return self.of

    @property
    def domain(self) -> Domain:
        """The domain that the chains move on."""
        assert self.of.domain is not None, "checked when it was made"
        return self.of.domain

    def init(self, functions: Function, key: PRNGKeyArray, size: int) -> ChainState:
        """The chains after they have forgotten their first positions, as far as moves within wells can."""
        return _settled(self, self.begun(functions, key, size), functions, jax.random.split(key)[1])

    def begun(self, functions: Function, key: PRNGKeyArray, size: int) -> ChainState:
        """The chains at their first positions."""
        return _begun(self, functions, jax.random.split(key)[0], size)

    @property
    def burn_in(self) -> int:
        """The number of draws after which the first positions are forgotten."""
        return -(-BURN_IN // self.moves)

    def draw(self, state: ChainState, functions: Function, key: PRNGKeyArray, size: int) -> tuple[ChainState, Points]:
        """Move all chains, adapt their moves, and return their positions."""
        state, logs, u = moved(self, state, functions, key, self.moves, adapting=True)
        weights = _inverse(logs)
        return state._replace(whitening=_whitening(u, weights, state.whitening)), Points(state.x, weights)

    def measured(self, state: ChainState, functions: Function, key: PRNGKeyArray) -> "MarkovChainPoints":
        """A source of nearly independent points of the density of these functions, for measuring them."""
        state = _settled(self, state, functions, key)
        moves = moves_to_forget(self, state, functions, jax.random.fold_in(key, 1))
        held = MarkovChains(self.of, moves, self.proposal)
        held = eqx.tree_at(lambda chains: chains.jumps, held, self.jumps)
        return MarkovChainPoints(held, functions, tuple(map(np.asarray, state)))


class MarkovChainPoints(Source):
    """Points of Markov chains with the density of fixed functions: what was trained on chains is measured on these.

    Every draw begins at positions that already have the density, and makes as many moves as chains need to forget them.
    """

    up_to_a_factor = True

    chains: MarkovChains
    functions: Any
    state: tuple[Any, ...]
    """The arrays of a `ChainState`, in their order: a file holds them as a plain tuple."""
    log_norm: float = 0.0
    """The logarithm of the integral of ρ, which makes the weights those of the source. See `eigenax.core.bridge`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(d,), the shape of one point."""
        return self.chains.of.shape

    @property
    def domain(self) -> Domain:
        """The domain of the points."""
        return self.chains.domain

    def sample(self, key: PRNGKeyArray, size: int) -> Points:
        """Points with weights."""
        return self._from(key, size, jax.random.randint(key, (), 0, len(self.state[0])))

    def sample_qmc(self, key: PRNGKeyArray, size: int, part: int | Int[Array, ""] = 0) -> Points:
        """The same; the parts 0, 1, 2 … begin at different positions."""
        return self._from(jax.random.fold_in(key, part), size, jnp.asarray(part * size))

    def positions(self, key: PRNGKeyArray) -> Float[np.ndarray, "b d"]:
        """`POSITIONS` points with the density ρ."""
        unscaled = dataclasses.replace(self, log_norm=0.0)  # a number that would be compiled into the program
        with precision_scope("float32"), full_precision():
            return np.concatenate(
                [
                    np.asarray(drawn(unscaled, key, DRAWN, False, jnp.asarray(part)).x)
                    for part in range(POSITIONS // DRAWN)
                ]
            ).astype(np.float64)

    def _from(self, key: PRNGKeyArray, size: int, first: Int[Array, ""]) -> Points:
        dtype = jnp.zeros(()).dtype
        state = ChainState(*(jnp.asarray(part, dtype) for part in self.state))
        state = state._replace(x=state.x[(first + jnp.arange(size)) % len(state.x)])
        state, logs, _ = moved(self.chains, state, self.functions, key, self.chains.moves)
        return Points(state.x, jnp.exp(jnp.asarray(self.log_norm, dtype)) * _inverse(logs))


def log_density(functions: Function, whitening: Float[Array, "k k"], x: Float[Array, " d"]) -> tuple[Array, Array]:
    """log ρ at one point, with ρ = mean_k v_k² and v = whitening @ u, and u."""
    u = functions(x)
    v = jnp.matmul(whitening, u, precision=HIGHEST)
    return jnp.log(jnp.mean(v**2) + jnp.finfo(u.dtype).tiny), u


def _inverse(logs: Float[Array, " b"]) -> Float[Array, " b"]:
    """1/ρ; zero where ρ underflows, since all functions vanish there too."""
    seen = logs > jnp.log(jnp.finfo(logs.dtype).tiny) + UNDERFLOW
    return jnp.where(seen, jnp.exp(-jnp.where(seen, logs, 0)), 0)


def _whitening(u: Float[Array, "b k"], weights: Float[Array, " b"], before: Float[Array, "k k"]) -> Float[Array, "k k"]:
    """L⁻¹ of Σ on a batch, made regular where there are hardly more points than functions."""
    sigma = second_moment(u, u, weights)
    shrunk = u.shape[1] / (len(u) + u.shape[1])
    cholesky = jnp.linalg.cholesky((1 - shrunk) * sigma + shrunk * jnp.diag(jnp.diag(sigma)))
    new = jax.scipy.linalg.solve_triangular(cholesky, jnp.eye(len(sigma), dtype=u.dtype), lower=True)
    return jnp.where(jnp.isfinite(new).all(), new, before)


class _At(NamedTuple):
    """What is known at the positions of the chains."""

    log: Float[Array, " b"]
    """log ρ, and on a curved domain also that of the area of its parameters."""
    log_area: Float[Array, " b"]
    slope: Float[Array, "b d"]
    u: Float[Array, "b k"]


def _at(chains: MarkovChains, functions: Function, whitening: Array, x: Float[Array, "b d"]) -> _At:
    def total(y: Array) -> tuple[Array, tuple[Array, Array]]:
        log, u = log_density(functions, whitening, y)
        area = jnp.log(chains.domain.importance_weights(y[None])[0])
        return log + area, (area, u)

    if chains.proposal == "metropolis":
        log, (area, u) = jax.vmap(total)(x)
        return _At(log, area, jnp.zeros_like(x), u)
    (log, (area, u)), slope = jax.vmap(jax.value_and_grad(total, has_aux=True))(x)
    return _At(log, area, jnp.where(jnp.isfinite(slope), slope, 0), u)


def moved(
    chains: MarkovChains, state: ChainState, functions: Function, key: PRNGKeyArray, moves: int, adapting: bool = False
) -> tuple[ChainState, Float[Array, " b"], Float[Array, "b k"]]:
    """The chains after some moves, log ρ there and the functions' values. Only with `adapting` do moves adapt."""
    box, axes, step = chains.domain.box, state.axes, state.step
    drifting = chains.proposal == "langevin"

    def drift(slope: Float[Array, "b d"]) -> Float[Array, "b d"]:
        """In the coordinates of the axes; a function of the position alone, so that a move can be reversed."""
        along = jnp.matmul(slope, axes, precision=HIGHEST) * step**2 / 2
        return jnp.clip(along, -MOST_DRIFT * step, MOST_DRIFT * step)

    def move(before: tuple[Array, _At, Array], now: tuple[Array, Array]) -> tuple[tuple[Array, _At, Array], None]:
        (x, here, accepted), (key, begins) = before, now
        for_noise, for_jump, for_choice, for_rule = jax.random.split(key, 4)
        noise = jax.random.normal(for_noise, x.shape, x.dtype)
        forward = drift(here.slope) if drifting else jnp.zeros_like(x)
        change = jnp.matmul(forward + step * noise, axes.T, precision=HIGHEST)
        leap = jnp.zeros(len(x), bool)
        if len(chains.jumps):
            leap = jax.random.uniform(for_jump, (len(x),)) < JUMPS
            chosen = jax.random.randint(for_choice, (len(x),), 0, len(chains.jumps))
            change = jnp.where(leap[:, None], jnp.asarray(chains.jumps, x.dtype)[chosen], change)
        proposed, inside = _within(box, x + change, x)
        proposed = jnp.where(begins, x, proposed)
        there = _at(chains, functions, state.whitening, proposed)
        backward = drift(there.slope) if drifting else jnp.zeros_like(x)
        reverse = noise + (forward + backward) / step
        asymmetry = (jnp.sum(noise**2, 1) - jnp.sum(reverse**2, 1)) / 2 if drifting else 0.0
        ratio = there.log - here.log + jnp.where(leap, 0, asymmetry)
        uniform = jax.random.uniform(for_rule, (len(x),), x.dtype, minval=jnp.finfo(x.dtype).tiny)
        taken = begins | inside & jnp.isfinite(there.log) & (jnp.log(uniform) < ratio)
        after = jax.tree.map(lambda new, old: jnp.where(_column(taken, new), new, old), there, here)
        share = jnp.sum(taken & ~leap) / jnp.maximum(jnp.sum(~leap), 1)
        return (jnp.where(taken[:, None], proposed, x), after, accepted + jnp.where(begins, 0, share)), None

    # The first pass stays where the chains are: a second copy of the functions, before the loop, would take as long to
    # compile as the loop itself.
    unknown = jax.eval_shape(lambda x: _at(chains, functions, state.whitening, x), state.x)
    start = (state.x, jax.tree.map(lambda one: jnp.zeros(one.shape, one.dtype), unknown), jnp.zeros((), state.x.dtype))
    keys = jax.random.split(key, moves)
    passes = jnp.concatenate([keys[:1], keys]), jnp.arange(moves + 1) == 0
    (x, at, accepted), _ = jax.lax.scan(move, start, passes)
    state = state._replace(x=x, accepted=accepted / moves)
    return (_adapted(chains, state) if adapting else state), at.log - at.log_area, at.u


def _column(which: Bool[Array, " b"], like: Array) -> Array:
    return which.reshape(-1, *[1] * (like.ndim - 1))


def _adapted(chains: MarkovChains, state: ChainState) -> ChainState:
    """The step length for the wanted share of accepted moves, and axes that follow the chains' covariance."""
    step = state.step * jnp.exp(ADAPTATION * (state.accepted - ACCEPTED[chains.proposal]))
    covariance = 0.9 * state.axes @ state.axes.T + 0.1 * _covariance(state.x)
    axes = jnp.linalg.cholesky(covariance)
    return state._replace(step=step, axes=jnp.where(jnp.isfinite(axes).all(), axes, state.axes))


def _covariance(x: Float[Array, "b d"]) -> Float[Array, "d d"]:
    """The covariance of the positions, made regular where there are hardly more of them than dimensions."""
    away = x - x.mean(0)
    covariance = jnp.matmul(away.T, away, precision=HIGHEST) / len(x)
    shrunk = x.shape[1] / (len(x) + x.shape[1])
    diagonal = jnp.diag(jnp.diag(covariance) + jnp.finfo(x.dtype).tiny)
    return (1 - shrunk) * covariance + shrunk * diagonal


def _within(box: Box, moved: Float[Array, "b d"], before: Float[Array, "b d"]) -> tuple[Array, Bool[Array, " b"]]:
    """Positions with periodic axes wrapped, and which of them are inside the box; others are where they were before."""
    low, high = jnp.asarray(box.low, moved.dtype), jnp.asarray(box.high, moved.dtype)
    wrapped = jnp.where(box.periodic_axes, low + (moved - low) % (high - low), moved)
    inside = jnp.all((wrapped > low) & (wrapped < high) | box.periodic_axes, 1)
    return jnp.where(inside[:, None], wrapped, before), inside


@compiled
def _begun(chains: MarkovChains, functions: Function, key: PRNGKeyArray, size: int) -> ChainState:
    """The chains at their first positions."""
    for_start, for_choice = jax.random.split(key)
    if chains.start is None:
        drawn = chains.of.sample(for_start, CANDIDATES * size).x
        u = jax.vmap(functions)(drawn)
        x = drawn[drawn_in_proportion(for_choice, jnp.mean(u**2 / jnp.mean(u**2, 0), 1), size)]
    else:
        x = jnp.asarray(chains.start)[
            jax.random.permutation(for_choice, len(chains.start))[jnp.arange(size) % len(chains.start)]
        ]
    x = x.astype(jnp.zeros(()).dtype)
    u = jax.vmap(functions)(x)
    # As if the points had the density of the functions already.
    whitening = _whitening(u, 1 / jnp.mean(u**2 / jnp.mean(u**2, 0), 1), jnp.eye(u.shape[1], dtype=x.dtype))
    first = 0.5 if chains.proposal == "langevin" else 2.4 / np.sqrt(x.shape[1])
    axes = jnp.linalg.cholesky(_covariance(x))
    return ChainState(x, whitening, jnp.asarray(first, x.dtype), axes, jnp.zeros((), x.dtype))


@compiled
def _settled(chains: MarkovChains, state: ChainState, functions: Function, key: PRNGKeyArray) -> ChainState:
    """The chains after as many moves as before the first batch, so that they have the density of these functions."""

    def draw(state: ChainState, key: PRNGKeyArray) -> tuple[ChainState, None]:
        return chains.draw(state, functions, key, len(state.x))[0], None

    return jax.lax.scan(draw, state, jax.random.split(key, chains.burn_in))[0]


def moves_to_forget(chains: MarkovChains, state: ChainState, functions: Function, key: PRNGKeyArray) -> int:
    """After how many moves the positions and log ρ are uncorrelated with what they were; `LAGS` if it takes longer."""
    correlations = np.asarray(_correlations(chains, state, functions, key))
    below = np.flatnonzero((correlations < FORGOTTEN).all(1))
    return max(int(below[0]) + 1 if len(below) else LAGS, chains.moves)


@compiled
def _correlations(
    chains: MarkovChains, state: ChainState, functions: Function, key: PRNGKeyArray
) -> Float[Array, "lags o"]:
    """The correlation of each coordinate and of log ρ with itself after 1, 2 … moves of the chains."""

    def seen(x: Array, logs: Array) -> Array:
        box = chains.domain.box
        turns = jnp.pi * x / jnp.asarray(box.half_width, x.dtype)
        all_of_them = jnp.concatenate([jnp.where(box.periodic_axes, jnp.cos(turns), x), logs[:, None]], 1)
        away = all_of_them - all_of_them.mean(0)
        return away / (jnp.sqrt(jnp.mean(away**2, 0)) + jnp.finfo(x.dtype).tiny)

    logs = jax.vmap(lambda y: log_density(functions, state.whitening, y)[0])(state.x)
    first = seen(state.x, logs)

    def move(state: ChainState, key: PRNGKeyArray) -> tuple[ChainState, Array]:
        state, logs, _ = moved(chains, state, functions, key, 1)
        return state, jnp.mean(first * seen(state.x, logs), 0)

    return jax.lax.scan(move, state, jax.random.split(key, LAGS))[1]
