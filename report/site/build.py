"""Builds a site of Markdown by MkDocs or Zensical; then adds pages' policy and the list of files.

Checks beforehand whether settings and texts can be built, and datasets are too large for hosts.
"""

import hashlib
import importlib.util
import itertools
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from markdown import Markdown
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.utils import get_build_datetime

from report import files
from report.authored import guard
from report.authored.boundary import MOST, authored, read_text
from report.datasets import store
from report.errors import ReportError, setup
from report.files import TEMPLATES
from report.pages.stamps import authored as authored_files
from report.pages.stamps import below, program
from report.site import child
from report.site.protect import protect
from report.site.sums import NAME as SUMS
from report.site.sums import require_site, write_sums
from report.text import lasting, shortened, sized

LEFT_OUT = "SITE_WITHOUT"
"""Variable of the environment that mkdocs.yml takes its `exclude_docs` from."""

FOLDER = "SITE_DIR"
"""Variable of the environment that mkdocs.yml takes its `site_dir` from."""

BUILDERS = {
    "mkdocs": ("MkDocs", ["build", "--strict", "--quiet"]),
    "zensical": ("Zensical", ["build", "--strict", "--clean"]),
}
"""Module that is run -> its name, and the arguments that build a site and fail on warnings."""

MANY = 2_000
"""A text with more brackets is tried before anything is measured: from each of them, Markdown may
look on to the end of a paragraph."""


def article_parts(name: str) -> tuple[str, ...]:
    """The folders of an article in site_src: page, figures, pages of figures alone, datasets."""
    return f"articles/{name}/", f"figures/{name}/", f"embed/{name}/", f"datasets/{name}/"


def build(
    config: Path,
    folder: Path,
    without: Sequence[str] = (),
    builder: str = "mkdocs",
    look: Callable[[], object] = lambda: None,
) -> None:
    """Build the site with a builder of `BUILDERS`. If that fails, the old site stays.

    config: the mkdocs.yml; folder: where the site goes; for Zensical, inside the folder of config
    without: names of articles that are left out, with their figures and datasets
    look: called again and again meanwhile; what it raises ends the builder
    raises: ReportError if the builder is not installed, fails or takes longer than authors' code
        may; if pages hold what they may not, or what is no file; or if `folder` holds what no
        build put there
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
        limit = guard.limit() or None
        try:
            result = child.run(command, limit, look, env=environment)
        except subprocess.TimeoutExpired as error:
            texts = files.meant((Path(config).parent / "site_src").rglob("*.md"))
            _, place = max(map(_brackets, texts), default=(0, config))
            raise ReportError(
                f"{place}: {name} ran for {lasting(limit)} without an end, and most brackets stand "
                f"here; take some out, or give {guard.LIMIT} more seconds."
            ) from error
        if result.returncode:
            raise ReportError(f"{name} could not build the site: {_reason(result)}")
        for path in [*temporary.rglob("*~"), *temporary.rglob("#*#")]:
            if path.is_file():  # of an editor: a builder takes it for a file to publish
                path.unlink()
        protect(temporary, Path(config).parent)
        write_sums(temporary)  # last, as it lists all the others


class LastBuild:
    """Record of what a site was built of last, which tells whether the next build gives the same.

    It has time and size of every file of the project, of this program and of the site (but not of
    datasets in site_src, which planning verifies), what is installed, and the variables of the
    environment that mkdocs.yml names.
    """

    def __init__(self, config: Path, folder: Path):
        """config, folder: as of `build`. Authors' files count as they are now: what changes while a
        site is built is not in it."""
        self.config, self.folder = config, folder
        self.record = config.parent / ".cache" / f"built-{folder.name}.json"
        self.authored = self._authored()

    def fits(self, question: object) -> bool:
        """Whether a build would give the site that is there; question: all else it depends on."""
        if not (self.folder / SUMS).is_file() or not self.record.is_file():
            return False
        return self.record.read_bytes() == self._state(question, self._pages())

    def note_pages(self) -> None:
        """Take the pages as they are now for those that are built."""
        self.pages = self._pages()

    def note_build(self, question: object) -> None:
        """Write the record of the site, unless a file that it was built of changed since."""
        if (self.authored, self.pages) == (self._authored(), self._pages()):
            files.write_bytes(self.record, self._state(question, self.pages))

    def _state(self, question, pages):
        state = [str(question), self.authored, pages, below(self.folder)]
        return hashlib.sha256(json.dumps(state).encode()).hexdigest().encode()

    def _authored(self):
        root, text = self.config.parent, read_text(self.config)
        names = {name for line in text.split("\n") if "!ENV" in line for name in WORD.findall(line)}
        return [
            *program(),
            {name: os.environ.get(name) for name in sorted(names | {"SOURCE_DATE_EPOCH"})},
            below(TEMPLATES),
            *authored_files(root, self.folder),
        ]

    def _pages(self):
        top = self.config.parent / "site_src"
        return [*below(top, top / "datasets"), *below(self.config.parent / ".theme")]


WORD = re.compile(r"[A-Z][A-Z0-9_]+")
"""What may be the name of a variable of the environment."""


def require_settings(config: Path) -> None:
    """Have MkDocs read its settings as it will when it builds, before anything is measured.

    raises: ReportError with the key of mkdocs.yml, or the variable of the environment, that it
        refuses; or with file and line of a text that Markdown does not finish in time
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
            reason = str(problem).strip().split("\n")  # of an extension, with a traceback within
            reason = (
                [reason[0], reason[-1]]
                if any(part.startswith("  File") for part in reason)
                else reason
            )
            reason = shortened(" ".join(" ".join(reason).split()), MOST)
            raise ReportError(f"{config}, line {line}: {key}: {reason}")
    _require_end(settings, config.parent)


