"""Markdown to site, by MkDocs or by Zensical; then the policy of pages and the list of files."""

import importlib.util
import itertools
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.utils import get_build_datetime

from report import files
from report.authored.boundary import authored, read_text
from report.errors import ReportError, setup
from report.site import child
from report.site.protect import protect
from report.site.sums import require_site, write_sums

LEFT_OUT = "SITE_WITHOUT"
"""Variable of the environment that mkdocs.yml takes its `exclude_docs` from."""

FOLDER = "SITE_DIR"
"""Variable of the environment that mkdocs.yml takes its `site_dir` from."""

BUILDERS = {
    "mkdocs": ("MkDocs", ["build", "--strict", "--quiet"]),
    "zensical": ("Zensical", ["build", "--strict", "--clean"]),
}
"""Module that is run -> its name, and the arguments that build a site and fail on warnings."""


def article_parts(name: str) -> tuple[str, ...]:
    """The folders of an article in site_src: page, figures, pages of figures alone, datasets."""
    return f"articles/{name}/", f"figures/{name}/", f"embed/{name}/", f"datasets/{name}/"


def build(config: Path, folder: Path, without: Sequence[str] = (), builder: str = "mkdocs") -> None:
    """Run MkDocs, or another of `BUILDERS`. If it fails, the old site stays.

    config: the mkdocs.yml; folder: where the site goes; for Zensical, inside the folder of config
    without: names of articles that are left out, with their figures and datasets
    raises: ReportError with the builder's own messages if it fails, or if it is not installed; or
        naming what pages may not hold, with file and line, or what is no file; or if
        `folder` holds what no build put there
    """
    name, options = BUILDERS[builder]
    if importlib.util.find_spec(builder) is None:
        raise ReportError(f"{name} is not installed; run `{setup(builder)}`.")
    left_out = [f"/{part}" for name in without for part in article_parts(name)]
    environment = {
        "SOURCE_DATE_EPOCH": "0",  # the same pages give the same bytes, whenever they are built
        **os.environ,
        # The theme's notice about its successor is for its users to read, not for every build.
        "NO_MKDOCS_2_WARNING": "1",
        LEFT_OUT: "\n".join(left_out),
    }
    require_site(folder)
    with files.new_folder(folder) as temporary:
        command = [sys.executable, "-m", builder, *options, "--config-file", str(config)]
        if builder == "mkdocs":
            command += ["--site-dir", str(temporary.resolve())]
        # Zensical has no such option, and takes only a path relative to mkdocs.yml
        environment[FOLDER] = os.path.relpath(temporary, Path(config).parent)
        done = child.run(command, env=environment)
        if done.returncode:
            raise ReportError(f"{name} could not build the site: {_reason(done)}")
        for path in [*temporary.rglob("*~"), *temporary.rglob("#*#")]:
            if path.is_file():  # of an editor: a builder takes it for a file to publish
                path.unlink()
        protect(temporary, Path(config).parent)
        write_sums(temporary)  # last, as it lists all the others


def require_settings(config: Path) -> None:
    """Have MkDocs read its settings as it will when it builds, before anything is measured.

    raises: ReportError with the file and the key, or the variable of the environment, that it
        would not take
    """
    with authored("SOURCE_DATE_EPOCH"):
        get_build_datetime()
    with authored(config):
        settings = MkDocsConfig(config_file_path=str(config))
        lines = read_text(config).split("\n")
        with config.open("rb") as file:
            settings.load_file(file)
        for key, problem in itertools.chain(*settings.validate()):
            if key == "theme" and not (config.parent / ".theme").exists():
                continue  # the first build writes it
            line = next((n for n, text in enumerate(lines, 1) if text.startswith(f"{key}:")), 1)
            raise ReportError(f"{config}, line {line}: {key}: {' '.join(str(problem).split())}")


def _reason(done):
    """What a failed builder said: its own messages, and the last line of a traceback."""
    said, _, traceback = (done.stdout + done.stderr).partition("Traceback (most recent call last)")
    return f"{said.strip()[-2000:]} {traceback.strip().rpartition(chr(10))[2]}".strip()
