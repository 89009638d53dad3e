"""Numbers that float32 cannot hold: what is decomposed keeps them, and what is trained on them is told of."""

import warnings

import numpy as np
import pytest

import eigenax as ex
from eigenax.estimators import SpectralEmbedding

ROWS = np.random.default_rng(0).uniform(-1, 1, (60, 2))
RING = [(k, (k + 1) % 60) for k in range(60)]
TOLD = "column 0 of .*; where a network is trained on it, float32 rounds it by up to"


@pytest.mark.parametrize(("scale", "offset"), [(1e-42, 0.0), (1e-200, 0.0), (1.0, 1.7e9), (1e-5, 1.7e9)])
def test_rows_that_differ_below_float32_are_nodes_of_their_own(scale, offset):
    """Those of 1e-42 were all zero to a node's words, and merged: the first eigenvalues were 1.86 and 1.97."""
    rows = np.round(1e3 * ROWS) * scale / 1e3 + offset
    with pytest.warns(UserWarning, match=TOLD):
        ring = ex.Graph(RING, rows)
    modes = ex.solve(ex.GraphLaplacian(), ring, 3, progress=False)
    np.testing.assert_allclose(modes.eigenvalues, [0, *[2 - 2 * np.cos(2 * np.pi / 60)] * 2], atol=1e-12)
    np.testing.assert_allclose(np.mean(np.asarray(modes(rows)) ** 2, 0), 1, rtol=1e-5)


@pytest.mark.parametrize(
    "source",
    [
        ex.Arrays,
        ex.TimeSeries,
        lambda rows: ex.TimeSeries([rows[:30], rows[30:]]),
        lambda rows: ex.Transitions(rows[:-1], rows[1:]),
        lambda rows: ex.Graph(RING, rows),
    ],
)
def test_a_column_of_times_is_told_of_and_one_that_float32_holds_is_not(source):
    with pytest.warns(UserWarning, match=f"{TOLD} .*: subtract an offset, or rescale it"):
        source(ROWS + 1.7e9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source(ROWS)
        source(1e6 * ROWS + 1.7e9)
        source((1e6 * ROWS + 1.7e9).astype(np.float32))


def test_a_mapped_file_is_told_of_too(tmp_path):
    file = np.memmap(tmp_path / "rows", np.float64, "w+", shape=ROWS.shape)
    file[:] = ROWS + 1.7e9
    with pytest.warns(UserWarning, match="column 0 of series 0 lies between"):
        ex.TimeSeries(file)


def test_an_embedding_of_rows_far_from_zero_is_that_of_rows_around_it():
    """It ended in "only 0 can be told apart", since all centres of cells were one."""
    here = SpectralEmbedding(2, random_state=0).fit(ROWS)
    with pytest.warns(UserWarning, match=TOLD):
        far = SpectralEmbedding(2, random_state=0).fit(ROWS + 2.0**30)
    np.testing.assert_allclose(far.eigenvalues_, here.eigenvalues_, rtol=1e-5)
    np.testing.assert_allclose(far.transform(ROWS + 2.0**30), here.transform(ROWS), atol=1e-3)


def test_cells_too_small_for_float32_are_refused_by_name():
    with pytest.warns(UserWarning, match=TOLD), pytest.raises(ValueError, match=r"differ by 1e-40 only.*multiply"):
        SpectralEmbedding(2, random_state=0).fit(1e-40 * ROWS)
