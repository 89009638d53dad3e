"""eigenax: ordered eigenfunctions of linear operators, learned from samples.

The names below are imported when first used, so that the command line answers before JAX has loaded.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigenax.assemble import solve
    from eigenax.core.batch import Pairs, Points
    from eigenax.domains.base import Domain
    from eigenax.domains.box import Box
    from eigenax.domains.surface import Surface, sphere, torus
    from eigenax.driver.snapshot import Snapshot
    from eigenax.errors import DivergedError, InterruptedRun, RunError
    from eigenax.galerkin.embedding import SoftmaxCells
    from eigenax.galerkin.trainable import network_key
    from eigenax.measurement import measure
    from eigenax.modes import Modes, load
    from eigenax.networks.base import Bounded, Network, OnInputs, WithConstant
    from eigenax.networks.boundary import BoxFactor, Edges, Walls
    from eigenax.networks.conv import Conv
    from eigenax.networks.features import CuspInputs, ScaledInputs
    from eigenax.networks.mlp import MLP, Separate
    from eigenax.operators.base import Operator, WeakOperator
    from eigenax.operators.graph import GraphLaplacian
    from eigenax.operators.kernel import Kernel
    from eigenax.operators.laplace_beltrami import LaplaceBeltrami
    from eigenax.operators.laplacian import Laplacian
    from eigenax.operators.potential import Potential
    from eigenax.operators.slowness import Slowness
    from eigenax.problem import Problem
    from eigenax.solvers.alternatives import AugmentedLagrangian, Sequential, Trace
    from eigenax.solvers.auto import AutoSolver
    from eigenax.solvers.base import Info, Saved, Solver
    from eigenax.solvers.gradient import GradientSolver
    from eigenax.solvers.natural import NaturalGradient
    from eigenax.solvers.rayleigh_ritz import RayleighRitz
    from eigenax.solvers.schedules import following
    from eigenax.solvers.spin import SpIN
    from eigenax.sources.adaptive import Adaptive
    from eigenax.sources.arrays import Arrays
    from eigenax.sources.base import Sampler, Source
    from eigenax.sources.clips import Clips
    from eigenax.sources.densities import Gaussian, Radial, Scales
    from eigenax.sources.mixture import Mixture
    from eigenax.sources.steps import Steps
    from eigenax.sources.transitions import Transitions
    from eigenax.sources.uniform import Distribution, Uniform
    from eigenax.stop_reason import StopReason

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
    "operators.base": ["Operator", "WeakOperator"],
    "operators.graph": ["GraphLaplacian"],
    "operators.kernel": ["Kernel"],
    "operators.laplace_beltrami": ["LaplaceBeltrami"],
    "operators.laplacian": ["Laplacian"],
    "operators.potential": ["Potential"],
    "operators.slowness": ["Slowness"],
    "assemble": ["solve"],
    "domains.base": ["Domain"],
    "domains.box": ["Box"],
    "domains.surface": ["Surface", "sphere", "torus"],
    "driver.snapshot": ["Snapshot"],
    "galerkin.embedding": ["SoftmaxCells"],
    "galerkin.trainable": ["network_key"],
    "problem": ["Problem"],
    "stop_reason": ["StopReason"],
    "solvers.alternatives": ["AugmentedLagrangian", "Sequential", "Trace"],
    "solvers.auto": ["AutoSolver"],
    "solvers.base": ["Info", "Saved", "Solver"],
    "solvers.gradient": ["GradientSolver"],
    "solvers.natural": ["NaturalGradient"],
    "solvers.rayleigh_ritz": ["RayleighRitz"],
    "solvers.schedules": ["following"],
    "solvers.spin": ["SpIN"],
    "sources.adaptive": ["Adaptive"],
    "sources.arrays": ["Arrays"],
    "sources.base": ["Sampler", "Source"],
    "sources.clips": ["Clips"],
    "sources.densities": ["Gaussian", "Radial", "Scales"],
    "sources.mixture": ["Mixture"],
    "sources.steps": ["Steps"],
    "sources.transitions": ["Transitions"],
    "sources.uniform": ["Distribution", "Uniform"],
    "errors": ["DivergedError", "InterruptedRun", "RunError"],
}

__all__ = [
    "MLP",
    "Adaptive",
    "Arrays",
    "AugmentedLagrangian",
    "AutoSolver",
    "Bounded",
    "Box",
    "BoxFactor",
    "Clips",
    "Conv",
    "CuspInputs",
    "Distribution",
    "DivergedError",
    "Domain",
    "Edges",
    "Gaussian",
    "GradientSolver",
    "GraphLaplacian",
    "Info",
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
    "Problem",
    "Radial",
    "RayleighRitz",
    "RunError",
    "Sampler",
    "Saved",
    "ScaledInputs",
    "Scales",
    "Separate",
    "Sequential",
    "Slowness",
    "Snapshot",
    "SoftmaxCells",
    "Solver",
    "Source",
    "SpIN",
    "Steps",
    "StopReason",
    "Surface",
    "Trace",
    "Transitions",
    "Uniform",
    "Walls",
    "WeakOperator",
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
