"""Series in time: noise, smooth and sharp processes, chaos; what is true is true of the process."""

import numpy as np
from scipy.linalg import expm

from eigenax.estimators import SlowFeatureAnalysis
from honesty_problems.base import Found, add, problem
from honesty_problems.references import reversible_levels, walk_of

KIND = "processes"


def slow_features(series, exact, exact_errors=0.0) -> Found:
    """Of a series or a list of them; Δ of white noise is 2."""
    exact = np.asarray(exact, float)
    slow = SlowFeatureAnalysis(len(exact), random_state=0).fit(series)
    return Found(slow.delta_values_, slow.modes_.standard_errors, slow.modes_.unconverged, exact, exact_errors)


def noise(rows: int, columns: int) -> Found:
    return slow_features(np.random.default_rng(0).normal(size=(rows, columns)), [2.0, 2.0, 2.0])


add(KIND, "noise-300x40", 20, lambda: noise(300, 40))
add(KIND, "noise-2000x5", 30, lambda: noise(2000, 5))


def autoregressive(rates, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Independent x ← a x + noise of variance one, each with its own a."""
    rates = np.asarray(rates)
    series = rng.normal(size=(rows, len(rates)))
    for row in range(1, rows):
        series[row] = rates * series[row - 1] + np.sqrt(1 - rates**2) * series[row]
    return series


@problem(KIND, "ar1-1d", 30)
def ar1() -> Found:
    """Hermite polynomials of x, with Δ = 2 (1 − aᵏ)."""
    series = autoregressive([0.95], 20_000, np.random.default_rng(1))
    return slow_features(series, 2 * (1 - 0.95 ** np.arange(1, 4)))


@problem(KIND, "ar1-mixed-10d", 60)
def ar1_mixed() -> Found:
    """Ten of them, turned at random: products of Hermite polynomials."""
    rng, rates = np.random.default_rng(2), np.array([0.99, 0.9, 0.8, *[0.3] * 7])
    turned = autoregressive(rates, 20_000, rng) @ np.linalg.qr(rng.normal(size=(10, 10)))[0]
    powers = np.sort([0.99**i * 0.9**j * 0.8**k for i in range(40) for j in range(10) for k in range(5)])[::-1]
    return slow_features(turned, 2 * (1 - powers[1:5]))


def diffusion(force, low: float, high: float, cells: int, time: float) -> tuple[np.ndarray, np.ndarray]:
    """The transition matrix of x′ = −V′ + √2 noise after some time on a fine grid, by rates, and the grid."""
    x = np.linspace(low, high, cells)
    value, step = force(x), x[1] - x[0]
    up = np.exp(-(value[1:] - value[:-1]) / 2) / step**2
    down = np.exp(-(value[:-1] - value[1:]) / 2) / step**2
    rates = np.diag(up, 1) + np.diag(down, -1)
    return expm(time * (rates - np.diag(rates.sum(1)))), x


def of_chain(chain: np.ndarray, rows: np.ndarray, n: int, steps: int, episodes: int = 1) -> Found:
    rng = np.random.default_rng(3)
    exact = 2 * (1 - reversible_levels(chain, n + 1)[1:])
    return slow_features([rows[walk_of(chain, steps, rng)] for _ in range(episodes)], exact)


def prinz_potential(x):
    return 4 * (
        x**8 + 0.8 * np.exp(-80 * x**2) + 0.2 * np.exp(-80 * (x - 0.5) ** 2) + 0.5 * np.exp(-40 * (x + 0.5) ** 2)
    )


@problem(KIND, "prinz-series", 60)
def prinz() -> Found:
    chain, x = diffusion(prinz_potential, -1.3, 1.3, 400, 0.005)
    return of_chain(chain, x[:, None], 3, 10_000, 5)


@problem(KIND, "double-well-series", 40)
def double_well() -> Found:
    chain, x = diffusion(lambda x: 3 * (x**2 - 1) ** 2, -2.2, 2.2, 300, 0.05)
    return of_chain(chain, x[:, None], 3, 30_000)


@problem(KIND, "sharp-border-series", 40)
def sharp_border() -> Found:
    """Two flat rooms of unequal size and a barrier of a hundredth between them."""
    chain, x = diffusion(lambda x: 5 * np.exp(-(((x - 0.62) / 0.01) ** 2)), 0, 1, 400, 0.01)
    return of_chain(chain, x[:, None], 2, 20_000)


@problem(KIND, "short-episodes-series", 40)
def short_episodes() -> Found:
    """The double well in 2000 episodes of ten steps."""
    chain, x = diffusion(lambda x: 2 * (x**2 - 1) ** 2, -2.2, 2.2, 200, 0.05)
    return of_chain(chain, x[:, None], 2, 10, 2000)


def noisy_logistic(rows: int, noise: float, rng: np.random.Generator) -> np.ndarray:
    """x ← 4 x (1 − x), with noise of the angle x is made of: (1 − cos π θ)/2, θ a tent map."""
    angles = np.zeros(rows)
    angles[0] = rng.random()
    for row in range(1, rows):
        folded = abs((2 * angles[row - 1] if angles[row - 1] < 0.5 else 2 - 2 * angles[row - 1]) + noise * rng.normal())
        folded %= 2
        angles[row] = min(folded, 2 - folded)
    return (1 - np.cos(np.pi * angles)) / 2


@problem(KIND, "logistic-map", 40)
def logistic() -> Found:
    """cos π k θ goes to cos 2 π k θ, damped by the noise: chains of k, 2k, 4k, …, one for each odd k."""
    noise, values = 0.1, []
    for first in range(1, 40, 2):
        links = np.exp(-((np.pi * first * 2.0 ** np.arange(8) * noise) ** 2) / 2) / 2
        values.append(np.linalg.eigvalsh(np.diag(links, 1) + np.diag(links, -1)))
    exact = 2 * (1 - np.sort(np.concatenate(values))[::-1][:2])
    return slow_features(noisy_logistic(20_000, noise, np.random.default_rng(4))[:, None], exact)
