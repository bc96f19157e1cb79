"""A model by its hub id, as a reader asks for it: in a process of its own, the hub a stand-in."""

import json

import pytest

from tests.commands import contents, report
from tests.models.hub_server import TOKEN, Repository, running_hub
from tests.themed import write_themed

COMMIT = "5eed" * 10
NAME = "someone/tiny"


@pytest.fixture
def hub(falcon_folder):
    with running_hub() as hub:
        hub.repositories[NAME] = Repository({COMMIT: falcon_folder}, {"main": COMMIT}, gated=True)
        yield hub


@pytest.fixture
def measure(hub, tmp_path):
    """A function that measures the small article on the model of the stand-in."""
    project = write_themed(tmp_path / "project", "small")
    places = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), "NO_PROXY": "127.0.0.1"}

    def measure(*options, **variables):
        variables = {"HF_TOKEN": ""} | variables
        usual = ("--project", project, "--model", NAME, "--passage", project / "passage.md")
        return report("measure", *usual, *options, process=True, **places, **variables)

    measure.project = project
    return measure


def test_a_gated_model_is_measured_once_one_is_logged_in_and_the_token_goes_nowhere(hub, measure):
    refused = measure()
    assert refused.returncode == 1
    assert f"error: '{NAME}' is gated: accept its licence on " in refused.stderr
    done = measure("--layers", "0-1", HF_TOKEN=TOKEN)
    assert done.returncode == 0, done.stderr
    assert f"{NAME} at {COMMIT[:7]}: downloading 0.2 MB (weights: 1 of 1 files, " in done.stderr
    assert TOKEN not in refused.stderr + done.stderr + done.stdout
    files = contents(measure.project)
    assert not [name for name, content in files.items() if TOKEN.encode() in content]
    assert json.loads(files["models.lock.json"]) == {NAME: COMMIT}
    asked = len(hub.requests)
    again = measure("--layers", "2")
    assert "unchanged, not measured again" in again.stderr
    assert len(hub.requests) == asked


def test_offline_says_so(measure):
    done = measure(HF_HUB_OFFLINE="1")
    assert done.returncode == 1
    (said,) = done.stderr.strip().splitlines()
    assert said.startswith(
        f"error: --model: '{NAME}' is not on this machine, and HF_HUB_OFFLINE forbids"
    )


def in_environment(home):
    return {"HF_TOKEN": TOKEN}


def in_file(home):
    home.mkdir(exist_ok=True)
    (home / "token").write_text(TOKEN)
    (home / "stored_tokens").write_text(f"[mine]\nhf_token = {TOKEN}\n")
    return {"HF_TOKEN": ""}


@pytest.mark.parametrize(
    ("given", "command", "made", "failing"),
    [
        (in_environment, "site", "site/", 401),
        (in_file, "render", "site_src/articles/", 500),
    ],
)
def test_a_token_is_in_nothing_that_a_build_says_or_writes(
    hub, tmp_path, given, command, made, failing
):
    home, project = tmp_path / "home", write_themed(tmp_path / "project", "small")
    places = {"HF_ENDPOINT": hub.url, "HF_HOME": str(home), "NO_PROXY": "127.0.0.1"}
    options = ("--project", project, "--model", NAME, "--passage", project / "passage.md")
    variables = {"process": True} | places | given(home)
    done = report(command, *options, "--layers", "1", **variables)
    assert done.returncode == 0, done.stderr
    hub.failing = failing
    failed = report("measure", *options, "--model", "someone/else", **variables)
    assert failed.returncode == 1
    shown = "".join(each.stdout + each.stderr for each in (done, failed))
    assert "Traceback" not in shown
    assert TOKEN not in shown
    own = {"home/token", "home/stored_tokens"}
    files = contents(tmp_path)
    assert own - files.keys() in (set(), own)
    assert any(name.startswith(f"project/{made}") for name in files)
    assert [n for n, content in files.items() if TOKEN.encode() in content and n not in own] == []
