"""A Python in which nothing that measures is installed, as on a machine that only publishes."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

from report.measuring.plan import PACKAGES

NOT_THERE = {*PACKAGES, "accelerate"}


def bare_python(folder):
    """Make an environment without the measuring packages, and return its Python.

    What else is installed here is linked into it, so nothing is downloaded.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (target,) = folder.glob("lib/python*/site-packages")
    metadata_folder = re.compile(rf"({'|'.join(NOT_THERE)})-[^-]+\.(dist|egg)-info")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        left_out = path.name in NOT_THERE or metadata_folder.fullmatch(path.name)
        if not left_out and path.suffix != ".pth":
            (target / path.name).symlink_to(path)
    return folder / "bin" / "python"


def report_without_measuring(python, *arguments, cwd, timeout=250):
    """`python -m report …` with that Python: CompletedProcess with text output."""
    root = Path(__file__).parents[1]
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.run(
        [python, "-m", "report", *map(str, arguments)],
        cwd=cwd,
        env=keep | {"PYTHONPATH": str(root), "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
