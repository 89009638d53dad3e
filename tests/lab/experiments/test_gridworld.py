"""Grid worlds from the command line: all edges, random steps, and maps that are none."""

import json

import numpy as np
import pytest

from eigenax.cli.main import main

MAP = "XXXXXXXXX\nX   X   X\nX       X\nX   X   X\nXXXXXXXXX\n"


@pytest.mark.parametrize("more", [[], ["--transitions", "20000"]])
def test_modes_of_a_map_are_the_exact_ones(more, tmp_path):
    (tmp_path / "map.txt").write_text(MAP)
    words = ["run", "gridworld", "--map", str(tmp_path / "map.txt"), "--n", "5", *more, "--quiet"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["mean_cosine"] > 1 - 1e-9
    assert (result["cells"], result["map"], len(result["cosines"])) == (19, "map", 5)
    assert max(result["relative_errors"]) < 1e-6
    assert np.all(np.diff(result["eigenvalues"]) >= 0)
    for name in ("modes", "cosines"):
        assert 3000 < (tmp_path / "run" / "figures" / f"{name}.png").stat().st_size < 200_000


def test_walls_are_seen_in_random_steps(tmp_path):
    words = ["run", "gridworld", "--map", "rooms", "--n", "3", "--transitions", "30000", "--quiet"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["mean_cosine"] > 1 - 1e-6
    assert "graph of the 30000 steps between 237 of 237 cells" in result["notes"][0]
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == result["steps"] == 1


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("", [], "has no free cell"),
        ("XXX\nX X\nXXX", [], "no two side by side"),
        ("XoX", [], "got 'o'"),
        ("XXXXX\nX\nX  X X\n  \nXXXXXX\n", [], "line 4: a line must end with a wall or be as long as the longest, 6"),
        (MAP, ["--n", "20"], "--n must be at most the number of free cells, 19; got 20"),
        (MAP, ["--transitions", "-1"], "--transitions must be at least 0; got -1"),
    ],
)
def test_maps_that_cannot_be_used_are_one_sentence(text, more, said, tmp_path, capsys):
    (tmp_path / "map.txt").write_text(text)
    words = ["run", "gridworld", "--map", str(tmp_path / "map.txt"), *more, "--out", str(tmp_path / "run")]
    assert main(words) != 0
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_map_that_is_not_there_is_told_with_those_that_are(tmp_path, capsys):
    assert main(["run", "gridworld", "--map", "nowhere.txt", "--out", str(tmp_path / "run")]) != 0
    assert "maps that need none are rooms, four-rooms" in capsys.readouterr().err
