"""Orthonormal combinations of functions against dense generalised eigenproblems."""

import numpy as np
import pytest
import scipy.linalg

from eigenax.core.ritz import combine, lowest
from eigenax.errors import SingularMomentsError


def moments(seed=0, size=5):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, size, size))
    return a @ a.T + np.eye(size), b + b.T


@pytest.mark.parametrize("sign", [1, -1])
def test_rotation_solves_the_generalised_eigenproblem_in_order(sign):
    sigma, pi = moments()
    values, coefficients, _ = combine(sigma, pi, "eigh", sign)
    np.testing.assert_allclose(values, scipy.linalg.eigh(pi, sigma, eigvals_only=True)[::sign])
    np.testing.assert_allclose(coefficients.T @ sigma @ coefficients, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(coefficients.T @ pi @ coefficients, np.diag(values), atol=1e-10)


def test_triangular_is_the_papers_whitening():
    sigma, pi = moments()
    values, coefficients, _ = combine(sigma, pi, "cholesky")
    np.testing.assert_allclose(np.tril(coefficients, -1), 0)
    np.testing.assert_allclose(coefficients.T @ sigma @ coefficients, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(values, np.diag(coefficients.T @ pi @ coefficients))


@pytest.mark.parametrize("sigma", [np.ones((2, 2)), np.full((2, 2), np.nan), -np.eye(2)])
def test_functions_that_died_are_named(sigma):
    with pytest.raises(SingularMomentsError, match="not positive definite"):
        combine(sigma, np.eye(2))


def pencil(seed, matrix):
    """Σ and Π of mixed functions that have `matrix` when whitened; Π c = λ Σ c has its eigenvalues."""
    rng, size = np.random.default_rng(seed), len(matrix)
    rotation, _ = np.linalg.qr(rng.normal(size=(size, size)))
    mixing = rng.normal(size=(size, size))
    sigma = mixing @ mixing.T / size + np.eye(size) / 2
    root = np.linalg.cholesky(sigma) @ rotation
    return sigma, root @ matrix @ root.T


def restricted(sigma, pi, coefficients):
    """The matrix B of Π C = Σ C B, and how far C is from spanning an invariant subspace."""
    b = coefficients.T @ pi @ coefficients
    return b, np.abs(pi @ coefficients - sigma @ coefficients @ b).max()


def sines_and_others(seed, sines, others, samples):
    """Moments of −d²/dx² at a few points of [0, π], and the coefficients of sin kx among mixed functions."""
    rng = np.random.default_rng(seed)
    x, weights = rng.uniform(0, np.pi, (samples, 1)), rng.uniform(0.2, 2, (samples, 1))
    k, j = np.arange(1, sines + 1), sines + np.arange(1, others + 1)
    u = np.concatenate([np.sin(k * x), x * np.sin(j * x)], 1)
    ku = np.concatenate([k**2 * np.sin(k * x), j**2 * x * np.sin(j * x) - 2 * j * np.cos(j * x)], 1)
    mixing, _ = np.linalg.qr(rng.normal(size=(sines + others,) * 2))
    u, ku = u @ mixing, ku @ mixing
    return u.T @ (weights * u) / samples, u.T @ (weights * ku) / samples, mixing.T[:, :sines]


@pytest.mark.parametrize(("sines", "others", "samples"), [(1, 4, 40), (3, 5, 60), (4, 20, 400)])
def test_eigenfunctions_in_the_span_are_found_exactly_whatever_the_samples(sines, others, samples):
    squares = np.arange(1, sines + 1) ** 2
    for seed in range(5):
        sigma, pi, exact = sines_and_others(seed, sines, others, samples)
        values, c, _ = lowest(sigma, pi, sines, [1e-14])[0]
        b, _ = restricted(sigma, pi, c)
        np.testing.assert_allclose(np.sort(np.linalg.eigvals(b).real), squares, rtol=1e-7)
        missed = exact - c @ (c.T @ sigma @ exact)
        assert np.abs(np.einsum("ki,kl,li->i", missed, sigma, missed)).max() < 1e-12
        if sines == 1:
            assert values[0] == pytest.approx(1, rel=1e-9)
        # A symmetrised Π knows them only as well as the samples do.
        symmetrised = scipy.linalg.eigh((pi + pi.T) / 2, sigma, eigvals_only=True)[:sines]
        assert np.abs(symmetrised - squares).max() > 1e-2


@pytest.mark.parametrize("n", [1, 3, 6])
def test_perturbed_pencils_agree_with_scipy(n):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        sigma, pi = pencil(seed, np.diag(np.arange(30.0)) + 0.05 * rng.normal(size=(30, 30)))
        values, c, _ = lowest(sigma, pi, n, [1e-12])[0]
        b, away = restricted(sigma, pi, c)
        exact = np.sort(scipy.linalg.eig(pi, sigma, right=False).real)[:n]
        np.testing.assert_allclose(c.T @ sigma @ c, np.eye(n), atol=1e-10)
        np.testing.assert_allclose((b + b.T) / 2, np.diag(values), atol=1e-9)
        np.testing.assert_allclose(np.sort(np.linalg.eigvals(b).real), exact, atol=1e-5)
        assert away < 1e-4
        assert np.abs(values - exact).max() < 20 * 0.05**2


def test_values_are_wrong_by_the_square_of_what_is_not_symmetric():
    rng = np.random.default_rng(0)
    noise, deviations = rng.normal(size=(20, 20)), []
    for size in (0.02, 0.01):
        sigma, pi = pencil(1, np.diag(np.arange(20.0)) + size * noise)
        exact = np.sort(scipy.linalg.eig(pi, sigma, right=False).real)[:5]
        deviations.append(np.abs(lowest(sigma, pi, 5, [1e-12])[0].values - exact).max())
    assert deviations[0] / deviations[1] == pytest.approx(4, rel=0.2)


def test_pairs_that_chance_made_complex_stay_together():
    spectrum = np.r_[1.0, 2.0, 2.0, 5.0, 7.0, 7.0, np.arange(9.0, 23.0)]
    matrix = np.diag(spectrum)
    matrix[1, 2], matrix[2, 1], matrix[4, 5], matrix[5, 4] = 0.3, -0.3, -0.2, 0.2
    for seed in range(40):
        sigma, pi = pencil(seed, matrix)
        for n in range(1, 7):  # two of these cut a pair in half
            values, c, _ = lowest(sigma, pi, n, [1e-12])[0]
            np.testing.assert_allclose(values, spectrum[:n], atol=1e-6)
            b, away = restricted(sigma, pi, c)
            if n not in {2, 5}:
                assert away < 1e-5
                expected = np.sort_complex(np.linalg.eigvals(matrix))[:n]
                np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(b)), expected, atol=1e-6)


