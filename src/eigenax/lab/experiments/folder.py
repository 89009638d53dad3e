"""The folder of a run: what is in it, who may write there, and how it is read back."""

import dataclasses
import json
import math
import shutil
import tomllib
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from eigenax.errors import RunError
from eigenax.lab.experiment import Experiment, Settings
from eigenax.lab.experiments import ALL_EXPERIMENTS, find_experiment

SETTINGS, RESULT, REPORT, FIGURES = "settings.toml", "result.json", "report.html", "figures"


def default_folder(experiment: Experiment) -> Path:
    """A new folder under runs/, numbered when the name is taken."""
    base = Path("runs") / f"{experiment.name}-{experiment.preset}-seed{experiment.seed}"
    path, number = base, 2
    while path.exists():
        path, number = base.with_name(f"{base.name}-{number}"), number + 1
    return path


def claim(folder: Path, experiment: Experiment) -> set[Path]:
    """Claim a folder for a run by writing its settings there; refuse a folder that holds anything else.

    Partial files that a crash left do not count. They are returned, for `release` to keep them.
    """
    from eigenax.io.files import explained, make_folder, write_atomically

    with explained(folder):
        taken = folder.exists()
        there = set(folder.iterdir()) if folder.is_dir() else set()
    left = {path for path in there if path.name.startswith(".") and path.name.endswith(".partial")}
    content = there - left
    if taken and not folder.is_dir():
        raise RunError(f"{folder} is a file; --out needs a folder")
    if folder / SETTINGS in content:
        raise RunError(f"{folder} already holds a run; go on with `eigenax resume {folder}` or choose another --out")
    if content:
        raise RunError(f"{folder} is not empty and holds no run; choose another --out")
    make_folder(folder)
    write_atomically(folder / SETTINGS, settings_toml(experiment))
    return left


def release(folder: Path, before: set[Path]) -> None:
    """Delete what a failed run wrote, except what was there `before`, so that the folder can be claimed again.

    A run that has written a checkpoint has learned something, and is kept.
    """
    from eigenax.io.checkpoint import checkpoints

    if checkpoints(folder / "checkpoints"):
        return
    for path in set(folder.iterdir()) - before:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def settings_toml(experiment: Experiment) -> str:
    """All settings, presets resolved, as TOML."""
    settings = {"experiment": experiment.name} | experiment.flat()
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())


def read_experiment(folder: Path) -> Experiment:
    """The experiment with the settings that are in the folder of a run."""
    path = folder / SETTINGS
    if not path.is_file():
        raise RunError(f"{folder} holds no run: there is no {SETTINGS} in it")
    try:
        settings = tomllib.loads(path.read_text())
        usual = find_experiment(settings.pop("experiment"), ALL_EXPERIMENTS).with_preset(settings["preset"])
        if unknown := settings.keys() - usual.flat().keys():
            raise ValueError(f"there is no setting {min(unknown)!r} of --preset {usual.preset}")
        experiment = _with_values(usual, settings)
        experiment.check()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise RunError(f"{path} cannot be used: {error}") from error
    return experiment


def _with_values(usual: Any, values: dict[str, Any]) -> Any:
    """Settings with values from a file, which must have the types that the command line would have given them."""
    kinds, changed = get_type_hints(type(usual)), {}
    for name in (field.name for field in dataclasses.fields(usual)):
        if isinstance(part := getattr(usual, name), Settings):
            changed[name] = _with_values(part, values)
        elif name in values:
            changed[name] = _of_type(name, values[name], kinds[name])
    return dataclasses.replace(usual, **changed)


def _of_type(name: str, value: Any, kind: Any) -> Any:
    """The value of a setting, or `ValueError` where it does not have the type `kind`."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is tuple and isinstance(value, list):
        return tuple(_of_type(name, item, parts[0]) for item in value)
    if origin is Literal:
        if value not in parts:
            raise ValueError(f"{name} must be one of {', '.join(parts)}; got {value!r}")
        return value
    whole = isinstance(value, int) and not isinstance(value, bool)
    if type(value) is kind or (kind is float and whole):
        return value
    raise ValueError(f"{name} must be of type {'list' if origin is tuple else kind.__name__}; got {value!r}")


def read_result(folder: Path) -> dict[str, Any]:
    """The content of result.json."""
    path = folder / RESULT
    if not path.is_file():
        raise RunError(f"{folder} has no {RESULT}; the run is unfinished: `eigenax resume {folder}`")
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise RunError(f"{path} cannot be read: {error}") from error


def plain(value: Any) -> Any:
    """A value as JSON can hold it: arrays become lists, and numbers that are not finite become null."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
