"""`eigenax slow` on real files: what it writes, and what it says of files that will not do."""

import contextlib
import io
import json
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import imageio_ffmpeg
import numpy as np
import pytest

import eigenax
from eigenax.cli.main import main
from eigenax.lab.experiments.folder import release
from eigenax.lab.experiments.user_video_notes import clock_warning
from eigenax.lab.scores.slowness import delta_values

SHORT = ["--n", "2", "--steps", "30", "--clips", "4", "--channels", "4,4", "--width", "8", "--quiet"]


def swinging(frames, height=16, width=24):
    """A bright bar that swings slowly, over something that flickers."""
    t = np.arange(frames)
    middle = width / 2 + (width / 3) * np.sin(t / 15)
    bar = np.exp(-((np.arange(width) - middle[:, None]) ** 2) / 8)[:, None, :] * np.ones((1, height, 1))
    flicker = 0.2 * np.random.default_rng(0).random((frames, height, width))
    return (255 * np.clip(0.8 * bar + flicker, 0, 1)).astype(np.uint8)


def slow(*words):
    return main(["slow", *map(str, words)])


@pytest.fixture
def array(tmp_path):
    np.save(tmp_path / "swing.npy", swinging(120))
    return tmp_path / "swing.npy"


class Learned(NamedTuple):
    """A finished run that tests look at and leave as it is."""

    run: Path
    said: str


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Of an array that is no longer there: a model outlives what it was trained on."""
    folder, said = tmp_path_factory.mktemp("learned"), io.StringIO()
    np.save(folder / "swing.npy", swinging(120))
    with contextlib.redirect_stdout(said):
        assert slow(folder / "swing.npy", *SHORT, "--out", folder / "run") == 0
    (folder / "swing.npy").unlink()
    return Learned(folder / "run", said.getvalue())


def write_mp4(path, frames):
    writer = imageio_ffmpeg.write_frames(str(path), frames.shape[2:0:-1], macro_block_size=1, pix_fmt_in="gray")
    writer.send(None)
    for frame in frames:
        writer.send(np.ascontiguousarray(frame))
    writer.close()


def test_a_video_leaves_features_a_report_and_held_out_slowness(tmp_path, capsys):
    write_mp4(tmp_path / "swing.mp4", swinging(120))
    assert slow(tmp_path / "swing.mp4", *SHORT, "--out", tmp_path / "run") == 0
    features = np.load(tmp_path / "run" / "features.npy")
    assert features.shape == (120, 2)
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert len(result["columns"]["held out"]) == 2
    assert result["changes"] == ["colours to grey"]
    assert set(result["figures"]) == {"over-time", "extremes", "training", "slowness"}
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000
    said = capsys.readouterr().out
    assert "held out" in said
    assert "of the time" not in said  # it swings back
    assert "feature" in said.split()
    assert "<th>feature</th>" in (tmp_path / "run" / "report.html").read_text()
    modes = eigenax.load(tmp_path / "run")
    assert modes.shape == (2, 16, 24)
    frames = np.load(next((tmp_path / "run" / "frames" / "0").glob("*.npy")))
    np.testing.assert_allclose(modes(np.stack([frames[4], frames[5]])), features[5], rtol=1e-3, atol=1e-3)


def test_a_classical_way_that_is_slower_on_held_out_time_is_offered(learned, array, tmp_path):
    result = json.loads((learned.run / "result.json").read_text())  # after 30 steps
    ways = {name: sum(result["columns"][name]) for name in ("held out", "PCA", "linear SFA", "quadratic SFA")}
    best = min(ways, key=ways.get)
    assert best != "held out"
    sums = f"its values sum to {ways[best]:.3g}, those learned to {ways['held out']:.3g}"
    said = f"{best} is slower on held-out time: {sums}"
    assert said in " ".join(learned.said.split())
    assert said in (learned.run / "report.html").read_text()
    file = learned.run / f"{best.replace(' ', '-')}.safetensors"
    features = np.load(file.with_suffix(".npy"))
    np.testing.assert_allclose(delta_values([features[97:]]), result["columns"][best], rtol=1e-3)
    assert slow("--model", file, array, "--quiet", "--out", tmp_path / "again") == 0
    np.testing.assert_allclose(np.load(tmp_path / "again" / "features.npy"), features, rtol=1e-4, atol=1e-4)


def test_a_model_is_applied_to_another_file(learned, tmp_path):
    np.save(tmp_path / "other.npy", swinging(50)[20:])
    assert slow("--model", learned.run, tmp_path / "other.npy", "--quiet", "--out", tmp_path / "second") == 0
    first, second = (np.load(run / "features.npy") for run in (learned.run, tmp_path / "second"))
    assert second.shape == (30, 2)
    np.testing.assert_allclose(second[1:], first[21:50], rtol=1e-4, atol=1e-4)
    features = np.load(tmp_path / "second" / "features.npy")
    shown = json.loads((tmp_path / "second" / "result.json").read_text())["columns"]["these files"]
    np.testing.assert_allclose(shown, delta_values([features[1:]]), rtol=1e-4)


def test_a_model_brings_its_settings_and_takes_no_others(learned, array, tmp_path, capsys):
    given = ["--model", learned.run, array, "--quiet", "--out", tmp_path / "second"]
    assert slow(*given, "--n", "3") == 2
    assert "--n does not go with --model, which has its own, 2" in capsys.readouterr().err
    assert slow(*given, "--n", "12") == 2  # though that is the default
    assert slow(*given, "--preset", "best") == 2
    assert slow(*given, "--n", "2") == 0
    assert "--n 2 --steps 30" in (tmp_path / "second" / "report.html").read_text()


def test_features_that_know_their_frames_by_heart_are_called_out(tmp_path, capsys):
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).integers(0, 255, (60, 8, 8), dtype=np.uint8))
    words = ["--n", "2", "--steps", "200", "--clips", "4", "--channels", "8", "--width", "64", "--quiet"]
    assert slow(tmp_path / "noise.npy", *words, "--out", tmp_path / "run") == 0
    assert "from one held-out row to the next the features change" in capsys.readouterr().out.replace("\n", " ")
    assert "they overfit the rows learned from" in (tmp_path / "run" / "report.html").read_text()


def test_features_are_those_of_the_step_that_was_best_on_other_frames(tmp_path, capsys):
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).integers(0, 255, (220, 8, 8), dtype=np.uint8))
    words = ["--n", "1", "--steps", "200", "--clips", "8", "--channels", "8", "--width", "64", "--quiet"]
    assert slow(tmp_path / "noise.npy", *words, "--out", tmp_path / "run") == 0
    last = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["kept_step"] < last["step"]
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert (result["steps"], result["stopped"]) == (last["step"], "more steps do no better on held-out data")
    said = f"the features are those of step {last['kept_step']} of {last['step']}: later ones are faster on frames"
    assert said in " ".join(capsys.readouterr().out.split())
    assert result["columns"]["held out"][0] < 3


def test_a_feature_slower_than_the_held_out_time_is_no_cause_for_alarm(tmp_path, capsys):
    t = np.arange(1000)
    rows = np.stack([np.sin(2 * np.pi * t / 1000) + np.sin(t / 2), np.sin(t / 2)], 1)
    np.save(tmp_path / "series.npy", rows)
    assert slow(tmp_path / "series.npy", "--n", "1", "--quiet", "--out", tmp_path / "run") == 0
    assert "note:" not in capsys.readouterr().out


def test_features_that_are_a_clock_are_called_out():
    phase = np.pi * (np.arange(250)[:, None] + 0.5) / 250
    clocks = np.sqrt(2) * np.cos(phase * [1, 2, 3, 7]) + 0.05 * np.random.default_rng(0).normal(size=(250, 4))
    (said,) = clock_warning(clocks)
    assert said.startswith("the first 3 features are cosines of the time of this film (R² 0.99")
    assert clock_warning(np.sin(2 * phase)) == []  # a swing, there and back


def passing(frames, height=8, width=16):
    """A bright bar that goes from left to right once, over something that flickers."""
    middle = np.linspace(3, width - 3, frames)
    bar = np.exp(-((np.arange(width) - middle[:, None]) ** 2) / 8)[:, None, :] * np.ones((1, height, 1))
    return (255 * (0.9 * bar + 0.1 * np.random.default_rng(0).random((frames, height, width)))).astype(np.uint8)


def test_a_film_in_which_nothing_comes_back_is_told_to_be_a_clock(tmp_path, capsys):
    np.save(tmp_path / "passing.npy", passing(120))
    words = ["--n", "1", "--steps", "200", "--clips", "8", "--channels", "4,4", "--width", "16", "--quiet"]
    assert slow(tmp_path / "passing.npy", *words, "--out", tmp_path / "run") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "note: the first feature is a cosine of the time of this film (R² 0.9" in said
    assert "perhaps nothing of what is in it; give several films, or a longer one" in said
    assert "of the time of this film" in (tmp_path / "run" / "report.html").read_text()


def test_a_model_of_what_does_not_change_in_another_file_says_so(learned, array, tmp_path, capsys):
    still = np.repeat(swinging(1), 40, axis=0)
    still[20:, 0, 0] += 1
    np.save(tmp_path / "still.npy", still)
    assert slow("--model", learned.run, tmp_path / "still.npy", "--quiet", "--out", tmp_path / "second") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "features 1, 2 hardly vary in these files" in said
    assert slow("--model", learned.run, array, "--quiet", "--out", tmp_path / "third") == 0
    assert "hardly var" not in capsys.readouterr().out


def test_what_failed_at_once_does_not_keep_the_folder(array, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".old.partial").touch()
    np.save(tmp_path / "still.npy", np.zeros((60, 16, 24, 3), np.uint8))
    assert slow(tmp_path / "still.npy", *SHORT, "--out", tmp_path / "run") == 2
    assert [path.name for path in (tmp_path / "run").iterdir()] == [".old.partial"]
    assert slow(array, *SHORT, "--out", tmp_path / "run") == 0


def test_a_folder_with_somebody_elses_download_is_refused_and_kept(array, tmp_path):
    (tmp_path / "movie.mp4.partial").touch()
    assert slow(array, *SHORT, "--out", tmp_path) == 2
    assert (tmp_path / "movie.mp4.partial").exists()


def test_what_was_learned_is_kept_when_the_rest_fails(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "step-000000001.safetensors").touch()
    release(tmp_path, set())
    assert (tmp_path / "checkpoints" / "step-000000001.safetensors").exists()


def test_an_unfinished_model_is_refused_before_anything_is_read(learned, array, tmp_path, capsys):
    shutil.copytree(learned.run, tmp_path / "first")
    (tmp_path / "first" / "modes.safetensors").unlink()
    assert slow("--model", tmp_path / "first", array, "--out", tmp_path / "second") == 2
    assert "is unfinished" in capsys.readouterr().err
    assert not (tmp_path / "second").exists()


def test_rows_that_change_only_at_the_end_are_one_sentence(tmp_path, capsys):
    np.save(tmp_path / "late.npy", np.r_[np.zeros((90, 2)), np.random.default_rng(0).normal(size=(10, 2))])
    assert slow(tmp_path / "late.npy", "--n", "1", "--quiet", "--out", tmp_path / "run") == 2
    assert "every row of the series is the same" in capsys.readouterr().err


def test_settings_of_a_training_that_rows_do_not_need_are_refused(tmp_path, capsys):
    np.save(tmp_path / "series.npy", np.random.default_rng(0).normal(size=(100, 2)).cumsum(0))
    words = ["--n", "1", "--steps", "7", "--clips", "3", "--quiet", "--out", tmp_path / "run"]
    assert slow(tmp_path / "series.npy", *words) == 2
    assert "rows of numbers need no training, which --clips, --steps would be for" in capsys.readouterr().err
    assert not (tmp_path / "run" / "settings.toml").exists()


def test_so_few_rows_that_nothing_is_known_of_their_scatter(tmp_path):
    np.save(tmp_path / "two.npy", np.array([[0.0, 1.0], [1.0, 0.5]]))
    words = ["--n", "1", "--length", "2", "--held-out", "0", "--quiet", "--out", tmp_path / "run"]
    assert slow(tmp_path / "two.npy", *words) == 0
    assert (tmp_path / "run" / "report.html").exists()


def test_several_files_are_episodes_of_any_length(tmp_path):
    np.save(tmp_path / "long.npy", swinging(80))
    np.save(tmp_path / "short.npy", swinging(40))
    assert slow(tmp_path / "long.npy", tmp_path / "short.npy", *SHORT, "--out", tmp_path / "run") == 0
    assert json.loads((tmp_path / "run" / "result.json").read_text())["rows"] == [80, 40]
    assert np.load(tmp_path / "run" / "features.npy").shape == (120, 2)


def test_a_series_of_rows_is_taken_as_one(tmp_path):
    t = np.arange(3000)
    np.save(tmp_path / "series.npy", np.stack([np.sin(t / 40) + np.sin(t / 2), np.sin(t / 2)], 1))
    words = ["--n", "1", "--quiet", "--out", tmp_path / "run"]
    assert slow(tmp_path / "series.npy", *words) == 0
    feature = np.load(tmp_path / "run" / "features.npy")[:, 0]
    assert abs(np.corrcoef(feature[2400:], np.sin(t / 40)[2400:])[0, 1]) > 0.99


NAN = swinging(60).astype(np.float32)
NAN[33, 2, 2] = np.nan


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        (swinging(8), "has 8 frames, 7 of them to learn from, and a clip takes 11"),
        (np.full((60, 16, 16), 7, np.uint8), "never changes: all of its 60 frames are equal"),
        (NAN, "contains NaN or infinity in frame 33"),
        (np.stack([swinging(2)[k % 2] for k in range(60)]), "cannot be told apart on 2 different points"),
    ],
    ids=["shorter than a clip", "constant", "NaN", "two frames"],
)
def test_what_cannot_be_learned_from_is_one_sentence(frames, said, tmp_path, capsys):
    np.save(tmp_path / "frames.npy", frames)
    assert slow(tmp_path / "frames.npy", *SHORT, "--out", tmp_path / "run") == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "FILES are needed"),
        (["nowhere.mp4"], "there is no file"),
        ([sys.executable], "is not a video that can be read"),
        (["table.csv"], "is a table; save its numbers as an array"),
        (["line.npy"], "one number a time is array[:, None]"),
        (["line.npz"], "must hold one array"),
    ],
)
def test_wrong_files_are_one_sentence(words, said, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("1,2")
    np.save("line.npy", np.arange(50.0))
    np.savez("line.npz", one=np.arange(5.0), two=np.arange(5.0))
    assert slow(*words, *SHORT, "--out", tmp_path / "run") == 2
    assert said in capsys.readouterr().err


def test_a_model_of_another_kind_or_size_is_refused(learned, array, tmp_path, capsys):
    np.save(tmp_path / "square.npy", swinging(40, 16, 16))
    assert slow("--model", learned.run, tmp_path / "square.npy", "--out", tmp_path / "second") == 2
    assert "but the model takes (16, 24)" in capsys.readouterr().err
    assert slow("--model", tmp_path, array, "--out", tmp_path / "third") == 2
    assert "holds no run" in capsys.readouterr().err


def test_a_batch_matters_to_images_alone(tmp_path, array, capsys):
    """Rows of numbers, which nothing is trained for, were refused for the size of a batch."""
    t = np.arange(400)
    rows = np.stack([np.sin((k + 1) * t / 40) for k in range(5)], 1)
    np.save(tmp_path / "rows.npy", rows)
    small = ["--n", "5", "--length", "2", "--quiet"]
    assert slow(array, *small, "--clips", "2", "--out", tmp_path / "images") == 2
    assert "--clips times --length must be more than the 5 functions" in capsys.readouterr().err
    assert slow(tmp_path / "rows.npy", "--n", "30", "--length", "2", "--held-out", "0", "--quiet",
                "--out", tmp_path / "rows") == 0  # fmt: skip
