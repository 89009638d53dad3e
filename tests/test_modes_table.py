"""The table of modes: digits that the errors allow, and columns of what is known."""

import numpy as np
import pytest

from eigenax.modes_table import table


def rows(values, errors, **columns):
    columns = {"residuals": np.full(len(values), np.nan)} | columns
    lines = table(np.array(values), np.array(errors), np.zeros(len(values), bool), **columns).splitlines()
    return [line.split() for line in lines]


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (np.pi, 1e-2, "3.14159"),
        (np.pi, 1e-8, "3.141592654"),
        (np.pi, 1e-20, "3.1415926536"),
        (12345.678, np.nan, "12345.7"),
        (1e-13, 1e-14, "0"),
    ],
)
def test_values_have_one_digit_beyond_their_error_and_at_least_six(value, error, shown):
    assert rows([value, 10.0], [error, 1.0])[1][1] == shown


def test_columns_are_those_of_what_is_known():
    assert rows([1.0], [0.1])[0] == ["mode", "eigenvalue", "±", "std.", "err"]
    known = {"residuals": np.array([0.5]), "training": np.array([0.9]), "missed": np.array([0.25])}
    head, row, *notes = rows([1.0], [0.1], **known)
    assert head[5:] == ["residual", "training", "missed"]
    assert row[3:] == ["0.5", "0.9", "25.0", "%"]
    assert len(notes) == 1
