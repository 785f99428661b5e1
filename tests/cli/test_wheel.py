"""The wheel carries what it needs: built here, unpacked elsewhere, it runs from another folder."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from small_project import REPOSITORY, Project


def test_the_wheel_runs_from_another_folder(project: Project, tmp_path: Path) -> None:
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "--outdir",
            str(tmp_path / "dist"),
            str(REPOSITORY),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = (tmp_path / "dist").glob("retrieval_gate-*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    assert (site / "gate/templates/comment.md.j2").is_file()
    assert (site / "gate/py.typed").is_file()
    assert not (site / "tests").exists()
    code = (
        f"import sys; sys.path.insert(0, {str(site)!r}); import gate; assert gate.__file__.startswith({str(site)!r});"
        "from gate.cli import main; sys.exit(main())"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            code,
            "run",
            "--config",
            str(project.root),
            "--markdown",
            str(tmp_path / "comment.md"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "pass" in done.stdout
    assert (tmp_path / "comment.md").read_text(encoding="utf-8").startswith("<!-- retrieval-gate")
