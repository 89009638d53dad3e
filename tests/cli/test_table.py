"""The table in the terminal, of results as they are written down."""

from eigenax.cli.table import print_table

RESULT = {
    "eigenvalues": [1.0, 2.0], "standard_errors": [0.1, 0.1], "residuals": [1e-3, 2.0], "steps": 30,
    "wall_seconds": 12.0, "device": "a device",
}  # fmt: skip


def test_what_has_not_converged_has_a_star(capsys):
    print_table(RESULT | {"unconverged": [False, True]}, "mode")
    _, first, second, said, seconds = capsys.readouterr().out.splitlines()
    assert "*" not in first
    assert second.rstrip().endswith("*")
    assert said == "* not converged, as its residual or its errors tell"
    assert seconds == "30 steps; in all 12 s on a device"
    print_table(RESULT | {"unconverged": [False, False]}, "mode")
    assert "*" not in capsys.readouterr().out


def test_seconds_of_a_resumed_run_are_those_since_then(capsys):
    print_table(RESULT | {"resumed": True}, "feature")
    said = capsys.readouterr().out
    assert said.split()[0] == "feature"
    assert "30 steps; since it was resumed 12 s on a device" in said
