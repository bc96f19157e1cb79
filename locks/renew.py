"""Writes the lock files beside it: exact versions and SHA-256 sums of all that `make` installs.

    make lock                    what pyproject.toml asks for now, other versions as they were
    make lock UPGRADE=1          everything at its newest version that pyproject.toml allows

`uv pip compile` finds the versions, for every platform and every Python at once. They are split by
who needs them: site.txt (to render and publish), tools.txt (to measure, test and develop besides),
torch.txt, and cuda.txt (only for a torch with CUDA). torch's builds for the CPU alone are on an
index of their own and have versions of their own: torch-cpu.txt. Packages of which only a model is
read are in models.txt, without what they depend on.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
PRESETS = ROOT / "report" / "models" / "find" / "presets.toml"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PARTS = ("site", "tools", "torch", "cuda")
OF_CUDA = re.compile(r"(nvidia|cuda)-|triton$")
HEADER = "# Written by locks/renew.py (`make lock`); not by hand.\n"
CPU_WHEEL = (
    r"torch-{}\+cpu-cp31[1-4]-cp31[1-4]-manylinux_[0-9_]+_x86_64\.whl#sha256=([0-9a-f]{{64}})"
)


def main(upgrade=False):
    """Resolve and write all lock files."""
    with tempfile.TemporaryDirectory() as folder:
        everything, site, models = (
            Path(folder) / f"{name}.txt" for name in ("everything", "site", "models")
        )
        if not upgrade:  # uv keeps the versions of the file it writes, where they still fit
            everything.write_text("".join(lock(part) for part in PARTS), "utf-8")
            models.write_text(lock("models"), "utf-8")
        newest = ["--upgrade"] if upgrade else []
        resolve(everything, "--all-extras", *newest)
        resolve(site, "--constraints", str(everything))
        resolve(models, "--no-deps", *newest, wanted=packages_of_models())
        pins, needed = blocks(everything.read_text("utf-8")), blocks(site.read_text("utf-8"))
        of_models = [block for _, block in blocks(models.read_text("utf-8"))]
    parts = {part: [] for part in PARTS}
    names = {name for name, _ in needed}
    for name, block in pins:
        part = "site" if name in names else "cuda" if OF_CUDA.match(name) else "tools"
        parts["torch" if name == "torch" else part].append(block)
    parts["torch-cpu"] = [cpu_builds(*parts["torch"])]
    parts["models"] = of_models
    for part, found in parts.items():
        (HERE / f"{part}.txt").write_text(HEADER + "".join(found), "utf-8")
        print(f"locks/{part}.txt: {len(found)} packages")


def lock(part):
    """The text of a lock file, "" if there is none yet."""
    path = HERE / f"{part}.txt"
    return path.read_text("utf-8") if path.is_file() else ""


def packages_of_models():
    """Names of the packages that presets come in."""
    presets = tomllib.loads(PRESETS.read_text("utf-8")).values()
    return sorted({preset["package"] for preset in presets if "package" in preset})


def resolve(output, *options, wanted=None):
    """Run uv on what is wanted, into a file.

    wanted: names of packages; None: what pyproject.toml asks for, and what builds it
    """
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if uv is None:
        sys.exit("error: no command 'uv'; install it: pip install uv")
    files = []
    if wanted is None:
        project = (ROOT / "pyproject.toml").read_text("utf-8")
        files = ["pyproject.toml"]
        wanted = re.findall(r'^requires = \["([^"]+)"\]$', project, re.MULTILINE)
    command = [uv, "pip", "compile", *files, "-", "--quiet", "--universal"]
    command += ["--python-version", "3.11", "--generate-hashes", "--no-annotate", "--no-header"]
    command += ["--output-file", str(output), *options]
    subprocess.run(command, cwd=ROOT, input="\n".join(wanted), text=True, check=True)  # noqa: S603


def blocks(text):
    """(name, lines) of each package in a file of requirements with hashes."""
    found = re.findall(r"^([A-Za-z0-9._-]+)(==(?:.*\\\n)*.*\n)", text, re.MULTILINE)
    return [(re.sub(r"[-_.]+", "-", name).lower(), name + rest) for name, rest in found]


def cpu_builds(torch):
    """The lock of torch's builds for the CPU alone, of the same version, fetched from their index.

    Where the index is out of reach, the sums of a version that was locked before are kept.
    """
    (version,) = re.findall(r"^torch==(\S+)", torch)
    pin = f"torch=={version}+cpu"
    try:
        with urllib.request.urlopen(f"{CPU_INDEX}/torch/", timeout=60) as answer:  # noqa: S310
            page = answer.read().decode().replace("%2B", "+")
        sums = sorted(set(re.findall(CPU_WHEEL.format(re.escape(version)), page)))
    except OSError as error:
        print(f"{CPU_INDEX}: {error}; what is locked is kept", file=sys.stderr)
        sums = re.findall(r"[0-9a-f]{64}", lock("torch-cpu")) if pin in lock("torch-cpu") else []
    if not sums:
        sys.exit(f"error: no sums of {pin} could be found at {CPU_INDEX}")
    return pin + "".join(f" \\\n    --hash=sha256:{each}" for each in sums) + "\n"


if __name__ == "__main__":
    main("--upgrade" in sys.argv)
