"""The solved experiments, small, to stated errors; what they leave; and going on after a crash."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

import eigenax as ex
from eigenax.lab.experiment import parse_numbers
from eigenax.lab.experiments.box import BoxModes
from eigenax.lab.experiments.double_well import DoubleWell
from eigenax.lab.experiments.folder import claim, read_experiment
from eigenax.lab.experiments.henon_heiles import HenonHeiles
from eigenax.lab.experiments.hydrogen import Hydrogen
from eigenax.lab.experiments.many_dimensions import Vibrations
from eigenax.lab.experiments.oscillator import Oscillator
from eigenax.lab.experiments.runner import execute
from eigenax.lab.experiments.sphere import Sphere
from eigenax.lab.experiments.torus import Torus

DEPENDS_ON_THE_CLOCK = {"wall_seconds", "training_seconds", "resumed"}


def found(folder):
    """What a run found, without what the clock wrote."""
    result = json.loads((folder / "result.json").read_text())
    pictures = {path.name: path.read_bytes() for path in (folder / "figures").iterdir()}
    kept = {key: value for key, value in result.items() if key not in DEPENDS_ON_THE_CLOCK}
    return kept, pictures, (folder / "modes.safetensors").read_bytes()


SMALL = [
    pytest.param(Oscillator(dims=1, n=4, preset="quick", steps=1, samples=2**14), 1e-6, id="oscillator"),
    pytest.param(BoxModes(dims=1, n=4, preset="quick", steps=1, samples=2**14, boundary="neumann"), 1e-6, id="box"),
    pytest.param(DoubleWell(n=4, preset="quick", steps=1, samples=2**14), 1e-2, id="double-well"),
    pytest.param(
        HenonHeiles(dims=2, n=2, preset="quick", steps=1, samples=2**12),
        1e-3,
        id="henon-heiles",
        marks=pytest.mark.slow,
    ),
    pytest.param(Sphere(n=4, preset="quick", steps=1, samples=2**14), 1e-5, id="sphere"),
    pytest.param(Torus(n=4, preset="quick", steps=1, samples=2**14), 1e-5, id="torus", marks=pytest.mark.slow),
    pytest.param(Hydrogen(n=1, steps=1, samples=2**14), 1e-5, id="hydrogen", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("experiment", "error"), SMALL)
def test_one_basis_is_close_to_the_exact_values(experiment, error, tmp_path):
    folder = tmp_path / "run"
    experiment.check()
    claim(folder, experiment)
    result = execute(experiment, folder, progress=False)
    exact, errors = np.array(result["exact"]), np.array(result["relative_errors"])
    assert errors.max() < error
    np.testing.assert_array_equal(exact, experiment.exact())
    assert result["mean_relative_error"] == pytest.approx(errors[exact != 0].mean())
    assert result["stopped"] == "all steps were taken"
    assert result["training_seconds"] > 0
    assert (folder / "figures" / f"{experiment.name}.png").stat().st_size < 200_000
    page = (folder / "report.html").read_text()
    assert len(page) > 10_000
    assert ("Classical yardstick" in page) == ("Excitation energies" in page) == isinstance(experiment, Vibrations)
    np.testing.assert_array_equal(ex.load(folder).eigenvalues, result["eigenvalues"])
    assert read_experiment(folder) == experiment


@pytest.mark.slow
@pytest.mark.parametrize("experiment", [case.values[0] for case in SMALL], ids=[case.id for case in SMALL])
def test_a_crash_between_two_bases_changes_nothing(experiment, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    claim(whole, dataclasses.replace(experiment, steps=2))
    execute(read_experiment(whole), whole, progress=False)

    (broken / "checkpoints").mkdir(parents=True)
    shutil.copy(whole / "settings.toml", broken)
    shutil.copy(whole / "checkpoints" / "step-000000001.safetensors", broken / "checkpoints")
    (broken / "metrics.jsonl").write_text((whole / "metrics.jsonl").read_text().splitlines(keepends=True)[0])
    execute(read_experiment(broken), broken, progress=False)
    assert found(broken) == found(whole)


def test_a_run_ends_when_its_errors_are_within_tol(tmp_path):
    experiment = Oscillator(dims=1, n=4, tol=1e-3)
    claim(tmp_path / "run", experiment)
    result = execute(experiment, tmp_path / "run", progress=False)
    assert result["stopped"] == "the errors are within tol"
    assert (np.array(result["standard_errors"]) <= 1e-3 * np.ptp(result["exact"])).all()
    assert max(result["relative_errors"]) < 1e-3


@pytest.mark.parametrize(
    ("tol", "said"), [(1.0, "a relative accuracy below 1"), (-1e-3, "positive"), (np.nan, "positive")]
)
def test_an_accuracy_that_is_none_is_refused(tol, said):
    with pytest.raises(ValueError, match=f"--tol must be {said}"):
        Oscillator(tol=tol).check()


def test_an_exact_value_of_zero_alone_has_no_mean_relative_error():
    class Found:
        eigenvalues = np.array([1e-9])

    scores = Sphere(n=1).scores(Found())  # pyright: ignore[reportArgumentType]
    assert scores["relative_errors"] == [1e-9]
    assert scores["mean_relative_error"] is None


@pytest.mark.parametrize(
    ("settings", "widths"),
    [
        ({"dims": 1, "n": 1}, [6.0]),
        ({"dims": 1, "n": 5}, [8.0]),
        ({"dims": 3, "n": 4, "stiffness": "1"}, [5 + 3**0.5] * 3),
        ({"dims": 2, "n": 4, "stiffness": "1,16"}, [5 + 7**0.5, 3.0]),
        ({"dims": 2, "stiffness": "1,16", "half_width": 9.0}, [9.0, 9.0]),
    ],
)
def test_the_box_of_an_oscillator_reaches_beyond_its_outermost_state(settings, widths):
    assert Oscillator(**settings).domain().high == pytest.approx(widths)


@pytest.mark.parametrize("experiment", [DoubleWell(n=2), DoubleWell(n=12, a=0.1), DoubleWell(a=50.0, b=1.0)])
def test_the_line_of_a_double_well_is_long_enough(experiment):
    longer = DoubleWell(n=experiment.n, a=experiment.a, b=experiment.b, half_width=1.3 * experiment.reach)
    np.testing.assert_allclose(experiment.exact(), longer.exact(), rtol=1e-9)


def test_ten_dimensions_need_no_more_settings_than_two():
    many = Oscillator(dims=10)
    many.check()
    assert many.domain().shape == (10,)
    assert many.exact()[:2] == pytest.approx([10, 12])


@pytest.mark.parametrize("text", ["", "1,2", "a", "1,nan,2", "inf", "1,,2"])
def test_numbers_that_are_none_are_refused(text):
    with pytest.raises(ValueError, match="--low must be one number, or one for each of 3 dimensions"):
        parse_numbers("low", text, 3)