def _require_end(settings, root):
    """Convert authors' texts that may take Markdown minutes, with the extensions of MkDocs."""
    texts = (root / "site_src").rglob("*.md")
    pages = (path for path in texts if path.parent.parent.name != "articles")
    for path in files.meant([*(root / "templates").rglob("*.j2"), *pages]):
        number, place = _brackets(path)
        if number > MANY:
            with authored(place):
                names, configs = settings.markdown_extensions, settings.mdx_configs
                Markdown(extensions=names, extension_configs=configs).convert(read_text(path))


def _brackets(path):
    """(number of opening brackets in a text, file and line of the paragraph with most of them)"""
    counts, begin = Counter(), 1
    for number, line in enumerate(read_text(path).split("\n"), 1):
        begin = begin if line.strip() else number + 1
        counts[begin] += line.count("[") + line.count("<")
    [(line, _)] = counts.most_common(1)
    return counts.total(), f"{path}, line {line}"


def _reason(result):
    """A failed builder's own messages, and the last line of its traceback."""
    messages, _, traceback = (result.stdout + result.stderr).partition(
        "Traceback (most recent call last)"
    )
    return f"{messages.strip()[-2000:]} {traceback.strip().rpartition(chr(10))[2]}".strip()


SITE_BYTES = 10**9
"""What GitHub Pages takes of a site (its documentation: "no larger than 1 GB")."""

FILE_BYTES = 100 * 2**20
"""What GitHub takes of one file (its documentation: files larger than 100 MiB are blocked)."""


def too_heavy(folders: Iterable[Path]) -> list[str]:
    """Sentences about datasets beyond a host's limits, [] if none are.

    folders: of all datasets of the site
    """
    sizes = {
        folder / name: facts["bytes"]
        for folder in folders
        for name, facts in store.read(folder / "manifest.json")["files"].items()
    }
    sentences, total = [], sum(sizes.values())
    if total > SITE_BYTES:
        sentences.append(
            f"The datasets of this site are {sized(total)}; GitHub Pages takes at most "
            f"{sized(SITE_BYTES)}. Measure fewer layers (--layers 0-3) or shorter passages, keep "
            "fewer heads of each layer (--heads 0-2), or publish on another host."
        )
    sentences += [
        f"{path} is {sized(size)}; GitHub takes files of at most {sized(FILE_BYTES)}. Shorten its "
        "passage, or publish on another host."
        for path, size in sizes.items()
        if size > FILE_BYTES
    ]
    return sentences
