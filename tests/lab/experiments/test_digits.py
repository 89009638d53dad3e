"""`eigenax run digits`: what it measures and leaves in its folder."""

import json

import numpy as np
import pytest

import eigenax
from eigenax.estimators.spectral import SpectralEmbedding
from eigenax.lab.experiments.digits import Digits, split
from eigenax.lab.experiments.folder import claim
from eigenax.lab.experiments.runner import execute


def test_held_out_digits_are_closer_to_the_full_decomposition_than_nystroms_in_as_many_bytes(tmp_path):
    experiment = Digits(cells=96)
    experiment.check()
    claim(tmp_path / "run", experiment)
    execute(experiment, tmp_path / "run", progress=False)
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["subspace_distance"] < 0.06 < 0.15 < result["nystrom_subspace_distance"]
    assert result["mean_cosine"] > 0.96 > 0.9 > result["nystrom_mean_cosine"]
    assert result["nystrom_bytes"] <= result["model_bytes"] < result["nystrom_all_bytes"]
    np.testing.assert_allclose(result["eigenvalues"], result["exact"], rtol=1e-9)
    assert set(result["figures"]) == {"embedding", "spectrum", "error-by-size"}
    assert "<th>feature</th>" in (tmp_path / "run" / "report.html").read_text()
    model = SpectralEmbedding.load(tmp_path / "run" / "embedding.safetensors")
    rows = np.random.default_rng(0).random((3, 64))
    np.testing.assert_allclose(model.transform(rows), eigenax.load(tmp_path / "run")(rows), rtol=1e-5, atol=1e-6)
    assert not list((tmp_path / "run").glob(".*"))


def test_a_fifth_is_held_out():
    seen, new = split(1797, seed=3)
    assert (len(seen), len(new)) == (1438, 359)
    assert sorted([*seen, *new]) == list(range(1797))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"cells": 10}, "--cells must be at least 11; got 10"),
        ({"neighbors": 0}, "--neighbors"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        Digits(**settings).check()
