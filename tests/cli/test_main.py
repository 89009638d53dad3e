"""The command line: help at once, one sentence for wrong input, and nothing already there is lost."""

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from eigenax.cli.main import main
from eigenax.io.files import locked

SMALL = [
    "--preset",
    "quick",
    "--steps",
    "40",
    "--batch",
    "32",
    "--width",
    "16",
    "--depth",
    "2",
    "--samples",
    "2048",
    "--n",
    "4",
    "--quiet",
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a small finished run."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(["run", "hydrogen", *SMALL, "--out", str(folder)]) == 0
    return folder, said.getvalue()


def exit_code(words):
    """What the shell would see, whether a command returns or tyro exits."""
    try:
        return main([str(word) for word in words])
    except SystemExit as stop:
        return stop.code


def sentence(capsys, words, code=2):
    """Run a command that must fail and return what it said, which is no traceback."""
    returned = exit_code(words)
    said = capsys.readouterr().err
    assert returned == code, said
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--help"], "eigenax resume DIR"),
        ([], "eigenax resume DIR"),
        (["--version"], "0."),
        (["list"], "hydrogen"),
        (["run", "--help"], "hydrogen"),
        (["run", "hydrogen", "--help"], "--charge"),
        (["run", "hydrogen", "--help"], "  quick  a network trained on samples near the nucleus"),
        (["run", "hydrogen", "--preset", "paper", "--help"], "flags and defaults below are those of paper"),
        (["run", "hydrogen", "--preset", "paper", "--help"], "--learning-rate"),
        (["run", "kernel", "--help"], "  polynomial  the polynomial kernel in two dimensions"),
        (["slow", "--help"], "  best   a larger network"),
        (["run", "oscillator", "--help"], "--stiffness"),
        (["run", "box", "--help"], "--boundary"),
        (["solve", "--help"], "--kinetic FLOAT      What multiplies −∇²"),
        (["run", "double-well", "--help"], "--rotated"),
        (["run", "acetonitrile", "--help"], "--reach"),
        (["run", "sphere", "--help"], "--radius"),
        (["run", "torus", "--help"], "--minor"),
        (["solve", "--help"], "--singularity"),
        (["solve"], "--singularity"),
        (["list"], "double-well"),
        (["resume", "--help"], "interrupted run"),
        (["report", "--help"], "finished run"),
    ],
)
def test_help_is_everywhere(words, expected, capsys):
    assert exit_code(words) == 0
    assert expected in capsys.readouterr().out


