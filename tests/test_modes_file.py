"""Files of modes come back the same, and others are refused."""

import dataclasses

import equinox as eqx
import jax
import numpy as np
import pytest
from safetensors.numpy import save_file

import eigenax as ex
from eigenax.io.files import pack_tensors
from eigenax.networks.boundary import BoxFactor

BOX = ex.Box([-3, -2], [3, 4])
EACH = ("eigenvalues", "sampling_errors", "basis_errors", "residuals", "standard_errors", "coefficients")


@pytest.fixture(scope="module")
def modes():
    mlp = ex.MLP(2, 3, width=12, depth=2, key=jax.random.key(0))
    network = ex.Multiply(BoxFactor(BOX.low, BOX.high), ex.Compose(ex.ScaledInputs((0.0, 1.0), (3.0, 3.0)), mlp))
    return ex.measure(network, -ex.Laplacian(), BOX, samples=2**10)


@pytest.mark.parametrize("place", ["folder", "file"])
def test_saved_modes_come_back_to_the_same_values(modes, tmp_path, place):
    modes.save(tmp_path / "modes.safetensors")
    back = ex.load(tmp_path if place == "folder" else tmp_path / "modes.safetensors")
    x = ex.Uniform(BOX).sample(jax.random.key(3), 50).x
    np.testing.assert_array_equal(modes(x), back(x))
    for name in EACH:
        np.testing.assert_array_equal(getattr(modes, name), getattr(back, name))
    assert (back.shape, back.which, back.steps, back.seed) == (modes.shape, modes.which, modes.steps, modes.seed)
    assert back.source == modes.source
    assert repr(back) == repr(modes)


@pytest.mark.parametrize("reason", [None, *ex.StopReason])
def test_saved_modes_still_say_what_found_them_and_why_it_ended(modes, tmp_path, reason):
    dataclasses.replace(modes, solver="RayleighRitz", stop_reason=reason).save(tmp_path / "modes.safetensors")
    back = ex.load(tmp_path)
    assert back.solver == "RayleighRitz"
    assert back.stop_reason is reason


def test_a_network_that_is_not_ours_is_refused_by_name(tmp_path):
    foreign = eqx.nn.MLP(2, 3, 8, 1, key=jax.random.key(0))
    learned = ex.measure(foreign, ex.Potential(lambda x: x[0]), BOX, samples=256)
    with pytest.raises(ex.RunError, match=r"equinox.nn.*MLP is not an eigenax class"):
        learned.save(tmp_path / "modes.safetensors")
    assert not list(tmp_path.iterdir())


def test_files_that_hold_no_modes_are_refused(tmp_path):
    with pytest.raises(ex.RunError, match="no modes at"):
        ex.load(tmp_path)
    (tmp_path / "modes.safetensors").write_text("nothing of the kind")
    with pytest.raises(ex.RunError, match="damaged"):
        ex.load(tmp_path)
    save_file({"a": np.zeros(2)}, tmp_path / "modes.safetensors")
    with pytest.raises(ex.RunError, match="does not hold eigenax modes"):
        ex.load(tmp_path)
    (tmp_path / "modes.safetensors").write_bytes(pack_tensors({}, {"format": "eigenax-modes-2", "modes": {}}))
    with pytest.raises(ex.RunError, match="another version of eigenax"):
        ex.load(tmp_path)
