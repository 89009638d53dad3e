"""Checks of input: what passes comes out in one form, what does not is named."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

from eigenax.checks import (
    as_array,
    as_real,
    as_seed,
    as_vector,
    check_choice,
    check_returns_number,
    positive_int,
    positive_int_or_none,
    tell_of_rounding,
)

pytestmark = pytest.mark.usefixtures("as_user")


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_of_any_type_are_ints(value):
    for found in (positive_int("n", value), positive_int_or_none("n", value), as_seed(value)):
        assert type(found) is int
        assert found == 3
    assert positive_int_or_none("n", None) is None


@pytest.mark.parametrize("value", [0, -1, 2.0, True, "3", None, np.array([1, 2])])
def test_what_is_no_positive_whole_number_is_named(value):
    with pytest.raises(ValueError, match="n must be a whole number of at least 1; got"):
        positive_int("n", value)


def test_the_least_that_is_allowed_is_named():
    assert positive_int("samples", 64, 64) == 64
    with pytest.raises(ValueError, match="samples must be a whole number of at least 64; got 63"):
        positive_int("samples", 63, 64)


@pytest.mark.parametrize("seed", [-1, 2**32, 0.5, "0"])
def test_what_is_no_seed_is_named(seed):
    assert as_seed(2**32 - 1) == 2**32 - 1
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0 and below"):
        as_seed(seed)


def test_words_that_are_allowed_are_named():
    check_choice("which", "largest", ("smallest", "largest"))
    with pytest.raises(ValueError, match="which must be 'smallest' or 'largest'; got 'small'"):
        check_choice("which", "small", ("smallest", "largest"))


@pytest.mark.parametrize(("value", "dims", "vector"), [(2, 3, (2, 2, 2)), (2, None, (2,)), ([1, 2], None, (1, 2))])
def test_a_number_is_one_for_each_axis(value, dims, vector):
    assert as_vector(value, dims, "low") == vector


def test_numbers_for_another_number_of_axes_are_named():
    with pytest.raises(ValueError, match="low has 2 values, but dims is 3"):
        as_vector([1, 2], 3, "low")
    with pytest.raises(ValueError, match=r"low must be a number or one number per axis; got shape \(1, 2\)"):
        as_vector([[1, 2]], None, "low")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (scipy.sparse.eye_array(3), r"x must be dense; got a sparse matrix of shape \(3, 3\)"),
        ([[1.0], [1.0, 2.0]], "x must be an array, all rows of one length"),
        ([1j, 2.0], "x must be real; got complex numbers"),
        (["a", "b"], "x must be an array of numbers; got <U1"),
        ([1.0, np.nan], "x contains NaN or infinity"),
        ([1.0, 1e39], "x contains NaN or infinity"),
    ],
)
def test_what_are_no_real_numbers_is_named(value, message):
    with pytest.raises(ValueError, match=message):
        as_real("x", value)


def test_data_of_any_real_type_are_floats():
    for value in ([1, 2], np.array([1, 2], np.uint8), jnp.array([1.0, 2.0]), np.array([True, False])):
        assert as_real("x", value).dtype == jnp.float32
    assert as_array("x", [1, 2]).dtype == np.int64


def test_the_column_that_float32_rounds_is_told_of_with_how_much():
    """Above 2²⁴ whole numbers are every other one."""
    rows = np.stack([np.arange(5.0), 2.0**24 + np.arange(5.0)], 1)
    with pytest.warns(UserWarning, match=r"column 1 of x lies between 16777216 and 16777220; .* by up to 1: subtract"):
        tell_of_rounding("x", rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tell_of_rounding("x", rows[:, :1])
        tell_of_rounding("x", rows - rows[0])
        tell_of_rounding("x", rows.astype(np.float32))
        tell_of_rounding("x", rows[:, 1])  # one row of many columns, none of which varies


def test_functions_of_jax_alone_pass_and_those_that_read_too_far_do_not():
    def scanned(x):
        return jax.lax.fori_loop(0, 2, lambda k, total: total + x[k], jnp.zeros((), x.dtype))

    check_returns_number("Potential", scanned, jnp.zeros(2))
    check_returns_number("Kernel", lambda x, y: x @ y, jnp.zeros(2), jnp.zeros(2))
    with pytest.raises(ValueError, match=r"reads what a point of shape \(2,\) has not"):
        check_returns_number("Potential", lambda x: x[2], jnp.zeros(2))
