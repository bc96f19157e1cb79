"""A model by its hub id, as a reader asks for it, the hub a stand-in.

What the environment says is read by a process of its own; other commands run in this one.
"""

import json

import pytest

from tests.commands import contents, report
from tests.models.hub_server import TOKEN, Repository, hub_in_place
from tests.themed import write_themed

COMMIT = "5eed" * 10
NAME = "someone/tiny"


@pytest.fixture
def home(tmp_path):
    """Where huggingface_hub keeps what it downloads, and who is logged in."""
    return tmp_path / "home"


@pytest.fixture
def hub(falcon_folder, monkeypatch, home):
    with hub_in_place(monkeypatch, home) as hub:
        hub.repositories[NAME] = Repository({COMMIT: falcon_folder}, {"main": COMMIT}, gated=True)
        yield hub


@pytest.fixture
def project(tmp_path):
    return write_themed(tmp_path / "project", "small")


@pytest.fixture
def ask(hub, home, project):
    """A function that runs a command on the small article and the model of the stand-in."""
    places = {"HF_ENDPOINT": hub.url, "HF_HOME": str(home), "NO_PROXY": "127.0.0.1"}

    def ask(command, *options, process=False, **variables):
        variables = {"HF_TOKEN": ""} | (places if process else {}) | variables
        usual = ("--project", project, "--model", NAME, "--passage", project / "passage.md")
        return report(command, *usual, *options, process=process, **variables)

    return ask


def test_a_gated_model_is_measured_once_one_is_logged_in_and_the_token_goes_nowhere(
    hub, ask, project
):
    refused = ask("measure")
    assert refused.returncode == 1
    assert f"error: '{NAME}' is gated: accept its licence on " in refused.stderr
    done = ask("measure", "--layers", "0-1", process=True, HF_TOKEN=TOKEN)
    assert done.returncode == 0, done.stderr
    assert f"{NAME} at {COMMIT[:7]}: downloading 0.2 MB (weights: 1 of 1 files, " in done.stderr
    assert TOKEN not in refused.stderr + done.stderr + done.stdout
    files = contents(project)
    assert not [name for name, content in files.items() if TOKEN.encode() in content]
    assert json.loads(files["models.lock.json"]) == {NAME: COMMIT}
    asked = len(hub.requests)
    again = ask("measure", "--layers", "2")
    assert "unchanged, not measured again" in again.stderr
    assert len(hub.requests) == asked


def test_offline_says_so(ask):
    done = ask("measure", process=True, HF_HUB_OFFLINE="1")
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


@pytest.mark.promise("hub-token")
@pytest.mark.parametrize(
    ("given", "command", "made", "failing"),
    [
        (in_environment, "site", "site/", 401),
        (in_file, "render", "site_src/articles/", 500),
    ],
)
def test_a_token_is_in_nothing_that_a_build_says_or_writes(
    hub, ask, tmp_path, home, given, command, made, failing, capfd
):
    variables = given(home)
    done = ask(command, "--layers", "1", **variables)
    assert done.returncode == 0, done.stderr
    hub.failing = failing
    failed = ask("measure", "--model", "someone/else", **variables)
    assert failed.returncode == 1
    shown = "".join(each.stdout + each.stderr for each in (done, failed))
    shown += "".join(capfd.readouterr())  # what libraries say past the command
    assert "Traceback" not in shown
    assert TOKEN not in shown
    own = {"home/token", "home/stored_tokens"}
    files = contents(tmp_path)
    assert own - files.keys() in (set(), own)
    assert any(name.startswith(f"project/{made}") for name in files)
    assert [n for n, content in files.items() if TOKEN.encode() in content and n not in own] == []