def test_levels_that_n_cuts_through_are_found_as_often_as_they_are_asked_for():
    spectrum = np.r_[1.0, 2.0, 2.0, 3.0, 3.0, 3.0, np.arange(4.0, 28.0)]
    for seed in range(300):
        sigma, pi = pencil(seed, np.diag(spectrum))
        np.testing.assert_allclose(lowest(sigma, pi, 4, [1e-12])[0].values, spectrum[:4], atol=1e-6)


def test_equal_values_alone_are_no_trouble():
    for seed in range(20):
        sigma, pi = pencil(seed, 3 * np.eye(12))
        np.testing.assert_allclose(lowest(sigma, pi, 2, [1e-12])[0].values, [3, 3], atol=1e-9)


def moments_of_functions(u, potential):
    return u.T @ u / len(u), u.T @ (potential * u) / len(u)


def test_copies_and_combinations_of_functions_change_nothing():
    rng = np.random.default_rng(0)
    u, potential = rng.normal(size=(400, 6)), rng.uniform(1, 2, (400, 1))
    several = np.concatenate([u[:, :3], u, u @ rng.normal(size=(6, 2))], 1)
    (alone,), (among,) = (lowest(*moments_of_functions(v, potential), 3, [1e-10]) for v in (u, several))
    np.testing.assert_allclose(among.values, alone.values, rtol=1e-8)
    overlap = (u @ alone.coefficients).T @ (several @ among.coefficients) / 400
    np.testing.assert_allclose(np.abs(overlap), np.eye(3), atol=1e-6)


def test_functions_that_are_zero_on_the_samples_are_left_out():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        u, potential = rng.normal(size=(200, 6)), rng.uniform(1, 2, (200, 1))
        u[:, 2] = 0
        values, c, _ = lowest(*moments_of_functions(u, potential), 2, [1e-6])[0]
        alone = lowest(*moments_of_functions(np.delete(u, 2, 1), potential), 2, [1e-6])[0]
        np.testing.assert_allclose(values, alone.values, rtol=1e-9)
        np.testing.assert_allclose(c[2], 0, atol=1e-9)  # elsewhere they may be anything


