"""The registry: every class that a file can hold is in it, and a class that moves breaks no file."""

import enum
import inspect
import pkgutil
import sys
from importlib import import_module
from types import ModuleType

import equinox as eqx
import numpy as np
import pytest

import eigenax as ex
from eigenax.io.files import read_tensors
from eigenax.io.registry import MODULES, find_class, name_of
from eigenax.solvers.default_parts import network_key

NEVER_SAVED = ("eigenax.operators.", "eigenax.solvers.", "eigenax.lab.baselines.", "eigenax.core.random_streams")
KINDS = (eqx.Module, enum.Enum)
BOX = ex.Box(-1, 1, dims=1)


@pytest.fixture
def saved(tmp_path):
    network = ex.Multiply(ex.DirichletFactor(BOX), ex.MLP(1, 2, width=8, depth=1, key=network_key(0)))
    modes = ex.measure(network, ex.Potential(lambda x: x[0]), BOX, samples=256)
    modes.save(tmp_path / "modes.safetensors")
    return modes, tmp_path / "modes.safetensors"


def classes():
    """All modules of the package that can be made and all enums, but for rooms of which no file holds any."""
    for info in pkgutil.walk_packages(ex.__path__, "eigenax."):
        for cls in vars(import_module(info.name)).values():
            ours = inspect.isclass(cls) and issubclass(cls, KINDS) and cls.__module__ == info.name
            if ours and not inspect.isabstract(cls) and not info.name.startswith(NEVER_SAVED):
                yield cls


def test_every_class_that_a_file_can_hold_is_registered_under_its_name_where_it_is():
    found = list(classes())
    assert {cls.__name__: cls.__module__ for cls in found} == MODULES
    assert len(found) == len(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_every_name_is_that_of_a_module_or_an_enum(name):
    assert issubclass(find_class(name), KINDS)
    assert name_of(find_class(name)) == name


def test_a_file_loads_after_a_class_has_moved(saved, monkeypatch):
    modes, file = saved
    elsewhere = ModuleType("eigenax_elsewhere")
    elsewhere.MLP = ex.MLP
    monkeypatch.setitem(sys.modules, elsewhere.__name__, elsewhere)
    monkeypatch.setitem(MODULES, "MLP", elsewhere.__name__)
    monkeypatch.delattr("eigenax.networks.mlp.MLP")
    x = np.linspace(-1, 1, 7)[:, None]
    np.testing.assert_array_equal(ex.load(file)(x), modes(x))


def test_a_file_names_no_place_of_a_class(saved):
    _, metadata = read_tensors(saved[1])
    words = list(strings(metadata["modes"]))
    assert {"Modes", "Multiply", "DirichletFactor", "MLP", "Box"} <= set(words)
    assert not [word for word in words if "eigenax" in word or word in MODULES.values()]


def strings(data):
    if isinstance(data, str):
        yield data
    for part in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from strings(part)


@pytest.mark.parametrize("cls", [eqx.nn.MLP, type("MLP", (ex.MLP,), {}), ex.Laplacian, ex.SpIN])
def test_other_classes_are_refused_by_their_names(cls):
    with pytest.raises(TypeError, match=rf"\.{cls.__name__} is not an eigenax class that files can hold"):
        name_of(cls)