@pytest.mark.parametrize("words", [["list"], ["run", "hydrogen", "--help"], ["solve", "--help"]])
def test_help_needs_no_jax(words):
    code = (
        "import sys\nfrom eigenax.cli.main import main\n"
        f"try:\n    main({words})\nexcept SystemExit:\n    pass\n"
        "assert not {'jax', 'matplotlib', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("words", [["list"], ["run", "hydrogen", "--help"]])
def test_a_reader_that_ends_early_is_no_error(words):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as nowhere:
        command = [sys.executable, "-m", "eigenax.cli.main", *words]
        done = subprocess.run(command, stdout=nowhere, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (141, "")


def test_help_has_the_flags_of_the_preset_and_no_others(capsys):
    of_best, of_quick = {"--dims", "--charge", "--tol"}, {"--learning-rate", "--batch", "--ema-rate", "--inputs"}
    for words, has, lacks in ([], of_best, of_quick), (["--preset", "quick"], of_quick, of_best):
        assert exit_code(["run", "hydrogen", *words, "--help"]) == 0
        said = capsys.readouterr().out.split()
        assert has < set(said)
        assert not lacks & set(said)


def test_presets_change_the_defaults_and_flags_change_presets(capsys):
    for words, expected in [
        (["--preset", "paper"], "600000"),
        (["--preset=paper"], "600000"),
        (["--preset", "quick"], "20000"),
        ([], "best)"),
    ]:
        with pytest.raises(SystemExit):
            main(["run", "hydrogen", *words, "--help"])
        assert expected in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["rnu"], "unknown command 'rnu'; there are: list, run"),
        (["run", "hydrogn"], "unknown experiment 'hydrogn'; did you mean hydrogen?"),
        (["run", "unrelated"], "there are: hydrogen"),
        (["run", "hydrogen", "--colour", "red"], "--colour"),
        (["run", "hydrogen", "--steps", "many"], "--steps"),
        (
            ["run", "hydrogen", "--preset", "best-ever"],
            "unknown preset 'best-ever' for hydrogen; there are: best, quick, paper",
        ),
        (["run", "hydrogen", "--preset", "quick", "--batch", "4"], "--batch must be at least --n, 9; got 4"),
        (["run", "hydrogen", "--n", "0"], "--n must be at least 1; got 0"),
        (["run", "hydrogen", "--steps", "-5"], "--steps must be at least 0; got -5"),
        (["run", "hydrogen", "--preset", "quick", "--steps", "0"], "--steps must be at least 1; got 0"),
        (["run", "hydrogen", "--half-width", "-1"], "--half-width must be positive, or 0 for automatic; got -1.0"),
        (["run", "hydrogen", "--half-width", "nan"], "--half-width must be positive, or 0 for automatic; got nan"),
        (["run", "hydrogen", "--half-width", "inf"], "--half-width must be positive, or 0 for automatic; got inf"),
        (["run", "hydrogen", "--seed", "99999999999999999999"], "--seed must be at least 0 and below 2**32"),
        (["run", "hydrogen", "--out", "x" * 300], "File name too long"),
        (["run", "hydrogen", "--preset", "quick", "--ema-rate", "2"], "--ema-rate must be at most 1"),
        (["run", "hydrogen", "--preset", "quick", "--decay", "1"], "--decay must be"),
        (["run", "hydrogen", "--preset", "quick", "--n", "2", "--sparsity", "paper"], "sparsity='isolated'"),
        (["run", "hydrogen", "--dims", "3", "--preset", "quick"], "--dims is a setting of --preset best"),
        (["run", "hydrogen", "--preset", "paper", "--charge=2"], "--charge is a setting of --preset best"),
        (
            ["run", "hydrogen", "--preset=quick", "--tol", "1e-3"],
            "--tol is a setting of --preset best",
        ),
        (["run", "hydrogen", "--batch", "64"], "--batch is a setting of --preset quick and paper; the preset is best"),
        (["run", "hydrogen", "--learning_rate=3"], "--learning-rate is a setting of --preset quick and paper"),
        (["run", "hydrogen", "--no-rescale"], "--rescale is a setting of --preset quick and paper"),
        (["run", "hydrogen", "--stpes", "decay"], "Unrecognized options: --stpes, decay"),
        (["run", "hydrogen", "--preset"], "Missing value for argument '--preset'"),
        (["run", "oscillator", "--dims", "0"], "--dims must be at least 1; got 0"),
        (
            ["run", "oscillator", "--stiffness", "1,x"],
            "--stiffness must be one number, or one for each of 2 dimensions",
        ),
        (
            ["run", "oscillator", "--stiffness", "1,2,3"],
            "--stiffness must be one number, or one for each of 2 dimensions",
        ),
        (["run", "oscillator", "--stiffness", "1,-2"], "--stiffness must be positive on every axis"),
        (["run", "oscillator", "--half-width", "-2"], "--half-width must be positive"),
        (["run", "oscillator", "--tol", "-1"], "--tol must be positive"),
        (["run", "oscillator", "--tol", "1"], "--tol must be a relative accuracy below 1, such as 1e-3; got 1.0"),
        (["run", "box", "--side", "0"], "--side must be positive and finite; got 0.0"),
        (["run", "box", "--boundary", "soft"], "--boundary"),
        (["run", "double-well", "--b=-1"], "--b must be positive"),
        (["run", "sphere", "--radius", "inf"], "--radius must be positive"),
        (["run", "torus", "--minor", "3"], "--minor must be less than --major, 2; got 3"),
        (["run", "digits", "--steps", "3"], "Unrecognized options: --steps"),
        (["run", "solve"], "unknown experiment 'solve'"),
        (["resume", "no/such/folder"], "no/such/folder holds no run"),
        (["report", "no/such/folder"], "no/such/folder holds no run"),
    ],
)
def test_wrong_input_gets_one_sentence_and_exit_code_2(words, expected, capsys, tmp_path, monkeypatch, as_user):
    monkeypatch.chdir(tmp_path)
    assert expected in sentence(capsys, words)
    assert not list(tmp_path.iterdir())


def test_a_run_leaves_the_folder_of_the_design(finished):
    folder, output = finished
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "settings.toml", "metrics.jsonl", "checkpoints", "modes.safetensors", "result.json", "figures", "report.html",
    }  # fmt: skip
    assert (folder / "figures" / "hydrogen.png").stat().st_size < 200_000
    result = json.loads((folder / "result.json").read_text())
    assert {
        "experiment", "preset", "seed", "steps", "compile_seconds", "wall_seconds", "device", "eigenvalues",
        "standard_errors", "residuals", "exact", "relative_errors", "mean_relative_error",
    } <= result.keys()  # fmt: skip
    assert (result["preset"], result["steps"]) == ("quick", 40)
    assert f"report: {folder / 'report.html'}" in output
    assert "mean relative error" in output


