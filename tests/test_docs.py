"""The documentation: its Python blocks run as the programs they are, and the modules it names exist."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["docs/extend.md", "README.md"]
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)


def blocks(page):
    """Each block, preceded by as many empty lines as put it on its own line of the page in a traceback."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return ["\n" * text.count("\n", 0, match.start(1)) + match[1] for match in BLOCK.finditer(text)]


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
    text = (ROOT / "docs/mathematics.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.py)`", text))
    assert named
    assert not [name for name in named if not (ROOT / "src/eigenax" / name).exists()]
