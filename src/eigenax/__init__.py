"""eigenax: ordered eigenfunctions of linear operators, learned from samples.

The names below are imported when first used, so that the command line answers before JAX has loaded.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigenax.assemble import network_key, solve
    from eigenax.core.batch import Pairs, Points
    from eigenax.errors import DivergedError, InterruptedRun, RunError
    from eigenax.measurement import measure
    from eigenax.modes import Modes, load
    from eigenax.networks.base import Bounded, Network, OnInputs, WithConstant
    from eigenax.networks.boundary import BoxFactor, Edges, Walls
    from eigenax.networks.conv import Conv
    from eigenax.networks.features import CuspInputs, ScaledInputs
    from eigenax.networks.mlp import MLP, Separate
    from eigenax.operators.base import Operator
    from eigenax.operators.graph import GraphLaplacian
    from eigenax.operators.kernel import Kernel
    from eigenax.operators.laplace_beltrami import LaplaceBeltrami
    from eigenax.operators.laplacian import Laplacian
    from eigenax.operators.potential import Potential
    from eigenax.operators.slowness import Slowness
    from eigenax.solvers.alternatives import AugmentedLagrangian, Sequential, Trace
    from eigenax.solvers.base import Solver
    from eigenax.solvers.galerkin import Galerkin
    from eigenax.solvers.natural import NaturalGradient
    from eigenax.solvers.schedules import following
    from eigenax.solvers.spin import SpIN
    from eigenax.sources.adaptive import Adaptive
    from eigenax.sources.arrays import Arrays
    from eigenax.sources.base import Source
    from eigenax.sources.box import Box
    from eigenax.sources.clips import Clips
    from eigenax.sources.densities import Gaussian, Radial, Scales
    from eigenax.sources.distribution import Distribution
    from eigenax.sources.mixture import Mixture
    from eigenax.sources.steps import Steps
    from eigenax.sources.surface import Surface, sphere, torus
    from eigenax.sources.transitions import Transitions

__version__ = "0.1.0"

_HOMES = {
    "core.batch": ["Pairs", "Points"],
    "measurement": ["measure"],
    "modes": ["Modes", "load"],
    "networks.base": ["Bounded", "Network", "OnInputs", "WithConstant"],
    "networks.boundary": ["BoxFactor", "Edges", "Walls"],
    "networks.conv": ["Conv"],
    "networks.features": ["CuspInputs", "ScaledInputs"],
    "networks.mlp": ["MLP", "Separate"],
    "operators.base": ["Operator"],
    "operators.graph": ["GraphLaplacian"],
    "operators.kernel": ["Kernel"],
    "operators.laplace_beltrami": ["LaplaceBeltrami"],
    "operators.laplacian": ["Laplacian"],
    "operators.potential": ["Potential"],
    "operators.slowness": ["Slowness"],
    "assemble": ["network_key", "solve"],
    "solvers.alternatives": ["AugmentedLagrangian", "Sequential", "Trace"],
    "solvers.base": ["Solver"],
    "solvers.galerkin": ["Galerkin"],
    "solvers.natural": ["NaturalGradient"],
    "solvers.schedules": ["following"],
    "solvers.spin": ["SpIN"],
    "sources.adaptive": ["Adaptive"],
    "sources.arrays": ["Arrays"],
    "sources.base": ["Source"],
    "sources.box": ["Box"],
    "sources.clips": ["Clips"],
    "sources.distribution": ["Distribution"],
    "sources.densities": ["Gaussian", "Radial", "Scales"],
    "sources.mixture": ["Mixture"],
    "sources.steps": ["Steps"],
    "sources.surface": ["Surface", "sphere", "torus"],
    "sources.transitions": ["Transitions"],
    "errors": ["DivergedError", "InterruptedRun", "RunError"],
}

__all__ = [
    "MLP",
    "Adaptive",
    "Arrays",
    "AugmentedLagrangian",
    "Bounded",
    "Box",
    "BoxFactor",
    "Clips",
    "Conv",
    "CuspInputs",
    "Distribution",
    "DivergedError",
    "Edges",
    "Galerkin",
    "Gaussian",
    "GraphLaplacian",
    "InterruptedRun",
    "Kernel",
    "LaplaceBeltrami",
    "Laplacian",
    "Mixture",
    "Modes",
    "NaturalGradient",
    "Network",
    "OnInputs",
    "Operator",
    "Pairs",
    "Points",
    "Potential",
    "Radial",
    "RunError",
    "ScaledInputs",
    "Scales",
    "Separate",
    "Sequential",
    "Slowness",
    "Solver",
    "Source",
    "SpIN",
    "Steps",
    "Surface",
    "Trace",
    "Transitions",
    "Walls",
    "WithConstant",
    "following",
    "load",
    "measure",
    "network_key",
    "solve",
    "sphere",
    "torus",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"eigenax.{home}"), name)
    raise AttributeError(f"module 'eigenax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
