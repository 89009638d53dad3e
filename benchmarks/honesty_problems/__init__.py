"""Problems with known answers, one module for each kind; `base.PROBLEMS` holds them all once `load` was called."""

import importlib
import pkgutil

from honesty_problems.base import PROBLEMS, Problem

APART = {"base", "references"}


def load() -> dict[str, Problem]:
    """All problems by name."""
    for module in pkgutil.iter_modules(__path__):
        if module.name not in APART:
            importlib.import_module(f"{__name__}.{module.name}")
    return PROBLEMS
