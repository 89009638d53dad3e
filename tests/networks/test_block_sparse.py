"""Block masks against a literal reading of the paper's formula."""

import itertools
from fractions import Fraction

import jax
import numpy as np
import pytest

from eigenax.networks.block_sparse import initial_weights, mask, masks, units_of_block


def in_block(i, k, blocks, layer, layers, units):
    """i ∈ [(k−1)/(K−1) · (ℓ−1)/L · m, (k−1)/(K−1) · (ℓ−1)/L · m + (L−ℓ+1)/L · m], units and blocks counted from 1."""
    start = Fraction(k - 1, blocks - 1) * Fraction(layer - 1, layers) * units
    return start <= i <= start + Fraction(layers - layer + 1, layers) * units


def by_the_paper(layer, layers, inputs, outputs, blocks):
    """Whether there is a k with input i and output j in its block, for every weight."""
    numbers = range(1, blocks + 1)
    return np.array(
        [
            [
                any(
                    in_block(i, k, blocks, layer, layers, inputs) and in_block(j, k, blocks, layer, layers, outputs)
                    for k in numbers
                )
                for i in range(1, inputs + 1)
            ]
            for j in range(1, outputs + 1)
        ]
    )


CASES = [
    (2, 3, 12, 12, 4),
    (3, 3, 12, 4, 4),
    (2, 4, 64, 64, 9),
    (4, 4, 64, 64, 9),
    (4, 4, 64, 9, 9),
    (3, 5, 7, 11, 3),
    (3, 4, 13, 10, 3),
    (2, 2, 10, 6, 6),
    (2, 5, 32, 32, 12),
    (4, 5, 32, 128, 12),
]


@pytest.mark.parametrize("case", CASES)
def test_paper_masks_are_the_formula(case):
    np.testing.assert_array_equal(mask(*case, "paper"), by_the_paper(*case))


@pytest.mark.parametrize("case", CASES)
def test_isolated_masks_are_the_formula_before_the_last_layer(case):
    layer, layers, *_ = case
    if layer < layers:
        np.testing.assert_array_equal(mask(*case, "isolated"), by_the_paper(*case))


@pytest.mark.parametrize(("layers", "inputs", "blocks"), [(2, 10, 6), (3, 12, 4), (4, 64, 9), (5, 128, 12), (3, 7, 2)])
def test_isolated_outputs_read_their_own_block_alone(layers, inputs, blocks):
    expected = [
        [in_block(i, k, blocks, layers, layers, inputs) for i in range(1, inputs + 1)] for k in range(1, blocks + 1)
    ]
    np.testing.assert_array_equal(mask(layers, layers, inputs, blocks, blocks, "isolated"), expected)


def test_the_papers_outputs_overlap_where_isolated_ones_do_not_read_more():
    paper, isolated = (mask(2, 2, 10, 6, 6, sparsity) for sparsity in ("paper", "isolated"))
    assert (isolated <= paper).all()
    assert isolated.sum() < paper.sum()


def test_deeper_layers_are_sparser():
    counts = [mask(layer, 5, 64, 64, 9, "paper").sum() for layer in range(1, 6)]
    assert counts[0] == 64 * 64
    assert all(a > b for a, b in itertools.pairwise(counts))


@pytest.mark.parametrize("sparsity", ["paper", "isolated", "none"])
def test_one_block_is_dense(sparsity):
    assert mask(3, 3, 8, 1, 1, sparsity).all()
    assert mask(2, 3, 8, 5, 1, sparsity).all()


@pytest.mark.parametrize("sparsity", ["paper", "isolated", "none"])
@pytest.mark.parametrize("layers", [2, 4])
def test_the_first_layer_is_dense(sparsity, layers):
    assert mask(1, layers, 3, 16, 5, sparsity).all()


def test_no_sparsity_is_dense_everywhere():
    assert all(m.all() for m in masks([2, 16, 16, 4], "none"))


def test_masks_of_a_network_are_those_of_its_layers():
    sizes = [2, 16, 12, 4]
    got = masks(sizes, "isolated")
    assert [m.shape for m in got] == [(16, 2), (12, 16), (4, 12)]
    np.testing.assert_array_equal(got[1], by_the_paper(2, 3, 16, 12, 4))
    np.testing.assert_array_equal(got[2], mask(3, 3, 12, 4, 4, "isolated"))


def test_ends_that_fall_on_a_unit_belong_to_the_block():
    # 2/3 · 9 = 6 exactly: floating point would be free to leave it out.
    np.testing.assert_array_equal(
        np.flatnonzero(units_of_block(2, blocks=2, layer=3, layers=3, units=9)) + 1, [6, 7, 8, 9]
    )
    np.testing.assert_array_equal(
        np.flatnonzero(units_of_block(1, blocks=2, layer=3, layers=3, units=9)) + 1, [1, 2, 3]
    )


@pytest.mark.parametrize(
    ("case", "unit"),
    [
        ((4, 4, 64, 3, 3), 1),  # the first block of outputs [0, 3/4] holds no whole number
        ((5, 5, 13, 10, 2), 3),  # the blocks [0, 2] and [8, 10] leave a gap between them
    ],
)
def test_a_unit_without_inputs_is_named(case, unit):
    layer, layers, _, outputs, _ = case
    assert np.flatnonzero(~by_the_paper(*case).any(1))[0] == unit - 1
    message = f"sparsity='paper' leaves unit {unit} of {outputs} in layer {layer} of {layers} without inputs"
    with pytest.raises(ValueError, match=message):
        mask(*case, "paper")


def test_unknown_sparsity_is_refused_by_name(as_user):
    with pytest.raises(ValueError, match="sparsity must be one of none, paper, isolated; got 'random'"):
        mask(1, 2, 3, 4, 5, "random")


@pytest.mark.parametrize("kernel_pixels", [1, 9])
def test_initial_weights_have_variance_one_over_the_inputs_a_unit_really_has(kernel_pixels):
    allowed = mask(4, 4, 256, 9, 9, "isolated")
    fan_in = allowed.sum(1)
    weights = np.asarray(initial_weights(jax.random.key(0), allowed, kernel_pixels))
    assert (weights[~allowed] == 0).all()
    scaled = weights * np.sqrt(fan_in * kernel_pixels)[:, None]
    assert fan_in.max() < 256 / 3
    assert scaled[allowed].var() == pytest.approx(1, abs=4.5 * np.sqrt(2 / allowed.sum()))
