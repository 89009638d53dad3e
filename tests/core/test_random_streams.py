"""Random streams: all of them differ, and no key is made of a seed elsewhere."""

import re
from pathlib import Path

import jax
import numpy as np

import eigenax
from eigenax.core.random_streams import Stream, stream


def test_every_stream_has_a_number_of_its_own():
    assert len({int(each) for each in Stream.__members__.values()}) == len(Stream.__members__)


def test_streams_differ_from_each_other_and_from_seed_to_seed():
    keys = {tuple(jax.random.key_data(stream(seed, each)).tolist()) for seed in (0, 1) for each in Stream}
    assert len(keys) == 2 * len(Stream)


def test_a_stream_within_a_stream_depends_on_both():
    run = stream(5, Stream.TRAINING)
    drawn = [jax.random.normal(key, (4,)) for key in (stream(run, Stream.SAMPLER), stream(5, Stream.SAMPLER))]
    assert np.all(drawn[0] != drawn[1])
    np.testing.assert_array_equal(drawn[0], jax.random.normal(stream(stream(5, Stream.TRAINING), Stream.SAMPLER), (4,)))


def test_keys_are_made_of_seeds_nowhere_else():
    found = []
    for module in Path(eigenax.__file__).parent.rglob("*.py"):
        made = re.findall(r"random\.(?:key|PRNGKey)\((?!0\))", module.read_text(encoding="utf-8"))
        if made and module.name != "random_streams.py":
            found.append(module.name)
    assert not found
