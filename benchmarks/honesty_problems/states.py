"""States with numbers, against the graph of the steps that were taken, counted."""

import numpy as np

import eigenax as ex
from eigenax.estimators import LaplacianRepresentation
from honesty_problems.base import Found, add, problem, solved
from honesty_problems.references import counted, graph_levels, walk_of

KIND = "numbered states"


def of_episodes(episodes: list[np.ndarray], states: int, n: int) -> Found:
    """I − D⁻¹A of what was seen, without the constant."""
    exact = graph_levels(counted(episodes, states), n + 1, by_degrees=True)[1:]
    smooth = LaplacianRepresentation(n, random_state=0).fit(episodes)
    return Found(smooth.eigenvalues_, smooth.modes_.standard_errors, smooth.modes_.unconverged, exact)


def played(name: str, steps: int, **settings) -> tuple[list[np.ndarray], int]:
    """What a random agent sees."""
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
    return [np.array(one) for one in episodes], states


add(KIND, "frozen-lake", 30, lambda: of_episodes(*played("FrozenLake-v1", 20_000), 5))
add(KIND, "frozen-lake-8x8", 40, lambda: of_episodes(*played("FrozenLake-v1", 20_000, map_name="8x8"), 5))
add(KIND, "cliff-walking", 40, lambda: of_episodes(*played("CliffWalking-v1", 20_000), 5))
add(KIND, "taxi", 100, lambda: of_episodes(*played("Taxi-v4", 100_000), 5))


def random_chain(states: int) -> np.ndarray:
    """From each state to five others, with random probabilities."""
    rng = np.random.default_rng(5)
    chain = np.zeros((states, states))
    for row in chain:
        row[rng.choice(states, 5, replace=False)] = rng.dirichlet(np.ones(5))
    return chain


@problem(KIND, "random-chain", 20)
def chain() -> Found:
    return of_episodes([walk_of(random_chain(60), 20_000, np.random.default_rng(6))], 60, 4)


@problem(KIND, "random-chain-short-episodes", 20)
def short() -> Found:
    """Two thousand episodes of three steps."""
    rng = np.random.default_rng(7)
    chain = random_chain(30)
    return of_episodes([walk_of(chain, 4, rng) for _ in range(2000)], 30, 4)


@problem(KIND, "ring-walk", 20)
def ring() -> Found:
    walk = np.random.default_rng(8).choice([-1, 1], 20_000).cumsum() % 51
    return of_episodes([walk], 51, 4)


@problem(KIND, "steps-of-numbers", 30)
def steps() -> Found:
    """Steps around a ring whose states are numbers that nobody counts."""
    walk = np.random.default_rng(9).choice([-1, 0, 1], 20_000).cumsum() % 40
    exact = graph_levels(counted([walk], 40), 5, by_degrees=True)
    return solved(ex.GraphLaplacian(), ex.Steps(walk[:-1, None], walk[1:, None]), exact)
