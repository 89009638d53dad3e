"""Real files: videos written and read back, arrays, folders of images, and what is none of these."""

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from eigenax.errors import RunError
from eigenax.lab.datasets.video import read_recording


def moving_square(frames, height=48, width=64):
    """A white square that goes to the right, in colour."""
    video = np.zeros((frames, height, width, 3), np.uint8)
    for t in range(frames):
        video[t, 10:30, 2 * t % 40 : 2 * t % 40 + 20] = 255
    return video


def write_mp4(path, video):
    writer = imageio_ffmpeg.write_frames(str(path), video.shape[2:0:-1], macro_block_size=1, fps=25, quality=9)
    writer.send(None)
    for frame in video:
        writer.send(np.ascontiguousarray(frame))
    writer.close()


def read(path, tmp_path, size=64):
    return read_recording(path, tmp_path / "cache", size)


def test_a_video_comes_back_grey_and_is_decoded_once(tmp_path):
    video = moving_square(30)
    write_mp4(tmp_path / "square.mp4", video)
    recording = read(tmp_path / "square.mp4", tmp_path)
    assert recording.rows.shape == (30, 48, 64)
    assert recording.rows.dtype == np.uint8
    assert recording.changes == "colours to grey"
    assert np.abs(recording.rows.astype(float) - video[..., 0]).mean() < 6
    kept = next((tmp_path / "cache").glob("*.npy"))
    written = kept.stat().st_mtime_ns
    np.testing.assert_array_equal(read(tmp_path / "square.mp4", tmp_path).rows, recording.rows)
    assert kept.stat().st_mtime_ns == written


def test_a_changed_video_is_read_anew(tmp_path):
    np.save(tmp_path / "colour.npy", moving_square(8))
    assert len(read(tmp_path / "colour.npy", tmp_path).rows) == 8
    np.save(tmp_path / "colour.npy", moving_square(9))
    assert len(read(tmp_path / "colour.npy", tmp_path).rows) == 9
    folder = tmp_path / "frames"
    folder.mkdir()
    Image.new("L", (20, 16), 10).save(folder / "1.png")
    assert (read(folder, tmp_path).rows == 10).all()
    Image.new("L", (20, 16), 200).save(folder / "1.png")
    assert (read(folder, tmp_path).rows == 200).all()


