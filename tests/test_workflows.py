"""The workflows: actions pinned by commit, rights no wider than needed, steps in their order."""

import os
import re
import subprocess

import pytest
import yaml

from tests.commands import ROOT

STARTER = ROOT / "templates" / "publication" / "pages.yml"
"""The workflow that a new publication gets."""
WORKFLOWS = [*sorted((ROOT / ".github" / "workflows").glob("*.yml")), STARTER]
PAGES = ROOT / ".github" / "workflows" / "pages.yml"
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def workflow(path):
    return yaml.safe_load(path.read_text("utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_its_commit_and_says_which_version_that_is(path):
    used = re.findall(r"uses:\s*(.*)", path.read_text("utf-8"))
    assert len(used) >= 2
    assert [each for each in used if not PINNED.fullmatch(each.strip())] == []


def test_an_action_has_the_same_commit_everywhere():
    texts = "".join(path.read_text("utf-8") for path in WORKFLOWS)
    used = {*re.findall(r"uses:\s*(\S+)@(\w+)", texts)}
    assert len(used) == len({name for name, _ in used})


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_read_and_nothing_else(path):
    found = workflow(path)
    assert found["permissions"] == {"contents": "read"}
    for name, job in found["jobs"].items():
        rights = {"pages": "write", "id-token": "write"} if name == "deploy" else None
        assert job.get("permissions") == rights
        assert job["timeout-minutes"] <= 90


@pytest.mark.parametrize("path", [PAGES, STARTER])
def test_only_the_main_branch_is_published(path):
    found = workflow(path)
    triggers = found[True]  # YAML reads `on` as a truth value
    assert triggers == {"push": {"branches": ["main"]}, "workflow_dispatch": None}
    assert found["concurrency"]["cancel-in-progress"] is False


@pytest.mark.parametrize(
    ("path", "commands"),
    [
        (PAGES, [".ci/where", "make site", "make check"]),
        (STARTER, ["url=", "attention-focus-plots site", "attention-focus-plots check"]),
    ],
)
def test_what_is_published_was_built_and_checked_before(path, commands):
    jobs = workflow(path)["jobs"]
    steps = [step.get("run") or step["uses"].partition("@")[0] for step in jobs["build"]["steps"]]
    order = [*commands, "actions/upload-pages-artifact"]
    places = [next(i for i, s in enumerate(steps) if s.startswith(each)) for each in order]
    assert places == sorted(places)
    assert jobs["build"]["steps"][places[3]]["with"] == {"path": "site"}
    assert jobs["deploy"]["needs"] == "build"
    assert [step["uses"].partition("@")[0] for step in jobs["deploy"]["steps"]] == [
        "actions/deploy-pages"
    ]
    assert not any(step.get("continue-on-error") for job in jobs.values() for step in job["steps"])


def test_nothing_from_outside_is_pasted_into_a_command():
    for path in WORKFLOWS:
        for job in workflow(path)["jobs"].values():
            assert not [s for s in job["steps"] if "${{" in s.get("run", "")]


def where(folder, **variables):
    """What the step says that finds out where the site will be."""
    done = subprocess.run(
        [folder / ".ci" / "where"],
        env={"PATH": os.environ["PATH"], "OWNER": "You", "REPOSITORY": "Repo"} | variables,
        capture_output=True,
        text=True,
    )
    return done.returncode, dict(line.split("=", 1) for line in done.stdout.splitlines())


@pytest.fixture
def clone(tmp_path):
    (tmp_path / ".ci").mkdir()
    script = tmp_path / ".ci" / "where"
    script.write_bytes((ROOT / ".ci" / "where").read_bytes())
    script.chmod(0o755)
    for name in ("one", "two"):
        article = tmp_path / "templates" / "articles" / f"{name}.md.j2"
        article.parent.mkdir(parents=True, exist_ok=True)
        article.write_text("", "utf-8")
    return tmp_path


def test_the_address_is_that_of_the_repository_unless_one_is_chosen(clone):
    assert where(clone)[1]["url"] == "https://you.github.io/Repo/"
    assert where(clone, REPOSITORY="You.github.io")[1]["url"] == "https://you.github.io/"
    chosen = where(clone, CHOSEN="https://plots.example.org/")
    assert chosen[1]["url"] == "https://plots.example.org/"
    assert where(clone, CHOSEN="https://a.org/\nmeasure=no")[0] == 1


def test_nothing_is_measured_where_every_article_is_frozen(clone):
    assert where(clone)[1]["measure"] == "yes"
    answers = clone / "frozen" / "two" / "123456789abc" / "manifest.json"
    answers.parent.mkdir(parents=True)
    answers.write_text('{"schema":"manifest/1","kind":"answers"}', "utf-8")
    for name, measured in (("one", "yes"), ("two", "no")):
        manifest = clone / "frozen" / name / "0123456789ab" / "manifest.json"
        manifest.parent.mkdir(parents=True)
        manifest.write_text("{}", "utf-8")
        assert where(clone)[1]["measure"] == measured
