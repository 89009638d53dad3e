"""From the words of a command line to settings: presets, flags and folders."""

import dataclasses
import functools
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from eigenax.lab.experiment import Experiment


def parse_settings(cls: "type[Experiment]", words: list[str]) -> Any:
    """The settings of the preset that the command line names, changed by the other flags there."""
    import tyro

    choice = dataclasses.make_dataclass("Choice", [(name, str, "") for name in cls.determine_defaults])
    chosen, _ = tyro.cli(choice, args=words, return_unknown_args=True, add_help=False)
    usual = cls.with_preset(**vars(chosen))
    out = tyro.conf.arg(metavar="DIR", help="Folder of the run; by default a new one under runs/.")
    options = dataclasses.make_dataclass(
        "Options",
        [
            ("settings", Annotated[type(usual), tyro.conf.arg(name="")]),
            ("out", Annotated[Path | None, out], None),
            ("quiet", Annotated[bool, tyro.conf.arg(help="No progress display.")], False),
        ],
    )
    parse = functools.partial(
        tyro.cli,
        options,
        args=words,
        default=options(usual),
        prog=" ".join(["eigenax", *cls.command]),
        description=_description(cls, usual.preset),
        config=(tyro.conf.UseAppendAction, tyro.conf.OmitArgPrefixes),
    )
    parsed, unknown = parse(return_unknown_args=True)
    if unknown:
        _refuse_flags_of_other_presets(cls, usual.preset, unknown)
        parse()  # says what is unknown, and what is close to it
    return parsed


def _description(cls: "type[Experiment]", preset: str) -> str:
    """The text above the flags in the help: what the experiment is, and its presets, one on each line."""
    width = max(map(len, cls.presets))
    lines = [f"  {name:{width}}  {about}" for name, (about, *_) in cls.presets.items()]
    heading = f"Presets; flags and defaults below are those of {preset}:"
    return "\n".join([inspect.getdoc(cls) or "", "", heading, *lines])


def _refuse_flags_of_other_presets(cls: "type[Experiment]", preset: str, unknown: list[str]) -> None:
    """Raise `ValueError` for the first flag that only other presets have, naming these presets."""
    from eigenax.lab.experiment import flag

    settings = {other: {f"--{flag(name)}" for name in cls.with_preset(other).flat()} for other in cls.presets}
    for word in unknown:
        asked = word.partition("=")[0].replace("_", "-").replace("--no-", "--")
        if having := [other for other, flags in settings.items() if asked in flags]:
            raise ValueError(f"{asked} is a setting of --preset {' and '.join(having)}; the preset is {preset}")


def parse_folder(words: list[str], command: str, description: str) -> Any:
    """The folder of a run that the command line names, and whether to be quiet."""
    import tyro

    options = dataclasses.make_dataclass(
        "Options",
        [
            (
                "folder",
                Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR", help="Folder of a run.")],
            ),
            ("quiet", Annotated[bool, tyro.conf.arg(help="No progress display.")], False),
        ],
    )
    return tyro.cli(options, args=words, prog=f"eigenax {command}", description=description)
