"""The names of classes in saved files, and the module in which each class is defined now."""

from importlib import import_module
from typing import Any

# People keep files that contain these names. A class may move to another module, which changes its line here, but it
# keeps its name for ever.
MODULES = {
    "Adaptive": "eigenax.sources.adaptive",
    "Ansatz": "eigenax.networks.ansatz",
    "Arrays": "eigenax.sources.arrays",
    "Multiply": "eigenax.networks.base",
    "Box": "eigenax.domains.box",
    "BoxFactor": "eigenax.networks.boundary",
    "Cells": "eigenax.bases.softmax_cells",
    "TimeSeries": "eigenax.sources.time_series",
    "CoarsePixels": "eigenax.networks.features",
    "Conv": "eigenax.networks.conv",
    "CuspInputs": "eigenax.networks.features",
    "Cusps": "eigenax.networks.waves",
    "Discs": "eigenax.lab.datasets.bouncing_balls",
    "Distribution": "eigenax.sources.uniform",
    "BoundaryCoordinates": "eigenax.networks.boundary",
    "ExponentialEnvelopes": "eigenax.networks.waves",
    "ExponentialFactor": "eigenax.networks.features",
    "Gaussian": "eigenax.sources.densities",
    "GaussianEnvelopes": "eigenax.networks.waves",
    "HiddenLayer": "eigenax.networks.base",
    "InMemory": "eigenax.sources.rows",
    "MLP": "eigenax.networks.mlp",
    "ManyInputs": "eigenax.networks.many_inputs",
    "MarkovChainPoints": "eigenax.sources.markov_chains",
    "MarkovChains": "eigenax.sources.markov_chains",
    "Mixture": "eigenax.sources.mixture",
    "Modes": "eigenax.modes",
    "NodalValues": "eigenax.networks.nodal",
    "OffsetFrom": "eigenax.networks.boundary",
    "OfAxes": "eigenax.networks.many_inputs",
    "OnDisk": "eigenax.sources.rows",
    "Compose": "eigenax.networks.base",
    "Products": "eigenax.networks.features",
    "Projection": "eigenax.networks.features",
    "Radial": "eigenax.sources.densities",
    "ScaledInputs": "eigenax.networks.features",
    "ScaledPixels": "eigenax.networks.features",
    "LogUniformRadius": "eigenax.sources.densities",
    "EnsembleMLP": "eigenax.networks.mlp",
    "SphereEmbedding": "eigenax.domains.surface",
    "ThinDirichletFactor": "eigenax.networks.boundary",
    "Transitions": "eigenax.sources.transitions",
    "StopReason": "eigenax.stop_reason",
    "Surface": "eigenax.domains.surface",
    "TorusEmbedding": "eigenax.domains.surface",
    "Graph": "eigenax.sources.graph",
    "Uniform": "eigenax.sources.uniform",
    "DirichletFactor": "eigenax.networks.boundary",
    "Waves": "eigenax.networks.waves",
    "Whitened": "eigenax.networks.features",
    "WithConstant": "eigenax.networks.base",
}


def find_class(name: str) -> Any:
    """The class with a name in files; only the module that defines it is imported."""
    if name not in MODULES:
        raise TypeError(f"{name} is not an eigenax class that files can hold")
    return getattr(import_module(MODULES[name]), name)


def name_of(cls: type) -> str:
    """The name of a class in files; other classes than those of the registry are refused."""
    name = cls.__name__
    # A class of a user may have the same name as one of eigenax.
    if name not in MODULES or find_class(name) is not cls:
        raise TypeError(f"{cls.__module__}.{cls.__qualname__} is not an eigenax class that files can hold")
    return name
