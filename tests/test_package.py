"""What an installed package holds: every file of `report/` that is not Python is declared."""

import subprocess
import tomllib
from pathlib import PurePosixPath

from tests.commands import ROOT


def test_every_file_of_the_package_is_declared():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    declared = settings["tool"]["setuptools"]["package-data"]
    packaged = {
        path.relative_to(ROOT).as_posix()
        for package, patterns in declared.items()
        for pattern in patterns
        for path in ROOT.joinpath(*package.split(".")).glob(pattern)
        if path.is_file()
    }
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "report"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    files = {name for name in tracked if name and PurePosixPath(name).suffix != ".py"}
    assert files <= packaged, files - packaged


def test_every_folder_of_modules_is_a_package():
    folders = {path.parent for path in (ROOT / "report").rglob("*.py")}
    assert not [folder for folder in folders if not (folder / "__init__.py").is_file()]
