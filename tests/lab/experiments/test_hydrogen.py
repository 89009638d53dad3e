"""The hydrogen experiment, small, to a stated error; and the settings of the paper."""

import dataclasses
import json

import numpy as np
import pytest

import eigenax as ex
from eigenax.lab.experiments.folder import claim, read_experiment
from eigenax.lab.experiments.hydrogen import Hydrogen
from eigenax.lab.experiments.runner import execute
from eigenax.solvers.schedules import second_moment_decay


def test_four_states_to_two_percent(tmp_path):
    experiment = Hydrogen(n=4, preset="quick", steps=4000, half_width=80.0)
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
    assert (paper.half_width, paper.epsilon, paper.ema_rate, paper.decay, paper.learning_rate) == (
        50,
        0.1,
        0.01,
        0.999,
        1e-5,
    )
    assert (paper.average, paper.sparsity, paper.activation, paper.optimizer) == (
        "jacobian",
        "paper",
        "softplus",
        "rmsprop",
    )
    assert (paper.orthonormal_pull, paper.rescale, paper.sampling) == (0.0, False, "uniform")
    small = Hydrogen(**(paper.presets["paper"] | {"preset": "paper", "steps": 20, "width": 32, "samples": 2048}))
    claim(tmp_path / "run", small)
    result = execute(small, tmp_path / "run", progress=False)
    assert len(result["uncorrected"]["eigenvalues"]) == 9
    assert (tmp_path / "run" / "uncorrected" / "modes.safetensors").exists()
    assert read_experiment(tmp_path / "run") == small


@pytest.mark.filterwarnings("ignore:the optimiser's second moment")
@pytest.mark.parametrize("optimizer", ["adam", "rmsprop"])
def test_the_optimiser_remembers_as_long_as_the_settings_say(optimizer):
    solver = Hydrogen(preset="quick", optimizer=optimizer, decay=0.97).solver()
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
        ({"preset": "quick", "dims": 3}, "--dims is a setting of --preset best; the preset is quick"),
        ({"preset": "paper", "charge": 2.0}, "--charge is a setting of --preset best"),
        ({"preset": "quick", "tol": 1e-3}, "--tol is a setting of --preset best"),
        ({"preset": "quick", "steps": 0}, "--steps must be at least 1; got 0"),
        ({"steps": -1}, "--steps must be at least 0; got -1"),
        ({"preset": "quick", "samples": 40}, "--samples must be at least 64, or 0; got 40"),
        ({"batch": 64}, "--batch is a setting of --preset quick and paper; the preset is best"),
        ({"dims": 4}, "--dims must be 2 or 3; got 4"),
        ({"charge": -1.0}, "--charge must be positive"),
    ],
)
def test_settings_of_another_preset_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        Hydrogen(**settings).check()


@pytest.mark.slow
def test_nine_states_of_the_quick_preset_on_several_seeds(tmp_path):
    for seed in range(3):
        experiment = dataclasses.replace(Hydrogen.with_preset("quick"), seed=seed)
        folder = tmp_path / str(seed)
        claim(folder, experiment)
        assert execute(experiment, folder, progress=False)["mean_relative_error"] < 0.01
