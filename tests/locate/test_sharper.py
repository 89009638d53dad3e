"""Errors of marked modes, measured by sharper functions where residuals are."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import eigenax as ex


def pair_of_levels(height: float) -> list[float]:
    """The two lowest levels of −u″ in a box of length 3 whose middle third is raised: λ = k² = height − κ².

    Left of the step u = sin kx, in it cosh or sinh κ(x − 3/2): k cot k = −κ tanh κ/2, or −κ coth κ/2.
    """

    def mismatch(k: float, odd: bool) -> float:
        kappa = np.sqrt(height - k**2)
        slope = np.tanh(kappa / 2)
        return k / np.tan(k) + kappa * (1 / slope if odd else slope)

    return [scipy.optimize.brentq(mismatch, 1.6, 3.14, args=(odd,), xtol=1e-14) ** 2 for odd in (False, True)]


@pytest.mark.filterwarnings("ignore:the potential jumps")
def test_at_a_jump_errors_are_about_as_large_as_true_ones():
    step = -ex.Laplacian() + ex.Potential(lambda x: jnp.where((x[0] > 1) & (x[0] < 2), 50.0, 0.0))
    modes = ex.solve(
        step, ex.Box(0, 3), 2, solver=ex.RayleighRitz(n_basis=64, max_basis=64), max_steps=1, progress=False
    )
    true = np.abs(modes.eigenvalues - pair_of_levels(50.0))
    assert modes.unconverged.all()
    assert (true < 3 * modes.standard_errors).all()
    assert (modes.standard_errors < 5 * true).all()
    # The residual alone speaks of ten times as much.
    gap = modes.next_eigenvalue - modes.eigenvalues[1]
    assert modes.residuals[1] ** 2 / gap > 10 * true[1]