def test_a_folder_that_holds_a_run_or_anything_else_is_refused_and_kept(finished, tmp_path, capsys):
    folder, _ = finished
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert "already holds a run" in sentence(capsys, ["run", "hydrogen", *SMALL, "--out", folder])
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    (tmp_path / "notes.txt").write_text("mine")
    assert "not empty" in sentence(capsys, ["run", "hydrogen", *SMALL, "--out", tmp_path])
    assert "is a file" in sentence(capsys, ["run", "hydrogen", *SMALL, "--out", tmp_path / "notes.txt"])
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_report_and_resume_of_a_finished_run(finished, capsys):
    folder, _ = finished
    page = (folder / "report.html").read_text()
    (folder / "report.html").unlink()
    assert main(["report", str(folder)]) == 0
    assert (folder / "report.html").read_text() == page
    (folder / "report.html").unlink()
    assert main(["resume", str(folder)]) == 0
    assert "this run is finished" in capsys.readouterr().out
    assert (folder / "report.html").read_text() == page
    (folder / "figures" / "hydrogen.png").rename(folder / "figures" / "moved.png")
    assert "hydrogen.png is missing" in sentence(capsys, ["report", folder])
    (folder / "figures" / "moved.png").rename(folder / "figures" / "hydrogen.png")


def test_functions_that_died_are_one_sentence(tmp_path, capsys):
    narrow = ["--preset", "quick", "--width", "2", "--depth", "1", "--sparsity", "none", "--samples", "512", "--quiet"]
    words = ["run", "hydrogen", "--steps", "2", *narrow, "--out", tmp_path / "run"]
    assert "not positive definite" in sentence(capsys, words, code=1)


def test_a_run_that_is_still_going_is_not_resumed(finished, tmp_path, capsys):
    folder, _ = finished
    shutil.copy(folder / "settings.toml", tmp_path)
    with locked(tmp_path):
        assert "another process is at work there" in sentence(capsys, ["resume", tmp_path, "--quiet"])
    assert exit_code(["resume", tmp_path, "--quiet"]) == 0


def test_settings_that_were_edited_badly_are_refused(finished, tmp_path, capsys):
    folder, _ = finished
    original = (folder / "settings.toml").read_text()
    for edited, expected in [
        (original.replace("n = 4", "n = 0"), "--n must be at least 1"),
        (original + "colour = 3\n", "there is no setting 'colour' of --preset quick"),
        (original + "tol = 1e-3\n", "there is no setting 'tol' of --preset quick"),
        (original.replace('"quick"', '"quack"'), "unknown preset 'quack' for hydrogen"),
        ("n = = 3", "cannot be used"),
        (original.replace("n = 4", 'n = "four"'), "n must be of type int; got 'four'"),
        (original.replace("n = 4", "n = 4.5"), "n must be of type int; got 4.5"),
        (original.replace('"moments"', '"medians"'), "average must be one of moments, jacobian; got 'medians'"),
        (original.replace("rescale = true", "rescale = 1"), "rescale must be of type bool"),
        (original.replace('"hydrogen"', '"helium"'), "unknown experiment 'helium'"),
    ]:
        (tmp_path / "settings.toml").write_text(edited)
        assert expected in sentence(capsys, ["resume", tmp_path])


def test_no_room_on_the_disk_is_one_sentence_and_the_run_goes_on_when_there_is(tmp_path, finished):
    folder, _ = finished
    words = ["run", "hydrogen", *SMALL, "--out", str(tmp_path / "run")]
    script = 'ulimit -f 4 && exec "$0" -m eigenax.cli.main "$@"'  # no file may be larger than 4 kB
    full = subprocess.run(["bash", "-c", script, sys.executable, *words], capture_output=True, text=True)
    assert full.returncode == 2, full.stderr
    assert "no room left on the disk" in full.stderr
    assert "Traceback" not in full.stderr
    assert main(["resume", str(tmp_path / "run"), "--quiet"]) == 0
    assert (tmp_path / "run" / "modes.safetensors").read_bytes() == (folder / "modes.safetensors").read_bytes()


def test_a_run_that_diverges_says_what_to_change(tmp_path, capsys):
    words = ["run", "hydrogen", *SMALL, "--learning-rate", "1e9", "--out", tmp_path / "run"]
    assert "lower the learning rate" in sentence(capsys, words, code=1)


@pytest.mark.parametrize("moment", ["settings.toml", "metrics.jsonl", "checkpoints/step-*.safetensors"])
def test_ctrl_c_at_any_moment_is_one_sentence_that_says_how_to_resume(moment, tmp_path):
    words = ["run", "hydrogen", *SMALL, "--steps", "200000", "--out", str(tmp_path / "run")]
    process = subprocess.Popen(
        [sys.executable, "-m", "eigenax.cli.main", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not any((tmp_path / "run").glob(moment)):
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert f"`eigenax resume {tmp_path / 'run'}`" in said
    assert "Traceback" not in said
