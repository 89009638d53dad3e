"""Networks that do not obey the boundary of a box are told of, with what does."""

import warnings

import jax
import pytest

import eigenax as ex
from eigenax.boundary_check import warn_of_violations


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "dirichlet",
            r"does not vanish at the faces of axis 0 .* 'dirichlet'.*Take Multiply\(DirichletFactor\(box\), network\)",
        ),
        (
            "neumann",
            r"has a slope at the faces of axis 0 .* 'neumann'.*Take Compose\(BoundaryCoordinates\(box\), network\)",
        ),
        ("periodic", r"is not periodic at the faces of axis 0 .* 'periodic'.*Take Compose\(BoundaryCoordinates\(box\)"),
        ([("neumann", "dirichlet")], "does not vanish at the upper face of axis 0 .* 'dirichlet'"),
    ],
)
def test_a_network_that_does_not_obey_is_told_of_and_the_one_it_names_is_not(kind, message):
    box = ex.Box(-1, 1, boundary=kind)
    with pytest.warns(RuntimeWarning, match=message):
        warn_of_violations(box, ex.Uniform(box), ex.MLP(1, 2, key=jax.random.key(0)))
    edges = ex.BoundaryCoordinates(box)
    network = ex.Compose(edges, ex.MLP(edges.size, 2, key=jax.random.key(0)))
    network = ex.Multiply(ex.DirichletFactor(box), network) if "dirichlet" in box.faces[0] else network
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_violations(box, ex.Uniform(box), network)
