"""The progress line, in a terminal and in a notebook."""

import io
import re

import nbformat
from nbclient import NotebookClient
from rich.console import Console

from eigenax.driver.progress import format_values, progress_bar
from eigenax.driver.snapshot import Snapshot
from eigenax.progress import progress_track


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


def test_what_is_looked_through_during_a_run_is_a_line_of_its_bar_for_as_long():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=160)
    with progress_bar("training", console=console) as update:
        update(Snapshot(7, 9, 0.0, 0.0, {}, None))
        for number in progress_track(range(3), "measuring"):
            while number == 1 and "1/3" not in screen.getvalue():
                pass
    text = screen.getvalue()
    assert "measuring" in text
    assert "measuring" not in text[text.rindex("7/9") :]


def test_a_pipe_has_one_line_of_a_run_and_no_empty_ones(capsys):
    with progress_bar("training") as update:
        assert list(progress_track(range(3), "measuring")) == [0, 1, 2]
        update(Snapshot(9, 9, 0.5, 1.0, {}, None))
    for _ in progress_track(range(3), "features"):
        pass
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "9/9" in lines[0]


def test_few_values_are_shown_in_full():
    assert format_values([1.0, 0.04]) == "1 0.04"


def test_a_notebook_shows_the_same_line():
    code = """
import eigenax as ex
solver = ex.SpIN(batch=16, samples=256)
modes = ex.solve(ex.Potential(lambda x: x[0]), ex.Box(-1, 1, dims=1), n=2, solver=solver, max_steps=20)
"""
    alone = """
from eigenax.progress import progress_track
assert sum(progress_track(range(3), "features")) == 3
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in (code, alone)])
    client = NotebookClient(notebook, timeout=300)
    client.execute()
    shown = re.sub("<[^>]*>", "", str(notebook.cells) + str(client.widget_state))
    assert "20/20" in shown
    assert "features" in shown
    # One block for all bars of a run, and none that is empty when they are finished.
    assert [len(cell.outputs) for cell in notebook.cells] == [1, 1]
    assert "steps/s" in shown
