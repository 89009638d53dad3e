"""The public names, written once: `__init__.py` reads where each of them lives."""

from eigenax.assemble import solve as solve
from eigenax.bases.softmax_cells import SoftmaxCells as SoftmaxCells
from eigenax.core.batch import Pairs as Pairs, Points as Points, pairs_of as pairs_of
from eigenax.domains.base import Domain as Domain
from eigenax.domains.box import Box as Box
from eigenax.domains.surface import Surface as Surface, sphere as sphere, torus as torus
from eigenax.driver.snapshot import Callback as Callback, Snapshot as Snapshot
from eigenax.errors import DivergedError as DivergedError, InterruptedRun as InterruptedRun, RunError as RunError
from eigenax.measurement.measure import measure as measure
from eigenax.modes import Modes as Modes, load as load
from eigenax.networks.base import (
    Compose as Compose,
    Multiply as Multiply,
    Network as Network,
    WithConstant as WithConstant,
)
from eigenax.networks.boundary import BoundaryCoordinates as BoundaryCoordinates, DirichletFactor as DirichletFactor
from eigenax.networks.conv import Conv as Conv
from eigenax.networks.features import ScaledInputs as ScaledInputs
from eigenax.networks.mlp import MLP as MLP, EnsembleMLP as EnsembleMLP
from eigenax.operators.base import Operator as Operator, WeakOperator as WeakOperator
from eigenax.operators.graph import GraphLaplacian as GraphLaplacian
from eigenax.operators.kernel import Kernel as Kernel
from eigenax.operators.laplace_beltrami import LaplaceBeltrami as LaplaceBeltrami
from eigenax.operators.laplacian import Laplacian as Laplacian
from eigenax.operators.potential import Potential as Potential
from eigenax.operators.slowness import Slowness as Slowness
from eigenax.problem import Problem as Problem
from eigenax.solvers.auto import AutoSolver as AutoSolver
from eigenax.solvers.base import Info as Info, SavedState as SavedState, Solver as Solver
from eigenax.solvers.gauss_newton import RayleighGaussNewton as RayleighGaussNewton
from eigenax.solvers.gradient import GradientSolver as GradientSolver
from eigenax.solvers.natural import NaturalGradient as NaturalGradient
from eigenax.solvers.rayleigh_ritz import RayleighRitz as RayleighRitz
from eigenax.solvers.schedules import ema_schedule as ema_schedule
from eigenax.solvers.spin import SpIN as SpIN
from eigenax.sources.adaptive import Adaptive as Adaptive
from eigenax.sources.arrays import Arrays as Arrays
from eigenax.sources.base import Sampler as Sampler, Source as Source
from eigenax.sources.densities import Gaussian as Gaussian, LogUniformRadius as LogUniformRadius, Radial as Radial
from eigenax.sources.graph import Graph as Graph
from eigenax.sources.markov_chains import MarkovChains as MarkovChains
from eigenax.sources.mixture import Mixture as Mixture
from eigenax.sources.time_series import TimeSeries as TimeSeries
from eigenax.sources.transitions import Transitions as Transitions
from eigenax.sources.uniform import Uniform as Uniform
from eigenax.stop_reason import StopReason as StopReason

__version__: str
