"""The lock files are all that is installed: complete, hashed, and what pyproject.toml asks for."""

import hashlib
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.commands import ROOT

pytestmark = pytest.mark.promise("locked-packages")

LOCKS = ROOT / "locks"
PARTS = ("site", "tools", "torch", "cuda")
BLOCK = re.compile(
    r"^([a-z0-9.-]+)==([^\s;]+)((?: ;[^\\\n]*)?)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n"
)
WHEEL = {
    "altair.py": "",
    "altair-6.3.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: altair\nVersion: 6.3.0\n",
    "altair-6.3.0.dist-info/WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\n",
    "altair-6.3.0.dist-info/RECORD": "",
}
"""The smallest wheel that calls itself by a locked name and version."""

PLATFORMS = [
    {"sys_platform": system, "platform_system": name, "platform_machine": machine}
    for system, name, machine in (
        ("linux", "Linux", "x86_64"),
        ("linux", "Linux", "aarch64"),
        ("darwin", "Darwin", "arm64"),
    )
]
ENVIRONMENTS = [
    default_environment() | platform | {"python_version": full[:4], "python_full_version": full}
    for platform in PLATFORMS
    for full in ("3.11.2", "3.11.9", "3.12.8", "3.13.1", "3.14.0")
]


def locked(part):
    """The `Requirement`s of a lock file; all of it must be such."""
    text = (LOCKS / f"{part}.txt").read_text("utf-8").partition("\n")[2]
    found = []
    while text:
        block = BLOCK.match(text)
        assert block, f"{part}.txt: not a pinned package with its sums: {text[:200]!r}"
        found.append(Requirement(f"{block[1]}=={block[2]}{block[3]}"))
        text = text[block.end() :]
    return found


def versions(environment, *parts):
    """dict of package to the one version that is installed somewhere."""
    found = {}
    for part in parts:
        for requirement in locked(part):
            if requirement.marker is None or requirement.marker.evaluate(environment):
                assert requirement.name not in found, requirement.name
                (pin,) = requirement.specifier
                found[requirement.name] = pin.version
    return found


SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PLAIN = SETTINGS["build-system"]["requires"] + SETTINGS["project"]["dependencies"]
EXTRA = [line for lines in SETTINGS["project"]["optional-dependencies"].values() for line in lines]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_what_the_project_asks_for_is_locked_for_every_platform_and_python(environment):
    for lines, parts in ((PLAIN, ("site",)), (PLAIN + EXTRA, PARTS)):
        have = versions(environment, *parts)
        for requirement in map(Requirement, lines):
            name = canonicalize_name(requirement.name)
            assert name in have, f"{name} is not locked; run `make lock`"
            said = f"{name} {have[name]} is locked; run `make lock`"
            assert requirement.specifier.contains(have[name], prereleases=True), said


def test_packages_are_installed_in_the_locked_versions():
    """The tests run with what the lock says; a package of its own (1.2+cpu) counts as 1.2."""
    for name, version in versions(default_environment(), "site", "tools", "torch").items():
        try:
            have = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # of an extra that is not installed here
        assert have.partition("+")[0] == version, f"{name}: run `make setup`"


@pytest.mark.parametrize("parts", [("site",), ("site", "tools", "torch")])
def test_what_the_locked_packages_ask_for_is_locked_too(parts):
    """`--no-deps` installs the lock and nothing else, so nothing may be missing from it."""
    environment = default_environment() | {"extra": ""}
    have = versions(environment, *parts)
    for name in have:
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        for needed in map(Requirement, lines):
            if needed.marker is None or needed.marker.evaluate(environment):
                other = canonicalize_name(needed.name)
                if name == "torch" and re.match(r"(nvidia|cuda)-|triton", other):
                    continue
                assert other in have, f"{name} needs {other}"
                assert needed.specifier.contains(have[other], prereleases=True), (name, needed)


def test_torch_may_be_the_build_for_the_cpu_alone():
    (build,), (torch,) = locked("torch-cpu"), locked("torch")
    assert str(build.specifier) == f"{torch.specifier}+cpu"
    text = (LOCKS / "torch-cpu.txt").read_text("utf-8")
    assert text.count("--hash=sha256:") >= 4  # Python 3.11 to 3.14


def pip(*arguments, folder):
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet"]
    command += ["--target", str(folder / "installed"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


@pytest.mark.promise("packaged-models")
def test_a_file_with_another_sum_is_not_installed(tmp_path):
    """As `make setup` installs: pip itself refuses what is not the file that was locked."""
    wheel = tmp_path / "altair-6.3.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in WHEEL.items():
            archive.writestr(name, text)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "LOCKED := $(PIP) --require-hashes --no-deps" in makefile
    lock = (LOCKS / "site.txt").read_text("utf-8")
    (block,) = re.findall(r"^altair==6\.3\.0 \\\n(?:.*\\\n)*.*\n", lock, re.MULTILINE)
    requirements = tmp_path / "lock.txt"
    requirements.write_text(block, "utf-8")
    options = ["--require-hashes", "--find-links", tmp_path, "-r", requirements]
    done = pip(*options, folder=tmp_path)
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
    ours = hashlib.sha256(wheel.read_bytes()).hexdigest()
    requirements.write_text(f"altair==6.3.0 --hash=sha256:{ours}\n", "utf-8")
    assert pip(*options, folder=tmp_path).returncode == 0
