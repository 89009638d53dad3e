"""Modules come back from plain data, and nothing is built but the classes of the registry."""

import json

import equinox as eqx
import pytest

import eigenax as ex
from eigenax.io.serialisation import decode, encode
from eigenax.networks.features import CuspInputs
from eigenax.solvers.default_parts import network_key


@pytest.mark.parametrize(
    "made",
    [
        lambda: ex.MLP(2, 3, sparsity="paper", width=12, depth=1, key=network_key(0)),
        lambda: ex.WithConstant(ex.EnsembleMLP(2, 2, width=4, key=network_key(0))),
        lambda: ex.Compose(CuspInputs((0.0, 0.0)), ex.MLP(8, 3, key=network_key(0))),
    ],
)
def test_every_network_of_ours_can_be_saved(made):
    network, arrays = made(), {}
    back = decode(json.loads(json.dumps(encode(network, arrays))), arrays)
    assert eqx.tree_equal(network, back)


@pytest.mark.parametrize(
    "name", ["os:system", "system", "eigenax.networks.mlp:MLP", "Laplacian", "find_experiment", "MLPs"]
)
def test_only_classes_of_the_registry_are_ever_built(name):
    with pytest.raises(TypeError, match="is not an eigenax class that files can hold"):
        decode({"class": name, "fields": {}}, {})
