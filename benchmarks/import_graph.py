"""How modules and rooms of the package import each other, and how often a class of ours decides by isinstance.

`python benchmarks/import_graph.py` looks at src; to compare with another commit, unpack it and give its folder:
`git archive COMMIT src | tar -x -C /tmp/then; python benchmarks/import_graph.py /tmp/then/src`.
"""

import argparse
import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse.csgraph import connected_components

WORDS = ("Operator", "LinearCombination", "Domain", "Sampler", "Source", "Solver")
"""Classes whose subclasses are asked for what they are; the algebra of operators may."""


def trees(src: Path) -> dict[str, ast.Module]:
    """The syntax of every module by its name."""
    files = sorted(src.glob("eigenax/**/*.py"))
    return {".".join(file.relative_to(src).with_suffix("").parts): ast.parse(file.read_text()) for file in files}


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules of eigenax that are imported at any time, but for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("eigenax"):
            yield str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("eigenax"))
        else:
            yield from imported(node)


def room(module: str) -> str:
    """The folder that a module lies in, or itself."""
    return module.split(".")[1] if "." in module else module


def in_cycles(edges: set[tuple[str, str]]) -> list[list[str]]:
    """Rooms that import each other, directly or around."""
    names = sorted({name for edge in edges for name in edge})
    matrix = np.zeros((len(names), len(names)))
    for a, b in edges:
        matrix[names.index(a), names.index(b)] = 1
    count, labels = connected_components(matrix, connection="strong")
    groups = [[name for name, label in zip(names, labels, strict=True) if label == part] for part in range(count)]
    return [group for group in groups if len(group) > 1]


def own_classes(modules: dict[str, ast.Module]) -> set[str]:
    """Operators, domains, samplers, sources, solvers and their subclasses."""
    bases = {
        node.name: {ast.unparse(base).split("[")[0] for base in node.bases}
        for tree in modules.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {*WORDS, "Points", "Pairs"}
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return found


def dispatches(modules: dict[str, ast.Module]) -> Iterator[str]:
    """Where isinstance asks for one of these."""
    ours = own_classes(modules)
    for name, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                asked = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)} & ours
                if asked:
                    yield f"{name}:{node.lineno} {' '.join(sorted(asked))}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("src", nargs="?", type=Path, default=Path(__file__).parents[1] / "src")
    src = parser.parse_args().src
    modules = trees(src)
    edges = {(a, b) for a, tree in modules.items() for b in imported(tree) if b in modules and a != b}
    between = {(room(a), room(b)) for a, b in edges if room(a) != room(b) and "eigenax" not in (room(a), room(b))}
    lines = sum(len(file.read_text().splitlines()) for file in src.glob("eigenax/**/*.py"))
    fan_in, fan_out = Counter(b for _, b in edges).most_common(1)[0], Counter(a for a, _ in edges).most_common(1)[0]
    asked = list(dispatches(modules))
    print(f"{len(modules)} modules, {lines} lines, {len(edges)} imports, {len(between)} between rooms")
    print(f"largest fan-in {fan_in[1]} ({fan_in[0]}), largest fan-out {fan_out[1]} ({fan_out[0]})")
    print(f"rooms in cycles: {'; '.join(' '.join(group) for group in in_cycles(between)) or 'none'}")
    print(f"isinstance on classes of our own: {len(asked)}", *asked, sep="\n  ")


if __name__ == "__main__":
    main()
