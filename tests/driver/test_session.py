"""A run's folder: what is written when, what a run goes on from, and which run it is."""

import json
from typing import NamedTuple

import numpy as np
import pytest

import eigenax as ex
from eigenax.driver.session import Session
from eigenax.driver.snapshot import Snapshot
from eigenax.io.checkpoint import checkpoints
from eigenax.io.metrics import read_metrics

SETTINGS = {"n": 2, "which": "smallest", "source": {"is": "Box", "low": (-5.0, 1 / 3), "boundary": ("neumann",)}}


class State(NamedTuple):
    step: int
    values: np.ndarray


def session(folder, settings=SETTINGS):
    return Session(folder, ex.SpIN(), settings)


def snapshot(step, stop_reason=None):
    state = State(step, np.arange(3.0) + step)
    return Snapshot(step, 9, 1.5 * step, 0.5, {"loss": 1.0 / step} if step else {}, state, stop_reason)


def resumed(folder, settings=SETTINGS):
    return session(folder, settings).resume(lambda about, load: load(State(0, np.zeros(3))))


def test_a_run_goes_on_from_what_was_saved_and_later_metrics_are_forgotten(tmp_path):
    begun = session(tmp_path / "new" / "run")
    for step in (1, 2):
        begun.write(snapshot(step))
    begun.save(snapshot(2))
    begun.write(snapshot(3))
    assert [row["step"] for row in read_metrics(begun.metrics)] == [1, 2, 3]
    state, about = resumed(begun.folder)
    assert state.step == 2
    np.testing.assert_array_equal(state.values, [2, 3, 4])
    assert (about["seconds"], about["compile_seconds"], about["stop_reason"]) == (3.0, 0.5, None)
    assert read_metrics(begun.metrics) == [
        {"step": 1, "seconds": 1.5, "loss": 1.0},
        {"step": 2, "seconds": 3.0, "loss": 0.5},
    ]


def test_where_nothing_was_saved_there_is_nothing_to_go_on_from(tmp_path):
    session(tmp_path).write(snapshot(0))
    assert resumed(tmp_path) is None
    assert not read_metrics(session(tmp_path).metrics)


def test_checkpoints_are_written_now_and_then_and_at_the_end(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("eigenax.driver.session.time.monotonic", lambda: now[0])
    begun = session(tmp_path)
    for step, seconds in ((1, 0.0), (2, 1.0), (3, 11.0), (4, 12.0)):
        now[0] = seconds
        begun.write(snapshot(step))
    assert [int(path.stem[5:]) for path in checkpoints(begun.checkpoints)] == [1, 3]
    begun.write(snapshot(5, ex.StopReason.TOL))
    assert [int(path.stem[5:]) for path in checkpoints(begun.checkpoints)] == [1, 3, 5]
    assert resumed(tmp_path)[1]["stop_reason"] == "TOL"


@pytest.mark.parametrize("kind", [ex.InterruptedRun, ex.DivergedError])
def test_a_run_that_is_stopped_is_saved_and_says_where_it_goes_on(tmp_path, kind):
    begun = session(tmp_path)
    with pytest.raises(kind) as stopped, begun.opened():
        raise kind("stopped", snapshot(4))
    assert stopped.value.__notes__ == [f"saved in {tmp_path}: the same call goes on from step 4"]
    assert resumed(tmp_path)[0].step == 4


def test_a_run_that_is_stopped_before_its_first_step_leaves_nothing(tmp_path):
    begun = session(tmp_path)
    with pytest.raises(ex.InterruptedRun), begun.opened():
        raise ex.InterruptedRun("stopped", snapshot(0))
    assert not checkpoints(begun.checkpoints)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 3}, r"holds another run \(n was 2 and is 3\)"),
        ({"n": 3, "source": {"is": "Arrays"}}, r"holds another run \(n was 2 and is 3\)"),
        ({"source": {"is": "Arrays"}}, r"holds another run \(source was another one\)"),
        ({"source": SETTINGS["source"] | {"low": (-5.0, 0.34)}}, "source was another one"),
        ({"source": SETTINGS["source"] | {"boundary": ("dirichlet",)}}, "source was another one"),
        ({"batch": 8}, "batch was None and is 8"),
    ],
)
def test_other_settings_are_another_run_and_are_named(tmp_path, change, message):
    session(tmp_path).save(snapshot(1))
    with pytest.raises(ex.RunError, match=message):
        resumed(tmp_path, SETTINGS | change)


def test_rounding_and_the_way_through_json_make_no_other_run(tmp_path):
    session(tmp_path).save(snapshot(1))
    again = SETTINGS | {"source": SETTINGS["source"] | {"low": [-5.0, 1 / 3 + 1e-9]}}
    assert resumed(tmp_path, json.loads(json.dumps(again)))[0].step == 1
