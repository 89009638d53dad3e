"""Training and trials of bases, killed with SIGKILL at several moments and resumed, end in the same bits as if left
alone."""

import json
import os
import signal
import subprocess
import sys

import pytest

SHORT = {
    "hydrogen": ["--preset", "quick", "--steps", "200", "--width", "18", "--samples", "8192", "--quiet"],
    "kernel": ["--n", "6", "--points", "256", "--quiet"],
    "oscillator": ["--dims", "1", "--n", "3", "--steps", "2", "--samples", "16384", "--quiet"],
}
DEPENDS_ON_THE_CLOCK = {"wall_seconds", "training_seconds", "compile_seconds", "seconds", "resumed"}


def start(*words):
    return subprocess.Popen(
        [sys.executable, "-m", "eigenax.cli.main", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def finish(process):
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output.decode()


def kill_once(process, reached):
    """Kill the process as soon as a condition holds; False if it ended before."""
    while True:
        try:
            process.wait(timeout=0.005)
        except subprocess.TimeoutExpired:
            if not reached():
                continue
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            return True
        else:
            assert process.returncode == 0, process.communicate()[0].decode()
            return False


def timeless(text):
    def strip(value):
        if isinstance(value, dict):
            return {key: strip(item) for key, item in value.items() if key not in DEPENDS_ON_THE_CLOCK}
        return [strip(item) for item in value] if isinstance(value, list) else value

    return strip(json.loads(text))


def contents(folder):
    """What a run found, without checkpoints and without what the clock wrote."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_dir() or "checkpoints" in path.parts or path.name == "report.html":
            continue
        if path.suffix == ".jsonl":
            found[path.name, path.parent.name == folder.name] = [
                timeless(line) for line in path.read_text().splitlines()
            ]
        else:
            found[str(path.relative_to(folder))] = (
                timeless(path.read_text()) if path.suffix == ".json" else path.read_bytes()
            )
    return found


@pytest.mark.parametrize("name", ["hydrogen", "kernel", pytest.param("oscillator", marks=pytest.mark.slow)])
def test_a_killed_run_resumes_to_the_same_bits(name, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    finish(start("run", name, *SHORT[name], "--out", whole))

    moments = {
        "the first checkpoint is there": lambda: any(broken.glob("checkpoints/step-*.safetensors")),
        "the modes are written": (broken / "modes.safetensors").exists,
    }
    if name != "hydrogen":  # bases are few, and those that matter are done again
        moments = {"the first checkpoint is there": moments["the first checkpoint is there"]}
    process, killed = start("run", name, *SHORT[name], "--out", broken), []
    for moment, reached in moments.items():
        if kill_once(process, reached):
            killed.append(moment)
        process = start("resume", broken, "--quiet")
    finish(process)
    assert "the first checkpoint is there" in killed
    assert contents(broken) == contents(whole)
    assert (broken / "report.html").stat().st_size > 10_000
