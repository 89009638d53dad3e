"""The wheel holds all that is needed: it installs and runs where there is no source tree."""

import json
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_a_wheel_installs_and_runs_in_an_environment_of_its_own(tmp_path):
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("eigenax-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    needed = {"py.typed", "__init__.pyi", "lab/report/page.html.j2", "lab/datasets/acetonitrile/force_field.txt"}
    assert {f"eigenax/{name}" for name in needed} <= set(names)
    assert not [name for name in names if name.startswith(("tests", "docs"))]

    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel]
    subprocess.run(install, check=True, capture_output=True)
    # The dependencies are borrowed: tests have no network. The editable install is not among them.
    site = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib"))

    where = subprocess.run(
        [python, "-c", "import eigenax; print(eigenax.__file__)"],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert str(site) in where.stdout
    small = [
        "--preset",
        "quick",
        "--n",
        "2",
        "--steps",
        "20",
        "--batch",
        "16",
        "--width",
        "8",
        "--samples",
        "512",
        "--quiet",
        "--out",
        "run",
    ]
    run = [tmp_path / "env" / "bin" / "eigenax", "run", "hydrogen", *small]
    subprocess.run(run, check=True, capture_output=True, cwd=tmp_path)
    assert len(json.loads((tmp_path / "run" / "result.json").read_text())["eigenvalues"]) == 2
    assert (tmp_path / "run" / "report.html").exists()
