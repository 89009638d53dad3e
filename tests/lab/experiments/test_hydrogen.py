"""The hydrogen experiment, small, to a stated error; and the settings of the paper."""

import dataclasses
import json

import numpy as np
import pytest

import eigenax as ex
from eigenax.lab.experiments.folder import claim, read_experiment
from eigenax.lab.experiments.hydrogen import Hydrogen
from eigenax.lab.experiments.runner import execute
from eigenax.lab.experiments.trained_atom import TrainedAtom
from eigenax.lab.experiments.training import SpINSettings
from eigenax.solvers.schedules import second_moment_decay


def test_four_states_to_two_percent(tmp_path):
    experiment = TrainedAtom(n=4, steps=4000)
    claim(tmp_path / "run", experiment)
    result = execute(experiment, tmp_path / "run", progress=False)
    assert result["mean_relative_error"] < 0.02
    assert max(result["subspace_distances"]) < 0.01
    assert result["orthogonality"] < 0.05
    assert (np.array(result["residuals"]) < 0.2).all()
    modes = ex.load(tmp_path / "run")
    np.testing.assert_array_equal(
        modes.eigenvalues, json.loads((tmp_path / "run" / "result.json").read_text())["eigenvalues"]
    )


def test_paper_preset_has_the_published_settings_and_trains_both_conditions(tmp_path):
    paper = Hydrogen.with_preset("paper")
    assert (paper.n, paper.batch, paper.width, paper.depth) == (9, 128, 128, 4)
    assert (paper.half_width, paper.epsilon, paper.sampling) == (50, 0.1, "uniform")
    assert (paper.sparsity, paper.activation, paper.final_learning_rate) == ("paper", "softplus", 1e-5)
    assert paper.training == SpINSettings("rmsprop", 0.999, 1e-5, "jacobian", 0.01, 0.0, 0.0, False, "cholesky")
    small = dataclasses.replace(paper, steps=20, width=32, samples=2048)
    claim(tmp_path / "run", small)
    result = execute(small, tmp_path / "run", progress=False)
    assert len(result["uncorrected"]["eigenvalues"]) == 9
    assert (tmp_path / "run" / "uncorrected" / "modes.safetensors").exists()
    assert read_experiment(tmp_path / "run") == small


@pytest.mark.filterwarnings("ignore:the optimiser's second moment")
@pytest.mark.parametrize("optimizer", ["adam", "rmsprop"])
def test_the_optimiser_remembers_as_long_as_the_settings_say(optimizer):
    solver = TrainedAtom(training=SpINSettings(optimizer, decay=0.97)).solver()
    assert second_moment_decay(solver.optimizer) == pytest.approx(0.97, rel=1e-3)


@pytest.mark.parametrize(
    ("settings", "least"),
    [
        ({"n": 9}, 80),
        ({"n": 16}, 120),
        ({"n": 9, "charge": 4.0}, 20),
        ({"n": 5, "dims": 3}, 60),
        ({"half_width": 33.0}, 33),
    ],
)
def test_the_box_is_wide_enough_for_the_outermost_state(settings, least):
    box = Hydrogen(**settings).domain()
    assert box.high[0] >= least
    assert len(box.low) == settings.get("dims", 2)


@pytest.mark.parametrize("n", [1, 4, 9, 16])
def test_the_walls_do_not_matter(n):
    """Of the last shell's density, r^2m e^(−2r/(2m+1)) up to polynomials, less than 1e-9 is at the wall."""
    m = int(np.sqrt(n - 1))
    r = np.linspace(0, 3000, 300_001)
    density = r ** (2 * m) * np.exp(-2 * r / (2 * m + 1))
    assert density[r > Hydrogen(n=n).domain().high[0]].max() < 1e-9 * density.max()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (TrainedAtom(steps=0), "--steps must be at least 1; got 0"),
        (TrainedAtom(samples=40), "--samples must be at least 64; got 40"),
        (TrainedAtom(training=SpINSettings(decay=1.0)), "--decay must be at least 0 and below 1; got 1.0"),
        (TrainedAtom(training=SpINSettings(learning_rate=0.0)), "--learning-rate must be positive and finite; got 0.0"),
        (TrainedAtom(preset="best"), "unknown preset 'best' for hydrogen; there are: quick, paper"),
        (Hydrogen(steps=-1), "--steps must be at least 0; got -1"),
        (Hydrogen(samples=-40), "--samples must be at least 64; got -40"),
        (Hydrogen(dims=4), "--dims must be 2 or 3; got 4"),
        (Hydrogen(charge=-1.0), "--charge must be positive"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        settings.check()


@pytest.mark.slow
def test_nine_states_of_the_quick_preset_on_several_seeds(tmp_path):
    for seed in range(3):
        experiment = dataclasses.replace(Hydrogen.with_preset("quick"), seed=seed)
        folder = tmp_path / str(seed)
        claim(folder, experiment)
        assert execute(experiment, folder, progress=False)["mean_relative_error"] < 0.01
