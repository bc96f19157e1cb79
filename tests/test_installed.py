"""The wheel: what it holds, and a publication that is made, built, checked and frozen with nothing
but it, in a folder and an environment of their own."""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from report import __version__
from report.pages.new import ADDRESS
from tests.commands import ROOT
from tests.documents import DOCS, NOT_RUN, WRITTEN, blocks, commands
from tests.site import tiny_models
from tests.small import SENTENCE
from tests.tiny_falcon import byte_level_tokenizer, random_falcon

NAME = "attention-focus-plots"
MOST = 35_000_000
"""Bytes of the wheel."""


def call(command, folder, **variables):
    """What a command says; PYTHONPATH, which may lead to the repository, is left out."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=kept | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def built(target, source, into):
    code, said = call(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", into], source
    )
    assert code == 0, said
    (file,) = into.iterdir()
    return file


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def tracked(*folders):
    command = ["git", "ls-files", "-z", *folders]
    return set(call(command, ROOT)[1].split("\0")) - {""}


def test_the_wheel_holds_every_file_of_the_package_and_what_publications_are_made_with(wheel):
    inside = {f"report/{name}" for name in tracked("templates", "site_src/images", "mkdocs.yml")}
    inside -= {name for name in inside if name.startswith("report/templates/articles/")}
    assert names(wheel) == tracked("report") | inside
    assert wheel.stat().st_size <= MOST


def test_every_folder_of_modules_is_a_package():
    folders = {path.parent for path in (ROOT / "report").rglob("*.py")}
    assert not [folder for folder in folders if not (folder / "__init__.py").is_file()]


def test_the_source_distribution_makes_the_same_wheel(wheel, tmp_path):
    archive = built("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    assert [name for name in tracked("tests", "training") if not (source / name).is_file()] == []
    again = built("wheel", source, tmp_path / "wheel")
    assert (again.name, names(again)) == (wheel.name, names(wheel))


@pytest.fixture(scope="module")
def program(wheel, tmp_path_factory):
    """The command of an environment that holds the wheel, and finds beside it what it depends on.

    Those packages are the tests' own. The repository is not among them, as a folder that is named
    in a .pth file has its own .pth files ignored. The model is a small one, texts are short and
    figures few: every command takes seconds.
    """
    folder = tmp_path_factory.mktemp("environment")
    call([sys.executable, "-m", "venv", "--without-pip", folder], ROOT)
    (packages,) = folder.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python"]
    install = [*pip, "install", "--quiet", "--no-deps", "--no-index", wheel]
    assert call(install, ROOT)[0] == 0
    (own,) = (path for path in sys.path if (Path(path) / "transformers").is_dir())
    (packages / "others.pth").write_text(own)
    _make_small(packages / "report")
    return folder / "bin" / NAME


def package(command):
    """The folder of the package that a command belongs to."""
    (found,) = command.parents[1].glob("lib/python*/site-packages/report")
    return found


def _make_small(package):
    shutil.rmtree(package / "embedded" / "falcon-8x8")
    random_falcon(num_hidden_layers=4).save_pretrained(package / "embedded" / "falcon-8x8")
    byte_level_tokenizer().save_pretrained(package / "embedded" / "falcon-8x8")
    shipped = package / "inputs" / "shipped"
    (shipped / "passages" / "the-lamp-on-the-hill.md").write_text(SENTENCE)
    for text in sorted((shipped / "corpus").glob("*.md"))[2:]:
        text.unlink()
    prompts = (shipped / "prompts" / "arithmetic.md").read_text().splitlines(keepends=True)
    few = prompts.index("---\n", 1) + 4
    (shipped / "prompts" / "arithmetic.md").write_text("".join(prompts[:few]))
    article = package / "kinds" / "passage" / "new.md.j2"
    article.write_text(article.read_text().partition("\n## All heads")[0] + "\n")
    pair = package / "kinds" / "pair" / "new.md.j2"  # whose tokens are words; here they are bytes
    pair.write_text(pair.read_text().replace('" hill"', '"hill"').replace('" road"', '"road"'))


def test_a_publication_is_made_built_checked_and_frozen_without_the_repository(program, tmp_path):
    def run(*arguments, folder=tmp_path / "my-words", **variables):
        code, said = call([program, *arguments], folder, **variables)
        assert str(ROOT) not in said
        return code, said

    code, said = run("site", folder=tmp_path)
    assert (code, said.count("\n")) == (2, 1)
    assert f"`{NAME} new my-publication`" in said
    code, said = run("new", "my-words", folder=tmp_path)
    assert code == 0
    assert f"`cd my-words`, then `{NAME} site`" in said
    tiny_models.save("llama", tmp_path / "tiny")
    code, said = run("site", "--model", tmp_path / "tiny", SITE_URL="https://ann.github.io/words/")
    assert code == 0, said
    built_said = said
    page = tmp_path / "my-words" / "site" / "articles" / "first-look" / "index.html"
    assert page.read_text("utf-8").count('<figure class="live-figure') >= 2
    code, said = run("check")
    assert (code, said.startswith("site: all right (")) == (0, True), said
    assert "`author` still says" in built_said
    code, said = run("publish", "--remote", tmp_path)
    assert (code, "articles/first-look/ still says" in said) == (1, True), said
    code, said = run("new", "again")
    assert (code, f"`{NAME} site --study again`" in said) == (0, True)
    code, said = run("freeze", "--study", "first-look", "--model", tmp_path / "tiny")
    assert (code, len(list((tmp_path / "my-words" / "frozen" / "first-look").iterdir()))) == (0, 1)
    assert run("--version") == (0, f"{__version__}\n")


def test_the_documentation_shows_these_commands(wheel, tmp_path):
    (start,) = (block for block in blocks("how-to/install", "sh") if f"{NAME} check" in block)
    shown = re.findall(rf"^{NAME} (.*)$", start, re.MULTILINE)
    assert shown == ["new my-words", "site", "check", "serve"]
    asked = f"install --find-links dist '{NAME}[measure]'"
    assert f"pip {asked}" in blocks("tutorial", "sh")[0]
    assert f"pip {asked}\n" in blocks("how-to/install", "sh")[0]
    shutil.copytree(wheel.parent, tmp_path / "dist")
    pip = [sys.executable, "-m", "pip", *shlex.split(asked), "--no-index", "--no-deps"]
    code, said = call([*pip, "--target", tmp_path / "into"], tmp_path)
    assert code == 0, said
    assert (tmp_path / "into" / "report" / "mkdocs.yml").is_file()


PAGES = [ROOT / "README.md", ROOT / "CLUSTER.md", DOCS.parent / "about.md"]
PAGES += [DOCS / f"{page}.md" for page in WRITTEN]
ELSEWHERE = {"tutorial": "tests/cli/test_tutorial.py", "figures": "tests/site/test_domain.py"}
"""Page -> the file that runs its code, with more around it."""

SERVING = f"""
{NAME}() {{
    if [ "$1" != serve ] && [ "$1" != explore ]; then command {NAME} "$@"; return; fi
    command {NAME} "$@" --port "$PORT" >served 2>&1 & local pid=$!
    until grep -q "http://" served; do kill -0 $pid || {{ cat served; return 1; }}; sleep 0.2; done
    kill $pid; wait $pid || [ $? = 143 ]
}}
set -e
"""
"""Before every script: what serves ends as soon as it does."""


@pytest.fixture(scope="module")
def written(program, tmp_path_factory):
    """A publication as the page about installing makes it, and beside it a copy, not touched."""
    folder = tmp_path_factory.mktemp("reader")
    (start,) = (block for block in blocks("how-to/install", "sh") if f"{NAME} check" in block)
    code, said = _followed(program, start, folder)
    assert code == 0, said
    RUN.add(start)
    shutil.copytree(folder / "my-words", folder / "fresh")
    return folder / "my-words"


RUN = set()
"""What two pages show alike, from the start, is run once."""


def _followed(program, code, folder):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    return call(
        ["bash", "-c", SERVING + code],
        folder,
        PATH=path,
        PORT=port,
        XDG_CACHE_HOME=str(folder / ".cache"),
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_the_documentation_shows_is_run_as_a_reader_does(page, written, program, tmp_path):
    """Installed, outside the repository; in a publication of its own, since what other pages add to
    theirs would be measured here again, or in a folder with nothing in it."""
    publication = shutil.copytree(written.with_name("fresh"), tmp_path / "own" / "my-words")
    for folder, model in ((publication, "path/to/checkpoint"), (tmp_path, "my-model")):
        (folder / "my-text.txt").write_text(SENTENCE)
        shutil.copytree(
            package(program) / "embedded" / "falcon-8x8", folder / model, dirs_exist_ok=True
        )
    python = ""
    for language, code, reason in commands(page):
        if reason or page.stem in ELSEWHERE:
            print(f"{page.name}: not run here: {reason or ELSEWHERE[page.stem]}: {code}")
            assert page.stem in ELSEWHERE or re.search(NOT_RUN[reason], code), code
            continue
        if language == "python":
            python += code
        elif code not in RUN:
            starts = f"{NAME} new my-words" in code
            inside = not starts and not (tmp_path / "my-words").exists()
            done, said = _followed(program, code, publication if inside else tmp_path)
            assert done == 0, (code, said)
            RUN.update([code] if starts else [])
    if python:
        command = [program.with_name("python"), "-c", python]
        done, said = call(command, tmp_path, XDG_CACHE_HOME="c")
        assert done == 0, said


PIP = f'pip() {{ {sys.executable} -m pip "$@" --quiet --dry-run --no-deps --no-index; }}\n'
"""Before a script: pip says whether it would install that."""


def test_the_readme_of_a_publication_is_run_as_it_is(wheel, written, program, tmp_path):
    """Only what it says is to be put there is."""
    publication = shutil.copytree(written.with_name("fresh"), tmp_path / "my-words")
    text = (publication / "README.md").read_text("utf-8")
    shown = "".join(re.findall(r"^    (.*\n)", text, re.MULTILINE))
    assert ADDRESS in shown and {"pip", NAME} == {line.split()[0] for line in shown.splitlines()}
    shown = PIP + shown.replace(ADDRESS, wheel.as_uri())
    code, said = _followed(program, shown, publication)
    assert code == 0, said
