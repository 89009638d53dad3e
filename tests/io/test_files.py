"""Files are whole or absent, come back to the bit, and say in one sentence what is wrong with them."""

import errno
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import eigenax as ex
from eigenax.io.files import check_format, explained, locked, make_folder, pack_tensors, read_tensors, write_atomically

ARRAYS = {
    "real": np.arange(6.0).reshape(2, 3),
    "turned": np.arange(6, dtype=np.int32).reshape(2, 3).T,
    "complex": np.array([1 + 2j, -0.0 - 1j]),
    "empty": np.zeros((0, 2), np.float32),
}


def test_nothing_is_left_of_a_file_that_could_not_be_written(tmp_path):
    target = tmp_path / "no such folder" / "file"
    with pytest.raises(ex.RunError, match=r"cannot write .*file: No such file"):
        write_atomically(target, "text")
    write_atomically(tmp_path / "file", "one")
    write_atomically(tmp_path / "file", b"two")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "two"


def test_a_file_stays_what_it_was_where_writing_ends_early(tmp_path, monkeypatch):
    write_atomically(tmp_path / "file", "one")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("eigenax.io.files.os.fsync", full)
    with pytest.raises(ex.RunError, match=r"no room left on the disk for .*file; what was saved before is intact"):
        write_atomically(tmp_path / "file", "two")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "one"


def test_folders_are_made_with_all_above_them_but_not_in_place_of_files(tmp_path):
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    (tmp_path / "a" / "file").touch()
    with pytest.raises(ex.RunError, match=r"cannot write .*choose another folder"):
        make_folder(tmp_path / "a" / "file")


def test_other_errors_than_those_of_files_are_left_alone():
    with pytest.raises(KeyError), explained(Path("file")):
        raise KeyError("name")


def test_arrays_come_back_with_their_types_and_bits(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(pack_tensors(ARRAYS, {"format": "one-1", "about": [1, None]}))
    arrays, metadata = read_tensors(path)
    assert metadata == {"format": "one-1", "about": [1, None]}
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()


def test_the_same_content_is_the_same_bytes():
    again = {name: np.array(array, order="F") for name, array in reversed(ARRAYS.items())}
    assert pack_tensors(ARRAYS, {"a": 1}) == pack_tensors(again, {"a": 1})


def test_a_file_of_others_has_no_metadata_and_one_that_is_cut_short_is_named(tmp_path):
    save_file({"a": np.zeros(3)}, tmp_path / "others")
    assert read_tensors(tmp_path / "others")[1] == {}
    (tmp_path / "cut").write_bytes((tmp_path / "others").read_bytes()[:-5])
    for name in ("cut", "absent"):
        with pytest.raises(ex.RunError, match=f"{name} is damaged"):
            read_tensors(tmp_path / name)


def test_a_folder_is_kept_to_one_and_let_go_of_whatever_happens(tmp_path):
    pytest.importorskip("fcntl")
    with locked(tmp_path), pytest.raises(ex.RunError, match="is in use: another process is at work there"):
        locked(tmp_path).__enter__()
    with pytest.raises(KeyError), locked(tmp_path):
        raise KeyError
    with locked(tmp_path):
        pass


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ("modes-1", "written by another version of eigenax .its format is modes-1, not modes-2"),
        ("checkpoint-2", "does not hold modes"),
        (None, "does not hold modes"),
    ],
)
def test_files_of_another_format_are_told_from_those_of_another_version(found, message):
    check_format(Path("file"), "modes-2", "modes-2", "modes")
    with pytest.raises(ex.RunError, match=f"file .*{message}"):
        check_format(Path("file"), found, "modes-2", "modes")
