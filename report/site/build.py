"""Markdown to site, by MkDocs or by Zensical."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from report import files
from report.errors import ReportError
from report.site.protect import protect

LEFT_OUT = "SITE_WITHOUT"
"""Variable of the environment that mkdocs.yml takes its `exclude_docs` from."""

FOLDER = "SITE_DIR"
"""Variable of the environment that mkdocs.yml takes its `site_dir` from."""

BUILDERS = {
    "mkdocs": ("MkDocs", ["build", "--strict", "--quiet"]),
    "zensical": ("Zensical", ["build", "--strict", "--clean"]),
}
"""Module of the command line -> its name, and how it builds a site where a warning is an error."""


def article_parts(name):
    """What site_src has of an article: its page, its figures, these alone, its datasets."""
    return f"articles/{name}/", f"figures/{name}/", f"embed/{name}/", f"datasets/{name}/"


def build(config, folder, without=(), builder="mkdocs"):
    """Run MkDocs, or another of `BUILDERS`; a site that cannot be built replaces none.

    config: mkdocs.yml; folder: where the site goes; for Zensical inside the folder of mkdocs.yml
    without: names of articles that stay out of it, as do their figures and datasets
    raises: ReportError with the builder's own lines when it does not succeed, or is not there;
        or naming a page with a script in it that is not the theme's
    """
    name, options = BUILDERS[builder]
    if importlib.util.find_spec(builder) is None:
        raise ReportError(f"{name} is not installed; run `make setup`.")
    left_out = [f"/{part}" for name in without for part in article_parts(name)]
    environment = {
        "SOURCE_DATE_EPOCH": "0",  # the same pages give the same bytes, whenever they are built
        **os.environ,
        # The theme's notice about its successor is for its users to read, not for every build.
        "NO_MKDOCS_2_WARNING": "1",
        LEFT_OUT: "\n".join(left_out),
    }
    with files.new_folder(folder) as temporary:
        command = [sys.executable, "-m", builder, *options, "--config-file", str(config)]
        if builder == "mkdocs":
            command += ["--site-dir", str(temporary.resolve())]
        # Zensical has no such option, and takes only a path inside the folder of mkdocs.yml
        environment[FOLDER] = os.path.relpath(temporary, Path(config).parent)
        done = subprocess.run(command, env=environment, capture_output=True, text=True)  # noqa: S603
        if done.returncode:
            raise ReportError(f"{name} could not build the site: {_reason(done)}")
        protect(temporary)


def _reason(done):
    """What a failed builder said: its own messages, and the last line of a traceback."""
    said, _, traceback = (done.stdout + done.stderr).partition("Traceback (most recent call last)")
    return f"{said.strip()[-2000:]} {traceback.strip().rpartition(chr(10))[2]}".strip()
