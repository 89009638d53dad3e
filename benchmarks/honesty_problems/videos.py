"""Small films: what is true is how slow the features are on another film."""

from collections.abc import Callable

import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from eigenax.estimators import SlowFeatureAnalysis
from honesty_problems.base import Found, add

KIND = "videos"
SIDE = 16
Film = Callable[[np.random.Generator, int], np.ndarray]


def held_out(film: Film, frames: int, n: int, fresh: int = 4000) -> Found:
    """Δ on fresh film, of features that have no variance there infinite, with its scatter between tenths of it."""
    slow = SlowFeatureAnalysis(n, random_state=0).fit(film(np.random.default_rng(0), frames))
    tenths = [slow.transform(film(np.random.default_rng(100 + part), fresh // 10))[2:] for part in range(10)]
    change = np.array([(np.diff(one, axis=0) ** 2).mean(0) for one in tenths])
    variance = np.concatenate(tenths).var(0)
    exact, scatter = change.mean(0) / variance, change.std(0, ddof=1) / np.sqrt(10) / variance
    return Found(slow.delta_values_, slow.modes_.standard_errors, slow.modes_.unconverged, exact, scatter)


def panning(rng: np.random.Generator, frames: int) -> np.ndarray:
    """A window that wanders over one photograph, a smooth random one, with noise."""
    photograph = gaussian_filter(np.random.default_rng(42).normal(size=(90, 90)), 3)
    photograph /= photograph.std()
    way = gaussian_filter1d(rng.normal(size=(frames, 2)), 15, axis=0)
    way = 35 + 12 * way / way.std(0)
    corners = np.clip(np.round(way).astype(int), 0, 70)
    return np.stack([photograph[a : a + SIDE, b : b + SIDE] for a, b in corners])


def ball(rng: np.random.Generator, frames: int) -> np.ndarray:
    """A disc that flies between walls, and is kicked now and then."""
    place, speed, shown = rng.uniform(4, SIDE - 4, 2), rng.normal(size=2) * 0.5, []
    y, x = np.mgrid[:SIDE, :SIDE]
    for _ in range(frames):
        speed = speed + 0.05 * rng.normal(size=2)
        speed *= min(1.0, 1.0 / np.linalg.norm(speed))
        place = place + speed
        outside = (place < 3) | (place > SIDE - 3)
        speed, place = np.where(outside, -speed, speed), np.clip(place, 3, SIDE - 3)
        shown.append(1 / (1 + np.exp(2 * (np.hypot(x - place[0], y - place[1]) - 3))))
    return np.stack(shown)


def flicker(rng: np.random.Generator, frames: int) -> np.ndarray:
    """Independent noise in each frame: nothing is slow."""
    return rng.normal(size=(frames, SIDE, SIDE))


add(KIND, "panning-600", 250, lambda: held_out(panning, 600, 3))
add(KIND, "ball-1500", 250, lambda: held_out(ball, 1500, 3))
add(KIND, "one-short-film-250", 250, lambda: held_out(ball, 250, 3))
add(KIND, "flicker-400", 250, lambda: held_out(flicker, 400, 3))
