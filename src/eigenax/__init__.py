"""eigenax: ordered eigenfunctions of linear operators, learned from samples.

The public names stand in `__init__.pyi`. They are imported when first used, so that the command line answers before JAX
has loaded.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

_LISTED = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
_HOMES = {name.name: one.module for one in _LISTED if isinstance(one, ast.ImportFrom) for name in one.names}
__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'eigenax' has no attribute {name!r}")
    return getattr(import_module(str(_HOMES[name])), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
