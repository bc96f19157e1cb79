"""The list of a site's files: the build writes it, and whatever changes later is noticed."""

import os
import random
import subprocess

import pytest

from report.errors import ReportError
from report.site import sums
from report.site.build import BUILDERS
from report.site.check import check_site
from tests.commands import contents
from tests.site import small_site
from tests.site.small_site import damaged

SEED = 20261122

TIMES = 100
"""Damages of the site of each of the two builders."""


@pytest.fixture(scope="module", params=list(BUILDERS))
def site(request, unmeasured):
    """A site as each builder makes it. Tests put back what they change."""
    return unmeasured(request.param)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small site, as the build would leave it. Tests put back what they change."""
    return small_site.write(tmp_path_factory.mktemp("small") / "site")


@pytest.mark.promise("site-sums")
def test_the_list_has_the_sum_of_every_file_but_itself(site):
    """As another program reads it, and sorted."""
    listed = (site / sums.NAME).read_text().splitlines()
    names = [line.split("  ", 1)[1] for line in listed]
    assert names == sorted(contents(site).keys() - {sums.NAME})
    assert len(names) > 80
    command = ["sha256sum", "--check", "--strict", "--quiet", sums.NAME]
    done = subprocess.run(command, cwd=site, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert sums.problems(site) == []
    assert check_site(site)["pages"] >= 7


@pytest.mark.promise("check-damage")
def test_every_flipped_bit_and_every_deleted_file_is_noticed(site):
    """In any file, the list included."""
    chance = random.Random(SEED)
    names = sorted(contents(site))
    missed = []
    for _ in range(TIMES):
        name = chance.choice(names)
        with damaged(site / name, chance.choice(("flip", "delete")), chance) as what:
            told = sums.problems(site)
            # a damaged sum is told of the file that it is of
            if name != sums.NAME:
                told = [problem for problem in told if problem.startswith(f"{name}: ")]
            if not told:
                missed.append(what)
    assert missed == []
    assert sums.problems(site) == []


@pytest.mark.promise("check-damage")
@pytest.mark.parametrize("way", ["flip", "delete"])
def test_the_check_itself_names_a_damaged_file_of_any_kind(small, way):
    chance = random.Random(SEED)
    kinds = {name.rpartition(".")[2]: name for name in contents(small) if name != sums.NAME}
    assert kinds.keys() >= {"html", "js", "css", "json", "svg", "xml", "gz", "txt"}
    for name in kinds.values():
        with damaged(small / name, way, chance) as what:
            with pytest.raises(ReportError) as caught:
                check_site(small)
            assert f"  {name}: is " in str(caught.value), what
    assert check_site(small)


@pytest.fixture
def folder(tmp_path):
    """Three files and their list."""
    for name, text in {"a.txt": "a", "b/c.txt": "c", "index.html": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    sums.write_sums(tmp_path)
    return tmp_path


def listed(folder):
    return (folder / sums.NAME).read_bytes()


@pytest.mark.promise("check-list")
def test_files_that_are_there_and_not_listed_or_listed_and_not_there_are_told(folder):
    (folder / "b/c.txt").rename(folder / "b/d.txt")
    (folder / ".hidden").touch()
    (folder / "b" / sums.NAME).touch()  # only the list at the top has no sum
    (folder / "a.txt").write_text("b")
    assert sums.problems(folder) == [
        ".hidden: is in the site, but not in SHA256SUMS",
        "a.txt: is not the file that was built",
        "b/SHA256SUMS: is in the site, but not in SHA256SUMS",
        "b/c.txt: is in SHA256SUMS, but not in the site",
        "b/d.txt: is in the site, but not in SHA256SUMS",
    ]


@pytest.mark.promise("check-list")
def test_a_missing_list_is_one_problem(folder):
    (folder / sums.NAME).unlink()
    (problem,) = sums.problems(folder)
    assert problem.startswith("SHA256SUMS: is missing")
    (folder / sums.NAME).mkdir()
    (problem,) = sums.problems(folder)
    assert problem == "SHA256SUMS: cannot be read (Is a directory)"


@pytest.mark.promise("check-list")
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: b"", "a.txt: is in the site, but not in SHA256SUMS"),
        (lambda text: text[:-20], "index.html: is in the site, but not in SHA256SUMS"),
        (lambda text: text[:-1], "SHA256SUMS: its lines are not as the build wrote them"),
        (lambda text: text * 2, "SHA256SUMS: its lines are not as the build wrote them"),
        (lambda text: text.upper(), "SHA256SUMS: line 1 is not a SHA-256 sum and a name"),
        (lambda text: text.replace(b"\n", b"\r\n"), "a.txt: is in the site, but not in SHA256SUMS"),
        (lambda text: b"\xff\0" + text, "SHA256SUMS: line 1 is not a SHA-256 sum and a name"),
        (lambda text: text.replace(b"b/c", b"../"), "../.txt: is in SHA256SUMS, but not in the"),
    ],
)
def test_a_damaged_list_is_told(folder, damage, said):
    (folder / sums.NAME).write_bytes(damage(listed(folder)))
    assert any(line.startswith(said) for line in sums.problems(folder)), sums.problems(folder)


NAMES = ["two\nlines", "a\\nb", "c\rd", " spaces ", "*star", "ümlaut", "\\", "a  b"]


def test_names_of_any_characters_are_listed_as_other_programs_read_them(tmp_path):
    for name in (*map(os.fsencode, NAMES), b"not \xff utf-8"):
        (tmp_path / os.fsdecode(name)).write_bytes(name)
    sums.write_sums(tmp_path)
    assert sums.problems(tmp_path) == []
    command = ["sha256sum", "--check", "--strict", "--quiet", sums.NAME]
    assert subprocess.run(command, cwd=tmp_path).returncode == 0
    for path in sorted(tmp_path.iterdir()):
        if path.name != sums.NAME:
            with damaged(path, "delete", random.Random(0)):
                (problem,) = sums.problems(tmp_path)
                assert problem == f"{path.name}: is in SHA256SUMS, but not in the site"


def test_what_is_no_file_is_not_published(folder):
    (folder / "link").symlink_to("a.txt")
    assert sums.problems(folder) == ["link: is a link or a device, not a file"]
    with pytest.raises(ReportError, match="link: is a link or a device, not a file; take it out"):
        sums.write_sums(folder)
