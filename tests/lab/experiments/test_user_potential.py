"""`eigenax solve`: a potential of one's own, the same folder as every run, and one sentence for wrong input."""

import json
import shutil

import pytest

from eigenax.cli.main import main

WELL = "import jax.numpy as jnp\n\ndef V(x):\n    return jnp.sum(x**2)\n"


def sentence(capsys, words):
    """Run a command that must fail and return what it said, which is no traceback."""
    assert main(["solve", *map(str, words)]) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


def test_a_potential_of_ones_own(tmp_path, capsys, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here" / "well.py").write_text(WELL)
    folder, broken = tmp_path / "run", tmp_path / "broken"
    words = [
        "--potential",
        "well.py",
        "--low",
        "-7",
        "--high",
        "7",
        "--n",
        "3",
        "--steps",
        "1",
        "--samples",
        "16384",
        "--quiet",
    ]
    assert main(["solve", *words, "--out", str(folder)]) == 0
    assert capsys.readouterr().out.split()[:2] == ["mode", "learned"]
    assert "<th>mode</th>" in (folder / "report.html").read_text()
    names = {"settings.toml", "metrics.jsonl", "checkpoints", "modes.safetensors", "result.json", "figures"}
    assert {path.name for path in folder.iterdir()} == names | {"report.html"}
    result = json.loads((folder / "result.json").read_text())
    assert result["eigenvalues"] == pytest.approx([1, 3, 5], rel=1e-5)
    assert "exact" not in result
    assert "well.py:V" in (folder / "report.html").read_text()

    monkeypatch.chdir(tmp_path)  # the file is still found
    (folder / "report.html").unlink()
    assert main(["report", str(folder)]) == 0
    assert (folder / "report.html").exists()
    broken.mkdir()
    shutil.copy(folder / "settings.toml", broken)
    assert main(["resume", str(broken), "--quiet"]) == 0
    assert json.loads((broken / "result.json").read_text())["eigenvalues"] == result["eigenvalues"]

    (tmp_path / "here" / "well.py").unlink()
    (broken / "result.json").unlink()
    capsys.readouterr()
    assert main(["resume", str(broken)]) == 2
    assert "there is no file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (None, "", "there is no file"),
        ("def V(x:\n", "", "is not Python"),
        ("\0\1\2", "", "is not Python"),
        ("import no_such_module\n", "", "cannot be loaded: ModuleNotFoundError"),
        ("raise SystemExit(3)\n", "", "cannot be loaded: SystemExit"),
        (WELL, ":W", "has no function 'W'; there are: V"),
        ("V = 3\n", ":V", "V in potential.py is not a function; there are no functions"),
        ("V = 3\n", "", "there are no functions in it"),
        (
            WELL + "def W(x):\n    return 0.0\n",
            "",
            "say which function of potential.py, as potential.py:NAME; there are: V, W",
        ),
        ("def V(x):\n    return 1 / 0\n", "", "ZeroDivisionError: division by zero"),
        ("def V(x):\n    raise ValueError('too far out')\n", "", "too far out"),
        ("def V(x):\n    return x\n", "", "must take one point x of shape (1,) to one real number"),
        ("def V(x):\n    return x[0] ** 2 if x[0] > 0 else 0.0\n", "", "jnp.where instead of if"),
        ("def V(x):\n    return x[0] ** 0.5\n", "", "must be finite"),
        ("def V():\n    return 0.0\n", "", "it raised TypeError: V() takes 0 positional"),
        ("def V(x):\n    return x[:, 0]\n", "", "to one real number, shape (); as JAX calls it, it raised IndexError"),
    ],
)
def test_a_file_that_will_not_do_is_one_sentence(content, name, expected, tmp_path, capsys, monkeypatch, as_user):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "potential.py").write_text(content)
    before = set(tmp_path.iterdir())
    assert expected in sentence(capsys, ["--potential", f"potential.py{name}", "--low", "-2", "--high", "2"])
    assert set(tmp_path.iterdir()) == before


def test_a_kinetic_factor_and_a_boundary_of_each_face(tmp_path):
    """½(p² + x²) to the right of a free end has the even states."""
    (tmp_path / "well.py").write_text("def V(x):\n    return x[0] ** 2 / 2\n")
    words = [
        "--kinetic",
        "0.5",
        "--low",
        "0",
        "--high",
        "7",
        "--boundary",
        "neumann:dirichlet",
        "--n",
        "2",
        "--steps",
        "1",
    ]
    place = ["--potential", f"{tmp_path / 'well.py'}:V", "--out", str(tmp_path / "run"), "--quiet"]
    assert main(["solve", *words, "--samples", "8192", *place]) == 0
    found = json.loads((tmp_path / "run" / "result.json").read_text())["eigenvalues"]
    assert found == pytest.approx([0.5, 2.5], rel=1e-4)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["--potential", "well.py", "--low", "0", "--high", "1", "--boundary", "soft"],
            "--boundary must be 'dirichlet', 'neumann' or 'periodic'; got 'soft'",
        ),
        (
            ["--potential", "well.py", "--low", "0", "--high", "1", "--boundary", "dirichlet,neumann"],
            "--boundary must be one word, or one for each of 1 axes; got 2",
        ),
        (
            ["--potential", "well.py", "--low", "0", "--high", "1", "--boundary", "dirichlet:periodic"],
            "both of them 'periodic' or none",
        ),
        (
            ["--potential", "well.py", "--low", "0", "--high", "1", "--kinetic", "0"],
            "--kinetic must be positive and finite; got 0.0",
        ),
        (["--low", "0", "--high", "1"], "--potential FILE.py:function is needed"),
        (["--potential", "well.py", "--high", "1"], "--low is needed"),
        (["--potential", "well.py", "--low", "0,1", "--high", "1"], "--low must be one number"),
        (["--potential", "well.py", "--low", "1", "--high", "-1"], "--low must be below --high on every axis"),
        (
            ["--potential", "well.py", "--low", "-1", "--high", "1", "--dims", "2", "--singularity", "0"],
            "must have 2 numbers",
        ),
        (["--potential", "well.py", "--low", "-1", "--high", "1", "--singularity", "x"], "--singularity must be"),
        (["--potential", "well.py", "--low", "-1", "--high", "1", "--dims", "0"], "--dims must be at least 1"),
        (
            ["--potential", "well.py", "--low", "-1", "--high", "1", "--preset", "paper"],
            "unknown preset 'paper' for solve",
        ),
    ],
)
def test_settings_that_will_not_do_are_one_sentence(words, expected, tmp_path, capsys, monkeypatch, as_user):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "well.py").write_text(WELL)
    assert expected in sentence(capsys, words)
    assert [path.name for path in tmp_path.iterdir()] == ["well.py"]
