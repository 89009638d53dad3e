"""Estimators in files, without pickle."""

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
    """An estimator whose parameters, counts and `modes_` are all that must be kept of it."""

    modes_: Modes
    feature_names_in_: np.ndarray
    _format: ClassVar[str]
    _holds: ClassVar[str]
    """What a file of this format holds, in words."""
    _counts: ClassVar[tuple[str, ...]] = ("n_features_in_",)
    """What was counted when fitting, and is saved with it."""

    @abstractmethod
    def _told(self) -> None:
        """Set what follows from the modes."""

    @abstractmethod
    def _forget(self) -> None:
        """Set what `partial_fit` remembers to nothing."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write what was learned to one file, without pickle; `load` reads it back to the same functions.

        What `partial_fit` remembers of earlier rows, and the features of those learned from, are not in it.
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
                **{name: getattr(self, name) for name in self._counts},
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
        """An estimator from a file that `save` wrote."""
        if not Path(path).is_file():
            raise RunError(f"there is no file {path}")
        arrays, metadata = read_tensors(Path(path))
        check_format(Path(path), metadata.get("format"), cls._format, cls._holds)
        parameters = metadata["parameters"]
        if parameters.keys() != cls().get_params().keys():
            raise RunError(f"{path} was not saved by {cls.__name__} but by another estimator")
        loaded = cls(**{name: serialisation.decode(value, arrays) for name, value in parameters.items()})
        loaded.modes_ = serialisation.decode(metadata["modes"], arrays)
        for name in cls._counts:
            setattr(loaded, name, metadata[name])
        if metadata["feature_names_in_"] is not None:
            loaded.feature_names_in_ = np.array(metadata["feature_names_in_"], object)
        loaded._told()
        loaded._forget()
        return loaded
