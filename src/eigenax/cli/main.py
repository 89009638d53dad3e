"""`eigenax`: list, run, solve, slow, resume, report. Heavy imports wait until a command needs them."""

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenax.cli.arguments import parse_folder, parse_settings
from eigenax.cli.interrupt import end_on_interrupt, resume_hint
from eigenax.lab.experiments import ALL_EXPERIMENTS, EXPERIMENTS, find_experiment

if TYPE_CHECKING:
    from eigenax.lab.experiment import Experiment

OVERVIEW = """\
eigenax: ordered eigenfunctions of linear operators, learned from samples.

  eigenax list                  the experiments and their presets
  eigenax run NAME [settings]   run one; `eigenax run NAME --help` shows its settings
  eigenax solve [settings]      −∇² + V for a potential V of your own; `eigenax solve --help`
  eigenax slow FILES [settings] slow features of videos or series of your own; `eigenax slow --help`
  eigenax resume DIR            go on with an interrupted run
  eigenax report DIR            write the page of a finished run again
"""


NO_READER = 128 + 13
"""Exit code when the program that reads the output, such as `head`, has ended: that of a process ended by SIGPIPE."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    It is 0, 1 for a run that diverged, 2 for wrong input, 130 for Ctrl-C, and 141 if nobody reads the output any more.
    """
    try:
        try:
            return _command(arguments)
        finally:
            print(end="", flush=True)  # here, where the error can be caught, rather than when Python ends
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more as it ends
        return NO_READER


def _command(arguments: Sequence[str] | None) -> int:
    """Find the command that the first word names and run it on the others."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    command, *rest = words or ["--help"]
    commands = {"list": _list, "run": _run, "solve": _solve, "slow": _slow, "resume": _resume, "report": _report}
    if command in {"-h", "--help"}:
        print(OVERVIEW, end="")
    elif command == "--version":
        print(_version())
    elif command not in commands:
        return _fail(f"unknown command {command!r}; there are: {', '.join(commands)}")
    else:
        return _run_without_traceback(commands[command], rest)
    return 0


def _run_without_traceback(command: Any, words: list[str]) -> int:
    """Run a command; for every error that a user can cause, print one sentence instead of a traceback."""
    from eigenax.errors import DivergedError, InterruptedRun, RunError, SingularMomentsError

    warnings.showwarning = lambda message, *_: print(f"eigenax: warning: {message}", file=sys.stderr)
    with end_on_interrupt():
        try:
            return command(words)
        except InterruptedRun as stop:
            return _fail(str(stop), 130)
        except (DivergedError, SingularMomentsError) as error:
            return _fail(str(error), 1)
        except RunError as error:
            return _fail(str(error))


def _list(words: list[str]) -> int:
    if words:
        print("usage: eigenax list\n\nLists the experiments and their presets.")
        return 0 if words[0] in {"-h", "--help"} else 2
    width = max(map(len, EXPERIMENTS))
    for name in EXPERIMENTS:
        experiment = find_experiment(name)
        print(f"{name:{width}} {experiment.summary}\n{'':{width}} presets: {', '.join(experiment.presets)}")
    return 0


def _run(words: list[str]) -> int:
    if not words or words[0] in {"-h", "--help"}:
        print(f"usage: eigenax run NAME [settings]\n\nNAME is one of: {', '.join(EXPERIMENTS)}")
        return 0 if words else 2
    return _begin(words[0], words[1:], EXPERIMENTS)


def _solve(words: list[str]) -> int:
    return _begin("solve", words or ["--help"], ALL_EXPERIMENTS)


def _slow(words: list[str]) -> int:
    return _begin("slow", words, ALL_EXPERIMENTS)


def _begin(name: str, words: list[str], among: Mapping[str, str]) -> int:
    """Parse and check the settings, claim a folder for the run, and execute it."""
    from eigenax.errors import InputError, RunError
    from eigenax.lab.experiments.folder import claim, default_folder, release

    try:
        options = parse_settings(find_experiment(name, among), words)
        settings = options.settings.resolved()
        settings.check()
    except ValueError as error:
        raise RunError(str(error)) from error
    folder = options.out or default_folder(settings)
    with end_on_interrupt(folder):
        before = claim(folder, settings)
        try:
            return _execute(settings, folder, options.quiet)
        except InputError:
            release(folder, before)
            raise


def _resume(words: list[str]) -> int:
    from eigenax.lab.experiments.folder import REPORT, RESULT, read_experiment, read_result

    options = parse_folder(words, "resume", "Go on with an interrupted run, to the same result as without the break.")
    experiment = read_experiment(options.folder)
    if (options.folder / RESULT).exists():
        print("this run is finished:")
        if not (options.folder / REPORT).exists():
            _report([str(options.folder)])
        return _show(experiment, options.folder, read_result(options.folder))
    return _execute(experiment, options.folder, options.quiet)


def _report(words: list[str]) -> int:
    from eigenax.lab.experiments.folder import read_experiment, read_result
    from eigenax.lab.report.page import write_page

    folder = parse_folder(words, "report", "Draw the page of a finished run again.").folder
    print(write_page(folder, read_experiment(folder), read_result(folder)))
    return 0


def _execute(experiment: "Experiment", folder: Path, quiet: bool) -> int:
    from eigenax.errors import DivergedError, InterruptedRun

    try:
        with end_on_interrupt(folder):
            from eigenax.lab.experiments.runner import execute

            result = execute(experiment, folder, progress=not quiet)
    except InterruptedRun as stop:
        raise InterruptedRun(f"{stop}; {resume_hint(folder)}", stop.snapshot) from None
    except DivergedError as error:
        raise DivergedError(f"{error}, in {folder}", error.snapshot) from None
    return _show(experiment, folder, result)


def _show(experiment: "Experiment", folder: Path, result: dict[str, Any]) -> int:
    from eigenax.cli.table import print_table
    from eigenax.lab.experiments.folder import REPORT

    print_table(result, experiment.noun)
    print(f"report: {folder / REPORT}")
    return 0


def _version() -> str:
    from eigenax import __version__

    return __version__


def _fail(message: str, code: int = 2) -> int:
    print(f"eigenax: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
