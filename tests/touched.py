"""The test files of what has changed since the last commit: `python tests/touched.py`, for `make check`.

A test file stands for itself, `src/eigenax/ROOM/MODULE.py` for `tests/ROOM/test_MODULE.py`. Modules without a test file
of their own are left to `make test`, which runs everything.
"""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def touched(names: list[str]) -> list[str]:
    """Test files of changed files, those that there are.

    >>> touched(["src/eigenax/domains/box.py", "tests/domains/test_box.py", "README.md"])
    ['tests/domains/test_box.py', 'tests/test_docs.py']
    """
    found = set()
    for path in map(Path, names):
        if path.suffix == ".md":
            found.add("tests/test_docs.py")
        elif path.parts[:2] == ("src", "eigenax"):
            found.add(str(Path("tests", *path.parts[2:-1], f"test_{path.name}")))
        elif path.name.startswith("test_"):
            found.add(str(path))
    return sorted(name for name in found if (ROOT / name).exists())


def main() -> None:
    """One name a line."""
    changed = ["git", "diff", "--name-only", "HEAD"], ["git", "ls-files", "--others", "--exclude-standard"]
    listed = [subprocess.run(one, cwd=ROOT, capture_output=True, text=True, check=True).stdout for one in changed]
    print("\n".join(touched("\n".join(listed).splitlines())))


if __name__ == "__main__":
    main()
