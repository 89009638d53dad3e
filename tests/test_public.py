"""The public list: what a user needs, each with a docstring, each in README or docs."""

import ast
import inspect
import itertools
import re
import sys
from pathlib import Path

import pytest

import eigenax

ROOT = Path(__file__).parents[1]
PAGES = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *ROOT.glob("docs/*.md")))


def below(name, source):
    """The string below the assignment of a name, which is how aliases are described."""
    body = ast.parse(source).body
    for what, after in itertools.pairwise(body):
        if isinstance(what, ast.Assign) and getattr(what.targets[0], "id", None) == name:
            return ast.literal_eval(after.value) if isinstance(after, ast.Expr) else None
    return None


@pytest.mark.parametrize("name", eigenax.__all__)
def test_a_public_name_has_a_docstring(name):
    what = getattr(eigenax, name)
    if inspect.isclass(what) or inspect.isfunction(what):
        assert what.__doc__
        assert not what.__doc__.startswith(f"{name}(")  # which tuples and dataclasses make up where there is none
    else:
        assert below(name, inspect.getsource(sys.modules[eigenax._HOMES[name]]))


@pytest.mark.parametrize("name", eigenax.__all__)
def test_a_public_name_is_used_or_described_in_the_documentation(name):
    assert re.search(rf"\bex\.{name}\b|`{name}\b", PAGES)


def test_what_the_documentation_takes_from_the_package_is_public():
    assert set(re.findall(r"\bex\.([A-Za-z_]\w*)", PAGES)) <= set(eigenax.__all__)
