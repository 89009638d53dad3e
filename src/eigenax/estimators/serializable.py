"""Save and load estimators without pickle."""

from abc import ABC, abstractmethod
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from eigenax.errors import RunError
from eigenax.io import serialisation
from eigenax.io.files import check_format, pack_tensors, read_tensors, write_atomically
from eigenax.modes import Modes


class SerializableEstimator(BaseEstimator, ABC):
    """An estimator that a file can hold: its parameters, its `modes_` and a few other attributes that `fit` sets.

    All that else follows from these.
    """

    modes_: Modes
    feature_names_in_: np.ndarray
    _format: ClassVar[str]
    _description: ClassVar[str]
    """What a file of this format holds, in the words of error messages."""
    _saved: ClassVar[tuple[str, ...]] = ("n_features_in_",)
    """The names of attributes, all whole numbers, that `fit` sets and that are saved beside `modes_`."""

    @abstractmethod
    def _set_results(self) -> None:
        """Set the attributes that follow from `modes_`."""

    @abstractmethod
    def _clear_memory(self) -> None:
        """Forget the rows that `partial_fit` keeps of earlier chunks."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted estimator to one file, without pickle; `load` reads it back with the same functions.

        The file holds neither the rows that `partial_fit` keeps of earlier chunks nor features of the training rows.
        """
        check_is_fitted(self)
        arrays: dict[str, np.ndarray] = {}
        parameters = {name: getattr(value, "item", lambda v=value: v)() for name, value in self.get_params().items()}
        names = getattr(self, "feature_names_in_", None)
        try:
            metadata = {
                "format": self._format,
                "parameters": {
                    name: serialisation.encode(value, arrays, f"parameter {name}") for name, value in parameters.items()
                },
                **{name: getattr(self, name) for name in self._saved},
                "feature_names_in_": None if names is None else names.tolist(),
                "modes": serialisation.encode(self.modes_, arrays),
            }
            content = pack_tensors(arrays, metadata)
        except TypeError as error:
            raise TypeError(
                f"only networks of eigenax and random_state=None or a number can be saved: {error}"
            ) from error
        write_atomically(Path(path), content)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Any:
        """Read an estimator from a file that `save` wrote."""
        if not Path(path).is_file():
            raise RunError(f"there is no file {path}")
        arrays, metadata = read_tensors(Path(path))
        check_format(Path(path), metadata.get("format"), cls._format, cls._description)
        parameters = metadata["parameters"]
        if parameters.keys() != cls().get_params().keys():
            raise RunError(f"{path} was not saved by {cls.__name__} but by another estimator")
        loaded = cls(**{name: serialisation.decode(value, arrays) for name, value in parameters.items()})
        loaded.modes_ = serialisation.decode(metadata["modes"], arrays)
        for name in cls._saved:
            setattr(loaded, name, metadata[name])
        if metadata["feature_names_in_"] is not None:
            loaded.feature_names_in_ = np.array(metadata["feature_names_in_"], object)
        loaded._set_results()
        loaded._clear_memory()
        return loaded
