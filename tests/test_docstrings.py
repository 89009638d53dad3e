"""Every line of a docstring that a person may type runs, and says what it is said to say."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import eigenax

MODULES = {
    found.name: Path(found.module_finder.path, f"{found.name.rpartition('.')[2]}.py").read_text(encoding="utf-8")
    for found in pkgutil.walk_packages(eigenax.__path__, "eigenax.")
    if not found.ispkg
}
WITH_EXAMPLES = [name for name, text in MODULES.items() if ">>> " in text]


def test_no_example_is_skipped_or_where_nobody_looks():
    assert not [name for name, text in MODULES.items() if "+SKIP" in text]
    assert not [
        path for path in Path(eigenax.__file__).parent.rglob("__init__.py") if ">>> " in path.read_text("utf-8")
    ]


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_a_module_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    found = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    # None is overlooked, as those of functions in wrappers would be.
    assert sum(len(test.examples) for test in found) == len(re.findall(r"^ *>>> ", MODULES[name], re.MULTILINE))
    runner = doctest.DocTestRunner()
    for test in found:
        runner.run(test)
    assert not runner.summarize().failed