def test_a_video_without_its_end_is_refused_by_name(tmp_path):
    write_mp4(tmp_path / "whole.mp4", moving_square(60))
    content = (tmp_path / "whole.mp4").read_bytes()
    (tmp_path / "cut.mp4").write_bytes(content[: len(content) // 2])
    with pytest.raises(RunError, match=r"cut\.mp4"):
        read(tmp_path / "cut.mp4", tmp_path)


def test_images_of_different_sizes_are_refused_by_name(tmp_path):
    folder = tmp_path / "frames"
    folder.mkdir()
    for name, side in (("1.png", 20), ("2.png", 20), ("3.png", 24)):
        Image.new("L", (side, 16)).save(folder / name)
    with pytest.raises(RunError, match=r"1\.png and 3\.png have 20×16 and 24×16"):
        read(folder, tmp_path)


def test_large_frames_are_scaled_down_and_it_says_so(tmp_path):
    np.save(tmp_path / "wide.npy", moving_square(5, 100, 200))
    recording = read(tmp_path / "wide.npy", tmp_path)
    assert recording.rows.shape == (5, 32, 64)
    assert recording.changes == "colours to grey and 200×100 to 64×32 pixels"
    np.testing.assert_allclose(recording.rows.mean(), moving_square(5, 100, 200)[..., 0].mean(), rtol=0.02)


def test_a_small_grey_array_is_mapped_from_where_it_is(tmp_path):
    np.save(tmp_path / "grey.npy", moving_square(7)[..., 0])
    recording = read(tmp_path / "grey.npy", tmp_path)
    assert isinstance(recording.rows, np.memmap)
    assert not (tmp_path / "cache").exists()
    assert recording.changes == ""


def test_an_archive_holds_one_array(tmp_path):
    np.savez(tmp_path / "one.npz", frames=moving_square(4)[..., 0])
    assert read(tmp_path / "one.npz", tmp_path).rows.shape == (4, 48, 64)
    np.savez(tmp_path / "two.npz", a=np.zeros((4, 8, 8)), b=np.zeros(3))
    with pytest.raises(RunError, match="must hold one array, the frames or rows over time; it holds a, b"):
        read(tmp_path / "two.npz", tmp_path)


def test_rows_of_numbers_stay_rows(tmp_path):
    np.save(tmp_path / "series.npy", np.arange(20.0).reshape(10, 2))
    np.testing.assert_array_equal(read(tmp_path / "series.npy", tmp_path).rows, np.arange(20.0).reshape(10, 2))


def test_images_of_a_folder_are_in_the_order_of_their_numbers(tmp_path):
    (tmp_path / "images").mkdir()
    for number in range(12):
        Image.fromarray(np.full((8, 8), 20 * number, np.uint8)).save(tmp_path / "images" / f"frame{number}.png")
    (tmp_path / "images" / "notes.txt").write_text("not a frame")
    rows = read(tmp_path / "images", tmp_path).rows
    np.testing.assert_allclose(rows[:, 0, 0], 20 * np.arange(12), atol=1)


def test_deep_images_keep_their_depth(tmp_path):
    (tmp_path / "images").mkdir()
    for number in range(3):
        Image.fromarray(np.full((8, 8), 20_000 * number, np.uint16)).save(tmp_path / "images" / f"{number}.png")
    np.testing.assert_array_equal(read(tmp_path / "images", tmp_path).rows[:, 0, 0], [0, 20_000, 40_000])


def test_floating_point_frames_keep_their_values(tmp_path):
    frames = np.random.default_rng(0).normal(size=(6, 128, 128)).astype(np.float32)
    np.save(tmp_path / "float.npy", frames)
    rows = read(tmp_path / "float.npy", tmp_path).rows
    np.testing.assert_allclose(rows, frames.reshape(6, 64, 2, 64, 2).mean((2, 4)), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("words.mp4", b"these are words", "is not a video that can be read"),
        ("words.npy", b"these are words", "is not a NumPy array that can be read"),
        ("empty.mp4", b"", "is not a video that can be read"),
    ],
)
def test_what_is_no_video_is_refused_by_name(name, content, said, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RunError, match=f"{name} {said}"):
        read(tmp_path / name, tmp_path)


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros(5), r"it has \(5,\)"),
        (np.zeros((5, 4, 4, 7)), "must have 1, 3 or 4 colours in its last axis; it has 7"),
        (np.array([["a", "b"]]), "must hold real numbers"),
        (np.ones((3, 2), complex), "must hold real numbers"),
    ],
)
def test_arrays_of_other_kinds_are_refused(array, said, tmp_path):
    np.save(tmp_path / "array.npy", array)
    with pytest.raises(RunError, match=said):
        read(tmp_path / "array.npy", tmp_path)


def test_a_folder_without_images_and_a_file_that_is_not_there(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunError, match="holds no images"):
        read(tmp_path / "empty", tmp_path)
    with pytest.raises(RunError, match="there is no file"):
        read(tmp_path / "nowhere.mp4", tmp_path)


def test_a_video_that_was_cut_off_says_how_much_can_be_read(tmp_path):
    noise = np.random.default_rng(0).integers(0, 255, (60, 32, 32, 3), dtype=np.uint8)
    write_mp4(tmp_path / "whole.mkv", noise)
    content = (tmp_path / "whole.mkv").read_bytes()
    (tmp_path / "cut.mkv").write_bytes(content[: len(content) // 2])
    assert read(tmp_path / "whole.mkv", tmp_path).changes == "colours to grey"
    cut = read(tmp_path / "cut.mkv", tmp_path)
    assert len(cut.rows) < 40
    assert (
        cut.changes
        == f"colours to grey; cut off, or its sound is longer: {len(cut.rows)} of about 60 frames can be read"
    )
