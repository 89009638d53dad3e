"""The progress line, in a terminal and in a notebook."""

import io
import re

import nbformat
from nbclient import NotebookClient
from rich.console import Console

from eigenax.driver.progress import format_values, progress_bar
from eigenax.driver.snapshot import Snapshot


def test_a_terminal_shows_step_speed_time_left_and_eigenvalues():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=160)
    with progress_bar("training", console=console) as update:
        update(Snapshot(0, 400, 0.0, 0.0, {}, None))
        update(Snapshot(100, 400, 0.5, 1.0, {"eigenvalues": [-1.0, -0.04, 2.0, 3.0, 4.0]}, None))
    text = screen.getvalue()
    assert "100/400" in text
    assert "200 steps/s" in text
    assert "-1 -0.04 2 … (5)" in text


def test_quiet_shows_nothing(capsys):
    with progress_bar("training", show=False) as update:
        update(Snapshot(100, 400, 0.5, 1.0, {"eigenvalues": [1.0]}, None))
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_few_values_are_shown_in_full():
    assert format_values([1.0, 0.04]) == "1 0.04"


def test_a_notebook_shows_the_same_line():
    code = """
import eigenax as ex
solver = ex.SpIN(batch=16, samples=256)
modes = ex.solve(ex.Potential(lambda x: x[0]), ex.Box(-1, 1, dims=1), n=2, solver=solver, max_steps=20)
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    client = NotebookClient(notebook, timeout=300)
    client.execute()
    shown = re.sub("<[^>]*>", "", str(notebook.cells[0].outputs) + str(client.widget_state))
    assert "20/20" in shown
    assert "steps/s" in shown
