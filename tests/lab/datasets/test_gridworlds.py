"""Maps and where one can go on them."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from eigenax.errors import InputError
from eigenax.lab.datasets.gridworlds import MAPS, parse_map, read_map

LITTLE = "XXXXX\nX  #\nX..X\nXXXX"


def test_a_map_is_its_free_cells_and_their_neighbours():
    grid = parse_map(LITTLE)
    assert grid.cells.tolist() == [[1, 1], [2, 1], [1, 2], [2, 2]]
    assert sorted(map(tuple, grid.edges().tolist())) == [(0, 1), (0, 2), (1, 3), (2, 3)]
    np.testing.assert_array_equal(np.isnan(grid.picture(np.zeros(4))), ~grid.free)


def test_steps_go_to_neighbours_or_stay_at_walls_from_all_cells_alike():
    before, after = parse_map(LITTLE).steps(40_000, seed=0)
    neighbours = {(a, b) for pair in parse_map(LITTLE).edges().tolist() for a, b in (pair, pair[::-1])}
    assert {(a, b) for a, b in zip(before.tolist(), after.tolist(), strict=True) if a != b} == neighbours
    np.testing.assert_allclose(np.bincount(before) / 40_000, 0.25, atol=0.01)
    np.testing.assert_allclose((before == after).mean(), 0.5, atol=0.01)


@pytest.mark.parametrize("name", MAPS)
def test_the_maps_that_need_no_file_are_of_one_piece(name):
    grid = read_map(name)
    cells = len(grid.cells)
    edges = coo_array((np.ones(len(grid.edges())), grid.edges().T), (cells, cells))
    assert cells > 90
    assert connected_components(edges, directed=False)[0] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [("XXX\nXoX", "line 2: a map has X or #.*got 'o'"), ("XX\nXX", "no free cell"), ("", "no free cell")],
)
def test_what_is_no_map_is_one_sentence(text, said):
    with pytest.raises(InputError, match=said):
        parse_map(text)
