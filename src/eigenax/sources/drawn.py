"""The batches of a source, drawn by a program of their own: it is compiled once, whatever is done with the points."""

import jax
from jaxtyping import Array, Int, PRNGKeyArray

from eigenax.core.batch import Batch
from eigenax.core.compiled import compiled, for_one_run
from eigenax.sources.base import Source


def drawn(source: Source, key: PRNGKeyArray, size: int, evenly: bool, part: Int[Array, ""]) -> Batch:
    """The batch with this number, evenly spread or of independent draws; one program serves all numbers.

    >>> from eigenax import Box
    >>> from eigenax.sources.uniform import Uniform
    >>> drawn(Uniform(Box(0, 1)), jax.random.key(0), 4, True, jax.numpy.asarray(0)).x.shape
    (4, 1)
    """
    return (_few_operations if source.few_operations else _any_source)(source, key, size, evenly, part)


def _batch(source: Source, key: PRNGKeyArray, size: int, evenly: bool, part: Int[Array, ""]) -> Batch:
    return source.sample_qmc(key, size, part) if evenly else source.sample(jax.random.fold_in(key, part), size)


_any_source, _few_operations = compiled(_batch), for_one_run(_batch)
