"""Errors of today, against closed forms and dense matrices: what is changed inside must not make them worse.

A bound is twice the largest error that the seeds 0, 1 and 2 had when it was written down; the comment beside it says
what each had. What was nothing but rounding is bounded by `ROUNDING`, since another processor rounds in another way.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from sklearn.datasets import load_digits

import eigenax as ex
from eigenax.bases.softmax_cells import neighbour_graph
from eigenax.estimators import SlowFeatureAnalysis, SpectralEmbedding
from eigenax.lab.baselines.graph import exact_modes, graph_of, graph_of_edges, graph_of_steps
from eigenax.lab.baselines.linear_sfa import slow_directions
from eigenax.lab.baselines.nystrom import Likeness, decomposed
from eigenax.lab.datasets.gridworlds import read_map
from eigenax.lab.datasets.logistic_map import driven_logistic_map
from eigenax.lab.experiments.digits import split
from eigenax.lab.scores.spectrum import degenerate_blocks, relative_errors
from eigenax.lab.spectra.box import box_energies
from eigenax.lab.spectra.hydrogen import energies, shells
from eigenax.lab.spectra.mercer import rbf_modes, rbf_spectrum
from eigenax.lab.spectra.oscillator import oscillator_energies
from eigenax.lab.spectra.sphere import sphere_spectrum

SEED = 0
ROUNDING = 1e-10
FEW = 3
"""Standard errors that have to cover an error; the largest of all seeds and problems was 0.99 of one."""
WELL = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
ATOM = -ex.Laplacian() + ex.Potential(lambda x: -1 / jnp.linalg.norm(x), singularities=[(0.0, 0.0)])
RBF = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / 2))
FOUR_ROOMS = read_map("four-rooms")
CELLS = FOUR_ROOMS.cells.astype(float)


def largest_error(modes, exact):
    """Relative, and absolute where the exact value is zero."""
    return relative_errors(modes.eigenvalues, exact).max()


def in_standard_errors(modes, exact):
    return (np.abs(modes.eigenvalues - exact) / modes.standard_errors).max()


def largest_sine(learned, exact, values, weights=1.0):
    """Of the angle between a learned function and the exact ones of its eigenvalue, which may be turned at will."""
    root = np.sqrt(weights * np.ones(len(exact)))[:, None]
    learned, exact = root * np.asarray(learned, float), root * np.asarray(exact, float)
    sines = []
    for block in degenerate_blocks(values, 1e-6):
        basis = np.linalg.qr(exact[:, block])[0]
        outside = learned[:, block] - basis @ (basis.T @ learned[:, block])
        sines.append(np.linalg.norm(outside, axis=0) / np.linalg.norm(learned[:, block], axis=0))
    return np.concatenate(sines).max()


def in_float64(function, points):
    """Values at points, with the digits that float32 would cut off."""
    with jax.enable_x64(True):
        return np.asarray(function(jnp.asarray(points)))


def lattice(*axes):
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes))


def hermite(x, degree):
    return np.polynomial.hermite.hermval(x, np.eye(degree + 1)[degree]) * np.exp(-(x**2) / 2)


def oscillator_1d():
    x = np.linspace(-5, 5, 201)[:, None]
    exact = np.stack([hermite(x[:, 0], degree) for degree in range(3)], 1)
    return WELL, ex.Box(-6, 6), oscillator_energies(3, (1,)), x, exact


def oscillator_2d():
    x = lattice(np.linspace(-5, 5, 41), np.linspace(-5, 5, 41))
    degrees = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    exact = np.stack([hermite(x[:, 0], a) * hermite(x[:, 1], b) for a, b in degrees], 1)
    return WELL, ex.Box(-6, 6, dims=2), oscillator_energies(6, (1, 1)), x, exact


def walls():
    x = lattice(np.linspace(0, 1, 41), np.linspace(0, 1, 41))
    waves = [(1, 1), (1, 2), (2, 1), (2, 2)]
    exact = np.stack([np.sin(np.pi * a * x[:, 0]) * np.sin(np.pi * b * x[:, 1]) for a, b in waves], 1)
    return -ex.Laplacian(), ex.Box(0, 1, dims=2), box_energies(4, (1, 1)), x, exact


def periodic_and_free():
    x = lattice(np.linspace(0, 1, 41), np.linspace(0, 1, 41))
    a, b = x.T
    exact = [a**0, np.cos(np.pi * b), np.cos(2 * np.pi * b), np.cos(2 * np.pi * a), np.sin(2 * np.pi * a)]
    faces = ("periodic", "neumann")
    box = ex.Box(0, 1, dims=2, boundary=faces)
    return -ex.Laplacian(), box, box_energies(5, (1, 1), faces), x, np.stack(exact, 1)


def sphere():
    surface = ex.sphere()
    angles = lattice(np.linspace(0.1, 3, 30), np.linspace(0, 6.2, 30))
    x, y, z = in_float64(jax.vmap(surface.embedding), angles).T
    exact = np.stack([x**0, x, y, z, x * y, y * z, z * x, x**2 - y**2, 3 * z**2 - 1], 1)
    return -ex.LaplaceBeltrami(surface.embedding), surface, sphere_spectrum(9), angles, exact


def hydrogen():
    """Around the nucleus, as far as the third shell goes."""
    radii, angles = np.meshgrid(np.geomspace(0.01, 50, 60), np.linspace(0, 6.2, 24))
    x = np.stack([radii * np.cos(angles), radii * np.sin(angles)], -1).reshape(-1, 2)
    exact = in_float64(jax.vmap(lambda one: shells(one, 9)), x)
    return ATOM, ex.Box(-80, 80, dims=2), energies(9), x, exact


def errors_of_physics(problem, **settings):
    operator, source, values, points, functions = problem()
    modes = ex.solve(operator, source, len(values), progress=False, **settings)
    sine = largest_sine(in_float64(modes, points), functions, values)
    return largest_error(modes, values), sine, in_standard_errors(modes, values)


FEWER_WAVES = {"solver": ex.RayleighRitz(max_basis=256)}
"""For what the default takes too long for; the default itself is among the slow tests."""
PHYSICS = [
    # Largest errors of an eigenvalue, relative, and sines, for seeds 0, 1 and 2:
    # 2.83e-6, 2.53e-6, 3.28e-6 and 6.47e-4, 4.26e-4, 5.88e-4
    pytest.param(hydrogen, FEWER_WAVES, 3.28e-6, 6.47e-4, id="hydrogen"),
    # 1.96e-7, 1.19e-7, 1.96e-7 and 1.37e-4, 2.17e-4, 1.08e-4
    pytest.param(hydrogen, {}, 1.96e-7, 2.17e-4, id="hydrogen by default", marks=pytest.mark.slow),
    # 8.52e-9, 4.91e-9, 1.09e-8 and 1.03e-4, 5.70e-5, 1.33e-4
    pytest.param(oscillator_1d, FEWER_WAVES, 1.09e-8, 1.33e-4, id="oscillator on a line"),
    # 1.87e-8, 1.75e-9, 5.51e-9 and 1.49e-5, 2.04e-5, 1.54e-5
    pytest.param(oscillator_1d, {}, 1.87e-8, 2.04e-5, id="oscillator on a line by default", marks=pytest.mark.slow),
    # 4.00e-8, 1.82e-8, 4.21e-8 and 1.13e-4, 1.99e-4, 1.79e-4
    pytest.param(oscillator_2d, FEWER_WAVES, 4.21e-8, 1.99e-4, id="oscillator in a plane", marks=pytest.mark.slow),
    # 1.49e-9, 2.60e-9, 2.68e-9 and 4.36e-5, 4.85e-5, 5.13e-5
    pytest.param(oscillator_2d, {}, 2.68e-9, 5.13e-5, id="oscillator in a plane by default", marks=pytest.mark.slow),
    # 7.26e-9, 1.05e-8, 1.32e-8 and 1.07e-4, 8.29e-5, 1.44e-4
    pytest.param(walls, FEWER_WAVES, 1.32e-8, 1.44e-4, id="particle in a box"),
    # 9.07e-10, 6.91e-10, 6.96e-10 and 2.55e-5, 1.84e-5, 2.86e-5
    pytest.param(walls, {}, 9.07e-10, 2.86e-5, id="particle in a box by default", marks=pytest.mark.slow),
    # 1.85e-7, 2.42e-7, 1.03e-6 and 2.71e-4, 1.44e-4, 5.89e-4
    pytest.param(periodic_and_free, FEWER_WAVES, 1.03e-6, 5.89e-4, id="periodic and free"),
    # 3.64e-8, 1.27e-8, 3.10e-8 and 6.87e-5, 3.71e-5, 7.33e-5
    pytest.param(periodic_and_free, {}, 3.64e-8, 7.33e-5, id="periodic and free by default", marks=pytest.mark.slow),
    # 8.60e-8, 1.64e-7, 6.95e-8 and 1.88e-4, 1.54e-4, 1.79e-4
    pytest.param(sphere, FEWER_WAVES, 1.64e-7, 1.88e-4, id="sphere"),
    # 6.85e-9, 4.86e-9, 7.63e-9 and 5.99e-5, 4.40e-5, 6.32e-5
    pytest.param(sphere, {}, 7.63e-9, 6.32e-5, id="sphere by default", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("problem", "settings", "today", "sine_today"), PHYSICS)
def test_physics(problem, settings, today, sine_today):
    error, sine, standard_errors = errors_of_physics(problem, **settings)
    assert error < 2 * today
    assert sine < 2 * sine_today
    assert standard_errors < FEW


def errors_of_map():
    """From all edges of a map, whose graph is small enough to be decomposed."""
    modes = ex.solve(ex.GraphLaplacian(), ex.Graph(FOUR_ROOMS.edges(), CELLS), 8, progress=False)
    exact = exact_modes(graph_of_edges(FOUR_ROOMS.edges(), len(CELLS)), 8)
    values, vectors = exact.values[:8], exact.vectors[:, :8]
    return largest_error(modes, values), largest_sine(in_float64(modes, CELLS), vectors, values)


def errors_of_steps():
    """From random steps, against the graph of these and, in standard errors, against that of all moves."""
    before, after = FOUR_ROOMS.steps(5000, SEED)
    modes = ex.solve(ex.GraphLaplacian(), ex.Transitions(CELLS[before], CELLS[after]), 6, progress=False)
    taken = graph_of_steps(before, after, len(CELLS))
    exact = exact_modes(taken, 6)
    values, vectors = exact.values[:6], exact.vectors[:, :6]
    sine = largest_sine(in_float64(modes, CELLS), vectors, values, taken.counts)
    return largest_error(modes, values), sine, in_standard_errors(modes[1:], moves_everywhere(6)[1:])


def moves_everywhere(n):
    """Eigenvalues of the graph that steps are drawn from: four moves from each cell, some stopped by a wall."""
    edges = graph_of_edges(FOUR_ROOMS.edges(), len(CELLS)).laplacian.toarray()
    stay = 4 * np.eye(len(CELLS)) - edges
    return exact_modes(graph_of(scipy.sparse.csr_array(stay), "degrees"), n).values[:n]


def errors_of_kernel_on_a_normal():
    modes = ex.solve(RBF, ex.Gaussian(0.0, 1.0), 6, which="largest", progress=False)
    values, points = rbf_spectrum(6), np.linspace(-3, 3, 101)[:, None]
    sine = largest_sine(
        in_float64(modes, points), rbf_modes(points, 6).functions, values, np.exp(-(points[:, 0] ** 2) / 2)
    )
    return largest_error(modes, values), sine, in_standard_errors(modes, values)


def errors_of_kernel_on_rows():
    """Against the dense matrix of all pairs of rows, which are kept in float32."""
    rows = np.random.default_rng(SEED).normal(size=(1000, 2)).astype(np.float32).astype(float)
    modes = ex.solve(RBF, ex.Arrays(rows), 6, which="largest", progress=False)
    dense = np.exp(-((rows[:, None] - rows) ** 2).sum(-1) / 2) / len(rows)
    values, vectors = (part[..., ::-1] for part in scipy.linalg.eigh(dense, subset_by_index=(994, 999)))
    sine = largest_sine(in_float64(modes, rows), vectors, values)
    return largest_error(modes, values), sine, in_standard_errors(modes, values)


def errors_of_digits():
    """Eigenvalues against the graph of the images learned from; functions there, and held out against that of all.

    Ten of them, since a gap follows: of five the last would be mixed with the next, which is nearly as smooth.
    """
    rows = load_digits().data / 16
    seen, new = split(len(rows), SEED)
    embedding = SpectralEmbedding(10, random_state=SEED).fit(rows[seen])
    of_seen, of_all = (decomposed(neighbour_graph(part, 10), 10) for part in (rows[seen], rows))
    return (
        relative_errors(embedding.eigenvalues_, of_seen.eigenvalues).max(),
        Likeness.of(embedding.embedding_, of_seen.vectors).subspace_distance,
        Likeness.of(embedding.transform(rows[new]), of_all.vectors[new]).subspace_distance,
    )


def errors_of_logistic_map():
    """What is missing to a correlation of one with the hidden drive, at rows held out."""
    chaos, drive = driven_logistic_map(4000, noise=0.01, seed=SEED)
    windows = np.lib.stride_tricks.sliding_window_view(chaos, 10)
    slow = SlowFeatureAnalysis(n_components=2, random_state=SEED).fit(windows[:3000])
    linear = slow_directions(windows[:3000], 1)(windows[3000:])
    hidden = drive[5:][3000 : len(windows)]
    return tuple(1 - abs(np.corrcoef(found[:, 0], hidden)[0, 1]) for found in (slow.transform(windows[3000:]), linear))


def test_all_edges_of_a_map():
    error, sine = errors_of_map()
    assert error < ROUNDING  # 1.4e-14 for each seed
    assert sine < ROUNDING  # 3.6e-14 for each seed


def test_random_steps_on_a_map():
    error, sine, standard_errors = errors_of_steps()
    assert error < ROUNDING  # seeds 0, 1 and 2: 1.4e-12, 4.4e-14, 1.7e-14
    assert sine < ROUNDING  # 8.3e-12, 4.1e-14, 9.2e-14
    assert standard_errors < FEW  # 0.83, 0.53, 0.79


def test_a_kernel_on_a_normal_distribution():
    error, sine, standard_errors = errors_of_kernel_on_a_normal()
    assert error < 2 * 2.05e-7  # seeds 0, 1 and 2: 2.05e-7, 1.3e-14, 2.4e-14
    assert sine < 2 * 3.03e-4  # 3.03e-4, 3.3e-8, 5.1e-8
    assert standard_errors < FEW  # 0.62, 0.003, 0.015


def test_a_kernel_on_rows_of_an_array():
    error, sine, standard_errors = errors_of_kernel_on_rows()
    assert error < 2 * 2.69e-7  # seeds 0, 1 and 2: 3.79e-8, 1.23e-7, 2.69e-7
    assert sine < 2 * 5.19e-4  # 1.95e-4, 3.51e-4, 5.19e-4
    assert standard_errors < FEW  # 0.60, 0.61, 0.62


def test_digits_learned_from_and_held_out():
    error, in_sample, held_out = errors_of_digits()
    assert error < ROUNDING  # 1e-13 for each seed: they are the graph's own
    assert in_sample < 2 * 0.0065  # subspace distance: 0.0065, 0.0045, 0.0045
    assert held_out < 2 * 0.0249  # 0.0150, 0.0098, 0.0255


def test_the_drive_of_a_logistic_map():
    missing, missing_of_linear = errors_of_logistic_map()
    assert missing < 2 * 0.00539  # seeds 0, 1 and 2: 0.00510, 0.00539, 0.00383
    assert missing_of_linear > 0.1
