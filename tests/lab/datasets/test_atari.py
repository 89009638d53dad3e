"""A random agent at real games: frames, memory, episodes, and collections that go on."""

import builtins
import os
import select
import subprocess
import sys

import numpy as np
import pytest

from eigenax.errors import InputError, RunError
from eigenax.lab.datasets import atari
from eigenax.lab.datasets.atari import gameplay


@pytest.fixture
def short_streams(monkeypatch):
    monkeypatch.setattr(atari, "STREAM", 100)


@pytest.mark.parametrize("game", ["breakout", "freeway"])
def test_a_random_agent_sees_changing_frames_and_memory(game, tmp_path):
    played = gameplay(game, 300, tmp_path)
    assert played.frames.shape == (300, 84, 84)
    assert played.ram.shape == (300, 128)
    assert isinstance(played.frames, np.memmap)
    changes = np.abs(np.diff(played.frames.astype(int), axis=0)).sum((1, 2))
    assert (changes > 0).mean() > 0.5
    assert (played.ram != played.ram[0]).any(0).sum() > 5
    assert played.starts[0]
    assert set(played.actions.tolist()) == set(range({"breakout": 4, "freeway": 3}[game]))


def test_an_episode_ends_where_the_game_is_over(tmp_path):
    played = gameplay("breakout", 600, tmp_path)  # a random agent soon loses its five balls
    assert 2 <= played.starts.sum() < 20
    lives = played.ram[:, 57].astype(int)
    assert (lives[played.starts] == 5).all()
    assert (np.diff(lives)[~played.starts[1:]] <= 0).all()
    episodes = played.episodes()
    assert sum(len(episode.frames) for episode in episodes) == 600
    np.testing.assert_array_equal(episodes[1].frames[0], played.frames[np.flatnonzero(played.starts)[1]])
    assert min(len(episode.actions) for episode in played.episodes(least=100)) >= 100


@pytest.mark.usefixtures("short_streams")
def test_what_was_interrupted_goes_on_to_the_same_frames(tmp_path, monkeypatch):
    whole = gameplay("breakout", 250, tmp_path / "whole", seed=3)
    played = atari._collect

    def interrupted(game, steps, seed, folder, missing, progress):
        played(game, steps, seed, folder, missing[:1], progress)
        raise KeyboardInterrupt

    monkeypatch.setattr(atari, "_collect", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gameplay("breakout", 250, tmp_path / "half", seed=3)
    collected = []
    monkeypatch.setattr(atari, "_collect", lambda *arguments: collected.append(arguments[4]) or played(*arguments))
    half = gameplay("breakout", 250, tmp_path / "half", seed=3)
    assert collected == [[1, 2]]
    for one, other in zip(whole, half, strict=True):
        np.testing.assert_array_equal(one, other)
    gameplay("breakout", 250, tmp_path / "half", seed=3)
    assert len(collected) == 1
    assert not np.array_equal(whole.frames, gameplay("breakout", 250, tmp_path / "other", seed=4).frames)


PLAYING = """
import os
from eigenax.lab.datasets.atari import players

if __name__ == "__main__":
    with players(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        os._exit(130)
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs to wait for a process that is no child")
def test_players_end_with_the_one_who_asked_for_them(tmp_path):
    (tmp_path / "playing.py").write_text(PLAYING)
    asked = subprocess.Popen([sys.executable, tmp_path / "playing.py"], stdout=subprocess.PIPE, text=True)
    assert asked.stdout is not None
    try:
        player = os.pidfd_open(int(asked.stdout.readline()))
    except ProcessLookupError:  # it has ended already
        return
    assert asked.wait(60) == 130
    assert select.select([player], [], [], 60)[0] == [player]


def test_a_game_for_two_players_and_one_that_cannot_wait(tmp_path):
    with pytest.raises(InputError, match="combat cannot be played: the emulator ended"):
        gameplay("combat", 10, tmp_path / "combat")
    assert len(gameplay("backgammon", 10, tmp_path / "backgammon").frames) == 10


def test_other_gameplay_in_a_folder_is_not_taken_for_this(tmp_path):
    gameplay("breakout", 20, tmp_path)
    with pytest.raises(RunError, match="holds other gameplay, breakout 20 0, not breakout 30 0"):
        gameplay("breakout", 30, tmp_path)


def test_an_unknown_game_and_its_neighbours(tmp_path):
    with pytest.raises(RunError, match="no Atari game 'beamrider'; did you mean beam_rider"):
        gameplay("beamrider", 10, tmp_path)


def test_a_missing_extra_is_one_sentence(tmp_path, monkeypatch):
    imported = builtins.__import__

    def without_ale(name, *arguments, **settings):
        if name.startswith("ale_py"):
            raise ImportError(name)
        return imported(name, *arguments, **settings)

    monkeypatch.setattr(builtins, "__import__", without_ale)
    with pytest.raises(
        RunError, match=r"^Atari games need the extra eigenax\[atari\]: pip install 'eigenax\[atari\]'$"
    ):
        gameplay("breakout", 10, tmp_path)
