"""Checkpoints come back to the bit, and anything else is refused by name."""

import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

import eigenax as ex
from eigenax.assemble import prepared
from eigenax.driver.iterate import iterate
from eigenax.io.checkpoint import MAX_CHECKPOINTS, checkpoints, load_newest, save_checkpoint
from eigenax.io.metrics import append_metrics, read_metrics, rewind_metrics
from eigenax.solvers.default_parts import network_key

STATE = {"a": jnp.arange(6.0).reshape(2, 3), "key": jnp.array([1, 2], jnp.uint32), "step": jnp.array(7, jnp.int32)}


def build(about, load):
    """The state as it was, whatever was saved about it."""
    return load(STATE)


def test_a_state_comes_back_with_its_types_and_bits(tmp_path):
    path = save_checkpoint(tmp_path, 7, STATE, {"seconds": 1.5})
    state, about = load_newest(path.parent, build)
    assert about == {"seconds": 1.5}
    for name, leaf in STATE.items():
        np.testing.assert_array_equal(state[name], leaf)
        assert state[name].dtype == leaf.dtype


def test_files_of_later_steps_were_refused_and_do_not_push_out_the_newest(tmp_path):
    for step in (100, 200, 300):
        save_checkpoint(tmp_path, step, STATE, {})
    newest = save_checkpoint(tmp_path, 10, STATE, {})
    assert checkpoints(tmp_path) == [newest]


def test_where_no_checkpoint_will_do_nothing_is_started_over(tmp_path):
    truncated(save_checkpoint(tmp_path, 2, STATE, {}))
    with pytest.raises(ex.RunError, match=r"cannot resume from any of its checkpoints: step-000000002.* is damaged"):
        load_newest(tmp_path, build)
    assert load_newest(tmp_path / "elsewhere", build) is None


def test_only_the_newest_few_are_kept_in_order_of_their_steps(tmp_path):
    for step in (1, 3, 20, 100):
        save_checkpoint(tmp_path, step, STATE, {})
    assert [int(path.stem[5:]) for path in checkpoints(tmp_path)] == [3, 20, 100][-MAX_CHECKPOINTS:]


def truncated(path):
    path.write_bytes(path.read_bytes()[:-5])


def flipped_bit(path):
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(bytes(data))


def empty(path):
    path.write_bytes(b"")


def foreign(path):
    save_file({"a": np.zeros(3)}, path)


def of_another_network(path):
    save_checkpoint(path.parent, int(path.stem[5:]), STATE | {"a": jnp.zeros((3, 3))}, {})


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (truncated, "damaged"),
        (flipped_bit, "checksum"),
        (empty, "damaged"),
        (foreign, "not an eigenax checkpoint"),
        (of_another_network, "another network"),
    ],
)
def test_what_is_no_whole_checkpoint_of_this_run_is_refused_by_name_and_the_one_before_used(tmp_path, damage, reason):
    save_checkpoint(tmp_path, 1, STATE, {"n": 1})
    damage(save_checkpoint(tmp_path, 2, STATE, {"n": 2}))
    with pytest.warns(
        RuntimeWarning, match=f"refused: step-000000002.safetensors.*{reason}.*resuming from step-000000001"
    ):
        _, about = load_newest(tmp_path, build)
    assert about == {"n": 1}


def test_a_run_goes_on_from_the_checkpoint_before_a_damaged_one_and_says_so(tmp_path):
    def run():
        operator = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
        source = ex.Box(-5, 5, dims=1)
        network = ex.Multiply(ex.DirichletFactor(source), ex.MLP(1, 2, width=8, depth=2, key=network_key(0)))
        problem = ex.Problem.checked(operator, source, 2, network=network, max_steps=20)
        solver, problem = prepared(problem, ex.SpIN(batch=16, log_every=5))
        return iterate(problem, solver, checkpoint_dir=tmp_path)

    run()
    first, *_, last = checkpoints(tmp_path / "checkpoints")
    assert first != last
    truncated(last)
    with pytest.warns(RuntimeWarning, match=f"checkpoint refused: {last.name} is damaged"):
        run()
    assert [row["step"] for row in read_metrics(tmp_path / "metrics.jsonl")] == [5, 10, 15, 20]


def test_metrics_are_rewound_to_the_step_of_the_checkpoint(tmp_path):
    path = tmp_path / "metrics.jsonl"
    for step in (10, 20, 30):
        append_metrics(path, {"step": step})
    with path.open("a") as file:
        file.write('{"step": 4')
    assert [row["step"] for row in read_metrics(path)] == [10, 20, 30]
    rewind_metrics(path, 20)
    assert path.read_text() == '{"step": 10}\n{"step": 20}\n'
