"""What a site holds, and a user's settings of git, change no file on its way to the branch."""

import pytest

from report.errors import ReportError
from report.site.push import SETTINGS, push
from report.site.sums import write_sums
from tests.commands import with_added
from tests.site.test_build import (  # noqa: F401
    arrived,
    bare,
    git,
    home,
    project,
    site,
)

pytestmark = pytest.mark.promise("publish-exactly")

ATTRIBUTES = {
    "ends of lines": "* text eol=crlf",
    "lines by their content": "* text=auto",
    "an id": "* ident",
    "an encoding": "*.txt working-tree-encoding=UTF-16",
    "a filter": "* filter=loud",
    "a macro": "[attr]mine filter=loud text\n* mine",
}
"""What a file .gitattributes may say."""


@pytest.fixture
def settings(home, tmp_path):  # noqa: F811
    """A function that adds to the user's settings of git."""

    def add(text):
        with (tmp_path / "home" / ".gitconfig").open("a") as file:
            file.write(text)

    return add


@pytest.mark.parametrize("folder", ["", "a/"])
@pytest.mark.parametrize("attributes", ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_attributes_in_a_site_change_no_file(site, project, bare, settings, attributes, folder):  # noqa: F811
    settings('[filter "loud"]\n clean = tr a-z A-Z\n required = true\n')
    (site / folder / "text.txt").write_bytes("two\r\nlines, $Id: of an ü$\n".encode("utf-16"))
    (site / folder / "lines.txt").write_bytes(b"two\r\nlines, $Id: 1 $\n")
    (site / folder / ".gitattributes").write_text(f"{attributes}\n")
    write_sums(site)
    push(site, project)
    assert arrived(bare) == with_added(site, {".nojekyll": b""})


def test_names_that_differ_in_case_alone_arrive(site, project, bare, settings):  # noqa: F811
    settings("[core]\n ignoreCase = true\n precomposeUnicode = true\n")
    for name in ("A.txt", "a.txt", "\u00e9", "e\u0301"):
        (site / name).write_text(name)
    write_sums(site)
    push(site, project)
    assert arrived(bare).keys() > {"A.txt", "a.txt", "\u00e9", "e\u0301"}


@pytest.mark.parametrize(
    "unusual",
    [
        "[push]\n recurseSubmodules = only\n",
        "[push]\n pushOption = ci.skip\n followTags = true\n default = nothing\n",
        '[remote "pages"]\n url = /elsewhere\n pushurl = /elsewhere\n mirror = true\n',
    ],
)
def test_settings_do_not_keep_a_site_from_where_it_is_said_to_go(
    site,  # noqa: F811
    project,  # noqa: F811
    bare,  # noqa: F811
    settings,
    unusual,
):
    settings(unusual)
    done = push(site, project)
    assert (done.changed, done.remote) == (True, str(bare))
    assert git(bare, "rev-parse", "gh-pages") == done.commit


def test_a_push_that_pushed_nothing_is_told(site, project, bare, settings, monkeypatch):  # noqa: F811
    monkeypatch.delitem(SETTINGS, "push.recurseSubmodules")
    settings("[push]\n recurseSubmodules = only\n")
    with pytest.raises(ReportError, match="it pushed nothing to refs/heads/gh-pages of /"):
        push(site, project)
    assert git(bare, "for-each-ref") == ""
