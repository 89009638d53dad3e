"""The documentation: its Python blocks run as the programs they are, and all that it names exists."""

import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

import eigenax
from eigenax.cli.main import main

ROOT = Path(__file__).parents[1]
PAGES = ["docs/extend.md", "README.md"]
EVERY_PAGE = sorted(str(page.relative_to(ROOT)) for page in (*ROOT.glob("docs/*.md"), *ROOT.glob("*.md")))
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    (.*?)(?: #.*)?$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page):
    """Each block, preceded by as many empty lines as put it on its own line of the page in a traceback."""
    text = text_of(page)
    return ["\n" * text.count("\n", 0, match.start(1)) + match[1] for match in BLOCK.finditer(text)]


def commands(program):
    """The command lines of a program on all pages, with all that is optional."""
    lines = {
        part.strip() for page in EVERY_PAGE for line in INDENTED.findall(text_of(page)) for part in line.split(";")
    }
    return sorted(re.sub(r"[\[\]]", "", line) for line in lines if re.match(program, line))


def test_the_page_on_extending_has_code():
    assert blocks("docs/extend.md")


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    program = ModuleType("page_" + re.sub(r"\W", "_", page))
    monkeypatch.setitem(sys.modules, program.__name__, program)
    monkeypatch.chdir(tmp_path)
    for source in blocks(page):
        exec(compile(source, str(ROOT / page), "exec"), vars(program))


def test_the_modules_named_on_the_page_on_mathematics_exist():
    text = text_of("docs/mathematics.md")
    named = set(re.findall(r"`([\w/]+\.py)`", text))
    assert named
    assert not [name for name in named if not (ROOT / "src/eigenax" / name).exists()]


@pytest.mark.parametrize("page", EVERY_PAGE)
def test_the_links_of_a_page_lead_somewhere(page):
    beside, prose = (ROOT / page).parent, BLOCK.sub("", text_of(page))
    assert not [link for link in LINK.findall(prose) if not (beside / link).exists()]


def test_the_words_of_the_readme_are_public_classes():
    table = text_of("README.md").partition("## Six words")[2].partition("\n\n##")[0]
    named = set(re.findall(r"`([A-Z]\w+)\b", table))
    assert {"Laplacian", "Box", "Uniform", "MLP", "AutoSolver", "Modes"} <= named
    assert named <= set(eigenax.__all__)


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """The settings of every run that begins, beside what a person has in a folder where these commands are typed."""
    (tmp_path / "well.py").write_text("def double(x):\n    return (x[0] ** 2 - 1) ** 2 + x[1] ** 2\n")
    (tmp_path / "water.txt").write_text("3832 1649 3942\n0 0 0 : -1834\n")
    for name in ("rooms.txt", "GridRoom-16.txt"):
        (tmp_path / name).write_text("XXXXXX\n" + 3 * "X    X\n" + "XXXXXX\n")
    found = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("eigenax.cli.main._execute", lambda settings, *_: found.append(settings) or 0)
    return found


@pytest.mark.parametrize("command", commands("eigenax (run|solve|slow) (?!--model)"))  # which needs a finished run
def test_the_settings_of_a_command_exist(command, begun):
    assert main(shlex.split(command)[1:]) == 0
    assert len(begun) == 1


def test_the_scripts_of_the_commands_exist():
    scripts = {command.split()[1] for command in commands("python ")}
    assert scripts
    assert not [script for script in scripts if not (ROOT / script).exists()]
