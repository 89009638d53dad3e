"""States with numbers: what is true is true of the process, of which an agent sees a few steps."""

import numpy as np

import eigenax as ex
from eigenax.estimators import LaplacianRepresentation
from honesty_problems.base import Found, add, problem, solved
from honesty_problems.references import graph_levels, reversible_levels, walk_of

KIND = "numbered states"


def of_episodes(episodes: list[np.ndarray], exact: np.ndarray) -> Found:
    """I − D⁻¹A without the constant."""
    smooth = LaplacianRepresentation(len(exact), random_state=0).fit(episodes)
    return Found(smooth.eigenvalues_, smooth.modes_.standard_errors, smooth.modes_.unconverged, exact)


def played(name: str, steps: int, n: int, **settings) -> Found:
    """What a random agent sees of an environment, and the graph that it walks on."""
    import gymnasium

    env, rng = gymnasium.make(name, **settings), np.random.default_rng(0)
    states, actions = (int(space.n) for space in (env.observation_space, env.action_space))  # pyright: ignore
    episodes: list[list[int]] = []
    over = True
    for step in range(steps):
        if over:
            episodes.append([int(env.reset(seed=0 if step == 0 else None)[0])])
        state, _, terminated, truncated, _ = env.step(int(rng.integers(actions)))
        episodes[-1].append(int(state))
        over = terminated or truncated
    longest = (env.spec and env.spec.max_episode_steps) or steps
    flow = flow_of(env.unwrapped, states, actions, longest)
    seen = flow.sum(1) > 1e-12
    exact = graph_levels(flow[seen][:, seen], n + 1, by_degrees=True)[1:]
    return of_episodes([np.array(one) for one in episodes], exact)


def flow_of(env, states: int, actions: int, longest: int) -> np.ndarray:
    """How often a random agent steps from each state to each other one in an episode, in either direction."""
    going, ending = np.zeros((states, states)), np.zeros((states, states))
    for state in range(states):
        for action in range(actions):
            for chance, after, _, terminated in env.P[state][action]:
                (ending if terminated else going)[state, after] += chance / actions
    at = np.asarray(env.initial_state_distrib, float)
    visits = np.zeros(states)
    for _ in range(longest):
        visits += at
        at = at @ going
    flow = visits[:, None] * (going + ending)
    return (flow + flow.T) / 2


add(KIND, "frozen-lake", 30, lambda: played("FrozenLake-v1", 20_000, 5))
add(KIND, "frozen-lake-8x8", 40, lambda: played("FrozenLake-v1", 20_000, 5, map_name="8x8"))
add(KIND, "cliff-walking", 40, lambda: played("CliffWalking-v1", 20_000, 5))
add(KIND, "taxi", 100, lambda: played("Taxi-v4", 100_000, 5))


def random_chain(states: int) -> np.ndarray:
    """From each state to five others, with random probabilities."""
    rng = np.random.default_rng(5)
    chain = np.zeros((states, states))
    for row in chain:
        row[rng.choice(states, 5, replace=False)] = rng.dirichlet(np.ones(5))
    return chain


@problem(KIND, "random-chain", 10)
def chain() -> Found:
    chain = random_chain(60)
    exact = 1 - reversible_levels(chain, 5)[1:]
    return of_episodes([walk_of(chain, 20_000, np.random.default_rng(6))], exact)


@problem(KIND, "random-chain-short-episodes", 10)
def short() -> Found:
    """Two thousand episodes of three steps."""
    rng, chain = np.random.default_rng(7), random_chain(30)
    exact = 1 - reversible_levels(chain, 5)[1:]
    return of_episodes([walk_of(chain, 4, rng) for _ in range(2000)], exact)


@problem(KIND, "ring-walk", 10)
def ring() -> Found:
    """Fifty-one states in a ring, around which a walk of 20 000 steps goes a few times."""
    walk = np.random.default_rng(8).choice([-1, 1], 20_000).cumsum() % 51
    return of_episodes([walk], 1 - np.cos(2 * np.pi * np.array([1, 1, 2, 2]) / 51))


@problem(KIND, "steps-of-numbers", 20)
def steps() -> Found:
    """Steps around a ring whose states are numbers that nobody counts, and that stays now and then."""
    walk = np.random.default_rng(9).choice([-1, 0, 1], 20_000).cumsum() % 40
    exact = 2 / 3 * (1 - np.cos(2 * np.pi * np.array([0, 1, 1, 2, 2]) / 40))
    return solved(ex.GraphLaplacian(), ex.Transitions(walk[:-1, None], walk[1:, None]), exact)