def test_functions_of_any_size_count_alike():
    rng = np.random.default_rng(1)
    sigma, pi = pencil(0, np.diag(np.arange(1.0, 13.0)) + 0.01 * rng.normal(size=(12, 12)))
    sizes = 10 ** rng.uniform(-9, 9, 12)
    (plain,), (scaled,) = (
        lowest(sigma, pi, 4, [1e-12]),
        lowest(*(m * sizes * sizes[:, None] for m in (sigma, pi)), 4, [1e-12]),
    )
    np.testing.assert_allclose(scaled.values, plain.values, rtol=1e-9)
    np.testing.assert_allclose(np.abs(scaled.coefficients * sizes[:, None]), np.abs(plain.coefficients), rtol=1e-6)


@pytest.mark.parametrize("cut", [1e-4, 1e-6, 1e-8])
def test_directions_below_the_cut_are_left_out(cut):
    rng = np.random.default_rng(2)
    rotation, _ = np.linalg.qr(rng.normal(size=(20, 20)))
    sigma = rotation @ np.diag(10.0 ** -np.arange(20)) @ rotation.T
    root = rotation @ np.diag(10.0 ** (-np.arange(20) / 2))
    symmetric = rng.normal(size=(20, 20))
    pi = root @ (symmetric + symmetric.T) @ root.T
    # The cut is relative to functions that have been given variance one each.
    scale = 1 / np.sqrt(np.diag(sigma))
    variances, axes = np.linalg.eigh(sigma * scale * scale[:, None])
    above = variances > cut * variances[-1]
    whitening = scale[:, None] * axes[:, above] / np.sqrt(variances[above])
    assert 3 < above.sum() < 12
    values, c, _ = lowest(sigma, pi, 3, [cut])[0]
    np.testing.assert_allclose(values, np.linalg.eigvalsh(whitening.T @ pi @ whitening)[:3], rtol=1e-7)
    np.testing.assert_allclose(c.T @ sigma @ c, np.eye(3), atol=1e-7)


def test_smaller_cuts_find_what_they_would_have_found_alone():
    """Waves on a line: the first cut leaves hardly more directions than modes, the last three times as many."""
    rng = np.random.default_rng(0)
    x = np.linspace(-1, 1, 2001)[:, None]
    frequency, phase = rng.uniform(0, 8, 64), rng.uniform(0, 2 * np.pi, 64)
    wave, slope = np.sin(frequency * x + phase), frequency * np.cos(frequency * x + phase)
    u = (1 - x**2) * wave
    ku = 2 * wave + 4 * x * slope + (1 - x**2) * frequency**2 * wave
    sigma, pi = u.T @ u / len(x), u.T @ ku / len(x)
    cuts = [1e-6, 1e-8, 1e-10, 1e-12]
    for cut, found in zip(cuts, lowest(sigma, pi, 6, cuts), strict=True):
        np.testing.assert_allclose(found.values, lowest(sigma, pi, 6, [cut])[0].values, rtol=1e-5)
    np.testing.assert_allclose(found.values, (np.pi / 2 * np.arange(1, 7)) ** 2, rtol=1e-3)


def test_a_cut_that_leaves_too_few_directions_takes_n_of_them_if_a_smaller_one_has_enough():
    sigma = np.array([[1.0, 1 - 1e-8], [1 - 1e-8, 1.0]])
    coarse, fine = lowest(sigma, np.eye(2), 2, [1e-3, 1e-12])
    np.testing.assert_allclose(coarse.values, fine.values)


def test_too_few_independent_functions_are_counted():
    u = np.random.default_rng(0).normal(size=(3, 8))
    with pytest.raises(SingularMomentsError, match="support only 3 independent functions, but n is 4: ask for fewer"):
        lowest(u.T @ u, u.T @ u, 4, [1e-6, 1e-10])
    assert lowest(u.T @ u, u.T @ u, 3, [1e-6, 1e-10])[1].values == pytest.approx([1, 1, 1])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_moments_that_are_not_finite_are_refused(bad, part):
    moments = [np.eye(3), np.eye(3)]
    moments[part][0, 1] = moments[part][1, 0] = bad
    with pytest.raises(SingularMomentsError):
        lowest(*moments, 1, [1e-6])
