"""The spectrum of a torus against its thin limit, another discretisation of it, and larger bases."""

import numpy as np
import pytest

from eigenax.lab.spectra.torus import _lowest, torus_spectrum


def liouville(major, minor, m, size=128):
    """The eigenvalues of one m in Schrödinger form, u = e^{imφ} v/√ρ, at equidistant angles."""
    theta = 2 * np.pi * np.arange(size) / size
    rho = major + minor * np.cos(theta)
    well = (-minor * np.cos(theta) / (2 * rho) - (minor * np.sin(theta) / (2 * rho)) ** 2) / minor**2 + (m / rho) ** 2
    waves = np.fft.fft(np.eye(size))
    kinetic = (waves.conj().T * np.fft.fftfreq(size, 1 / size) ** 2 @ waves).real / size / minor**2
    return np.linalg.eigvalsh(kinetic + np.diag(well))


@pytest.mark.parametrize(("major", "minor"), [(2.0, 1.0), (1.0, 0.3), (5.0, 4.5)])
def test_another_discretisation_agrees_to_eight_digits(major, minor):
    every = [liouville(major, minor, m) for m in range(16)]
    every += every[1:]
    np.testing.assert_allclose(
        torus_spectrum(major, minor, 30), np.sort(np.concatenate(every))[:30], rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("minor", [1e-2, 1e-4])
def test_a_thin_torus_has_the_spectrum_of_a_circle_of_its_mean_inverse_radius(minor):
    got = torus_spectrum(3.0, minor, 9)
    m = np.array([0, 1, 1, 2, 2, 3, 3, 4, 4])
    np.testing.assert_allclose(got, m**2 / (3 * np.sqrt(9 - minor**2)), rtol=1e-8)


def test_tubes_that_are_not_thin_turn_before_they_go_around():
    assert torus_spectrum(1.0, 0.3, 6)[5] < 1 / 0.3**2 < torus_spectrum(1.0, 0.3, 12)[11]


@pytest.mark.parametrize(("minor", "enough"), [(0.1, 8), (0.5, 24), (0.8, 48)])
def test_bases_converge_from_above(minor, enough):
    exact = _lowest(minor, 20, 2 * enough)
    errors = [(_lowest(minor, 20, frequency) - exact).max() for frequency in (enough // 4, enough // 2, enough)]
    assert errors[0] > 100 * max(errors[1], 1e-14)
    assert errors[2] < 1e-10 * exact[-1]
    assert (_lowest(minor, 20, enough // 4) > exact - 1e-10).all()
    np.testing.assert_allclose(torus_spectrum(1.0, minor, 20), exact, rtol=1e-10, atol=1e-12)


def test_sizes_scale_and_fewer_eigenvalues_are_the_first_of_more():
    np.testing.assert_allclose(torus_spectrum(4.0, 2.0, 10), torus_spectrum(2.0, 1.0, 20)[:10] / 4, rtol=1e-10)
    assert torus_spectrum(2.0, 1.0, 1).tolist() == [0.0]


def test_as_many_as_weyl_says():
    values = torus_spectrum(2.0, 1.0, 300)
    assert values[-1] == pytest.approx(300 * 4 * np.pi / (8 * np.pi**2), rel=0.05)


@pytest.mark.parametrize(("major", "minor"), [(1.0, 1.0), (1.0, 2.0), (1.0, 0.0)])
def test_a_torus_must_not_meet_itself(major, minor):
    with pytest.raises(ValueError, match="0 < minor < major"):
        torus_spectrum(major, minor, 3)


def test_what_does_not_converge_or_is_nothing_is_refused(monkeypatch):
    monkeypatch.setattr("eigenax.lab.spectra.torus.HIGHEST_FREQUENCY", 64)
    with pytest.raises(ValueError, match="has not converged"):
        torus_spectrum(1.0, 0.99999, 8)
    with pytest.raises(ValueError, match="n must be at least 1; got 0"):
        torus_spectrum(2.0, 1.0, 0)
