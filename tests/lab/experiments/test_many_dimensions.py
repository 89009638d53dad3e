"""Experiments in many dimensions: their operators, boxes and exact levels, and what is reported of a run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from eigenax.errors import InputError
from eigenax.excitations import Excitations
from eigenax.lab.experiments.coupled_oscillators import CoupledOscillators
from eigenax.lab.experiments.double_well import DoubleWell
from eigenax.lab.experiments.henon_heiles import HenonHeiles
from eigenax.lab.experiments.molecules import Acetonitrile, Molecule
from eigenax.lab.experiments.torus_cosines import PeriodicDoubleWell, TorusCosines
from eigenax.lab.report.physics import potential_of
from eigenax.lab.report.style import to_png

ALL = [
    CoupledOscillators(dims=4, n=5),
    HenonHeiles(dims=4, n=5),
    TorusCosines(n=5),
    PeriodicDoubleWell(n=5),
    DoubleWell(dims=4, n=5, quanta=8),
    DoubleWell(dims=4, n=5, rotated=True, quanta=6),
    Acetonitrile(n=5, quanta=3),
]


class Found:
    """What a run would find that is off by a thousandth of the levels, with Gaussians for functions."""

    def __init__(self, experiment):
        self.n, box = experiment.n, experiment.domain()
        self.eigenvalues = experiment.exact() * (1 + 1e-3 * np.arange(self.n))
        self.standard_errors = np.full(self.n, 1e-3 * abs(self.eigenvalues[0]))
        self.excitations = Excitations.of(self.eigenvalues, self.standard_errors)
        self.shape, self.centre, self.scale = box.shape, box.centre, box.half_width / 4

    def __call__(self, x):
        z = (x - self.centre) / self.scale
        return np.exp(-(z**2).sum(-1))[..., None] * z[..., [0]] ** np.arange(self.n)


METRICS = [
    {"seconds": 1.0, "eigenvalues": [4.0, 2.0, 3.0, 5.0, 1.0], "waves": 64},
    {"seconds": 1.5, "residuals": [0.1] * 5},
    {"seconds": 2.0, "eigenvalues": [float("nan"), 2.0, 3.0, 5.0, 1.0]},
    {"seconds": 3.0, "eigenvalues": [4.0, 2.0, 3.0, 5.0, 1.0, 6.0, 7.0], "residuals": [0.3, 0.2] * 3},
]


@pytest.mark.parametrize(
    "experiment", ALL, ids=lambda each: f"{each.name}{'-rotated' * getattr(each, 'rotated', False)}"
)
def test_errors_of_levels_and_of_excitation_energies_are_reported(experiment):
    experiment.check()
    modes, exact = Found(experiment), experiment.exact()
    scores = experiment.scores(modes)
    assert scores["mean_relative_error"] == pytest.approx(2e-3)
    energies = modes.eigenvalues[1:] - modes.eigenvalues[0]
    known = exact[1:] - exact[0]
    excited = scores["excitations"]
    np.testing.assert_allclose(excited["energies"], energies)
    np.testing.assert_allclose(excited["errors"], energies - known)
    np.testing.assert_allclose(excited["standard_errors"], modes.standard_errors[0] * np.sqrt(2))
    assert scores["mean_relative_excitation_error"] == pytest.approx(np.mean(np.abs(energies - known) / known))
    if hasattr(experiment, "quanta"):
        assert scores["classical"]["mean_relative_error"] < 0.1
        assert f"{scores['classical']['functions']:,} products" in scores["yardstick"]
    figures = experiment.figures(modes, METRICS)
    assert list(figures) == ["levels", experiment.name]
    assert f"the {experiment.reference} values" in figures["levels"][1]
    assert len(to_png(figures["levels"][0])) > 10_000


def test_a_single_level_has_no_excitation_energies():
    experiment = TorusCosines(n=1)
    scores = experiment.scores(Found(experiment))
    assert scores["mean_relative_excitation_error"] is None
    assert len(scores["excitations"]["energies"]) == 0
    assert (
        "the level"
        in experiment.figures(Found(experiment), [])["levels"][0].get_axes()[0].get_title(loc="left").lower()
    )


@pytest.mark.parametrize("rotated", [False, True])
def test_the_polynomial_of_double_wells_is_their_potential(rotated, float64):
    experiment = DoubleWell(dims=3, rotated=rotated, a=1.5, b=1.2)
    q, x = experiment.rotation, np.random.default_rng(1).normal(size=3)
    np.testing.assert_allclose(q @ q.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(q) == pytest.approx(1)
    assert np.allclose(q, np.eye(3)) == (not rotated)
    expected = 1.5 * np.sum(((q @ x) ** 2 - 1.44) ** 2)
    potential = potential_of(experiment.operator())
    assert float(potential(jnp.asarray(x))) == pytest.approx(expected, rel=1e-12)
    assert float(experiment.polynomial()(jnp.asarray(x))) == pytest.approx(expected, rel=1e-12)


def test_rotated_wells_have_the_same_levels():
    straight, turned = (DoubleWell(dims=2, rotated=rotated, quanta=40) for rotated in (False, True))
    np.testing.assert_allclose(turned.classical().values, straight.classical().values, rtol=1e-10)
    np.testing.assert_allclose(turned.exact(), straight.exact(), rtol=1e-12)
    np.testing.assert_allclose(straight.exact(), straight.classical().values, rtol=1e-7)


def test_a_box_of_double_wells_is_wide_enough():
    assert DoubleWell(dims=10).domain().high == pytest.approx([3.5] * 10, abs=0.05)
    wider = DoubleWell(dims=10, half_width=5.0)
    np.testing.assert_allclose(DoubleWell(dims=10).exact(), wider.exact(), rtol=1e-8)
    turned = DoubleWell(dims=10, rotated=True)
    corners = np.random.default_rng(0).choice([-1.0, 1.0], (4096, 10)) @ turned.rotation  # of the cube of wells
    outside = np.asarray(turned.domain().high) - np.abs(corners).max(0)
    assert (outside > DoubleWell(dims=10).reach - 1 - 1e-9).all()


def test_the_box_of_coupled_oscillators_holds_their_states():
    experiment = CoupledOscillators(dims=6)
    spread = np.sqrt(np.diag(np.linalg.inv(np.linalg.cholesky(experiment.stiffness))) ** 2 / 2)
    assert (np.asarray(experiment.domain().high) > 6 * spread).all()


def test_acetonitrile_is_in_wavenumbers():
    experiment = Acetonitrile(n=70)
    assert experiment.exact()[:3] == pytest.approx([9837.41, 9837.41 + 360.99, 9837.41 + 360.99])
    assert experiment.domain().shape == (12,)
    assert experiment.domain().high[0] == pytest.approx(4 / np.sqrt(3065))


def test_a_molecule_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "water.txt").write_text("3 1 4\n0 0 1 : -0.2\n1 1 2 : 0.3\n0 0 0 0 : 0.5\n1 1 1 1 : 0.4\n")
    experiment = Molecule(field="water.txt", n=4, quanta=12).resolved()
    assert experiment.field == str(tmp_path / "water.txt")
    experiment.check()
    np.testing.assert_allclose(experiment.domain().high, 4 / np.sqrt([3, 1, 4]))
    known = experiment.classical_errors()
    assert max(known) < 1e-6
    scores = experiment.scores(Found(experiment))
    assert "Its last two quanta changed them" in scores["yardstick"]
    assert "classical" not in scores["excitations"]  # they are the known ones
    with pytest.raises(InputError, match="cannot be read"):
        Molecule(field="steam.txt").check()


@pytest.mark.parametrize(("experiment", "too_far"), [(Acetonitrile(), 1.25), (HenonHeiles(dims=6), 7 / 6)])
def test_a_potential_without_a_lower_bound_is_positive_in_its_box_and_not_far_beyond(experiment, too_far):
    high = np.asarray(experiment.domain().high)
    corners = high * np.random.default_rng(0).choice([-1.0, -0.5, 0.0, 0.5, 1.0], (2**16, len(high)))
    values = jax.jit(jax.vmap(potential_of(experiment.operator())))
    assert values(jnp.asarray(corners, jnp.float32)).min() >= 0
    assert values(jnp.asarray(too_far * corners, jnp.float32)).min() < 0


@pytest.mark.parametrize(
    ("experiment", "said"),
    [
        (DoubleWell(dims=0), "--dims must be at least 1"),
        (DoubleWell(rotated=True), "--rotated needs at least 2 dimensions"),
        (DoubleWell(a=-1.0), "--a must be positive"),
        (CoupledOscillators(coupling=5.0), "--coupling 5 is too large for bound states: stiffness must have positive"),
        (CoupledOscillators(dims=2, n=8, quanta=1), "--quanta must give at least --n, 8, functions; 1 give 3"),
        (Acetonitrile(quanta=20), "--quanta must give at most 300,000 functions; 20 give 225,792,840"),
        (HenonHeiles(dims=1), "--dims must be at least 2"),
        (TorusCosines(dims=0), "--dims must be at least 1"),
        (Molecule(), "--field FILE is needed"),
        (Acetonitrile(n=71), "--n must be at most 70, the number of published levels; got 71"),
        (Acetonitrile(reach=0.0), "--reach must be positive"),
        (Acetonitrile(quanta=-1), "--quanta must be positive, or 0 for automatic"),
    ],
)
def test_settings_that_will_not_do_are_refused(experiment, said):
    with pytest.raises(ValueError, match=said):
        experiment.check()
