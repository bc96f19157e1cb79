"""Models of Ollama's, in a store made up here."""

import json
import shutil

import pytest

from report.models.find import names, ollama
from report.models.load.load import load_model
from tests.fuzz.refusals import tried
from tests.models import tiny_tokenizers
from tests.models.gguf.written import Written, saved, tiny

DIGEST = "ab" * 32
MODEL = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{DIGEST}"}
TEMPLATE = {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:" + "0" * 64}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    return Written(saved(tiny("llama"), tiny_tokenizers.llama2(), folder / "tiny"), "Q4_0").to(
        folder / "tiny.gguf"
    )


@pytest.fixture
def store(tmp_path, monkeypatch):
    """An empty store, the only one on this machine."""
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "store"))
    (tmp_path / "store" / "blobs").mkdir(parents=True)
    return tmp_path / "store"


def pull(store, place, layers, blob=None):
    """What `ollama pull` leaves."""
    path = store / "manifests" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(layers if isinstance(layers, str) else json.dumps({"layers": layers}))
    if blob:
        shutil.copy(blob, store / "blobs" / f"sha256-{DIGEST}")


@pytest.mark.parametrize(
    ("place", "named", "again"),
    [
        ("registry.ollama.ai/library/tiny/latest", "tiny", "tiny:latest"),
        ("registry.ollama.ai/library/tiny/135m-q4_0", "tiny:135m-q4_0", "tiny:135m-q4_0"),
        ("registry.ollama.ai/somebody/tiny/latest", "somebody/tiny", "somebody/tiny:latest"),
        (
            "hf.co/somebody/tiny-GGUF/Q4_0",
            "hf.co/somebody/tiny-GGUF:Q4_0",
            "hf.co/somebody/tiny-GGUF:Q4_0",
        ),
    ],
)
def test_names_lead_to_the_file(store, file, place, named, again):
    pull(store, place, [TEMPLATE, MODEL], file)
    source = names.find(f"ollama:{named}")
    assert source.folder == store / "blobs" / f"sha256-{DIGEST}"
    assert (source.name, source.command_name) == ("Tiny Model", f"ollama:{again}")
    assert names.find(source.command_name) == source
    assert names.is_here(f"ollama:{named}")


def test_a_model_of_ollamas_is_measured_like_its_file(store, file):
    pull(store, "registry.ollama.ai/library/tiny/latest", [MODEL], file)
    ours, theirs = load_model("ollama:tiny", device="cpu"), load_model(file, device="cpu")
    assert ours.weights_sha256 == theirs.weights_sha256
    assert ours.identity == theirs.identity


@pytest.mark.promise("gguf")
@pytest.mark.parametrize(
    ("layers", "said"),
    [
        ("{", "cannot be read"),
        ('{"layers": 5}', "cannot be read"),
        ("[" * 10**5, "cannot be read"),
        (" " * (2 << 20), "cannot be read"),
        ([MODEL | {"digest": "sha256:../../../etc/passwd"}], "cannot be read"),
        ([TEMPLATE], "0 files of weights"),
        ([MODEL, MODEL], "2 files of weights"),
        (
            [MODEL, {**MODEL, "mediaType": "application/vnd.ollama.image.adapter"}],
            "an adapter beside it",
        ),
        ([MODEL], "is missing"),
    ],
)
def test_what_ollama_says_is_not_believed(store, layers, said):
    pull(store, "registry.ollama.ai/library/tiny/latest", layers)
    assert said in tried(names.find, "ollama:tiny")[1]


def test_a_model_that_was_not_pulled_is_told_from_those_that_were(store, file):
    pull(store, "registry.ollama.ai/library/tiny/latest", [MODEL], file)
    said = tried(names.find, "ollama:tinny")[1]
    assert "Ollama has no model 'tinny'" in said
    assert "it has tiny:latest" in said
    assert not names.is_here("ollama:tinny")


@pytest.mark.promise("gguf")
@pytest.mark.parametrize(
    "name", ["", "../x", "a/../b", "a:b:c", "/etc/passwd", "a//b", "x\0", "a b", "-x", "a/b/c/d"]
)
def test_names_lead_nowhere_else(store, name):
    assert "no name of a model of Ollama's" in tried(names.find, f"ollama:{name}")[1]


def test_a_user_without_a_folder_of_their_own_has_no_model(monkeypatch):
    monkeypatch.setenv("OLLAMA_MODELS", "~nobody-here/models")
    assert not names.is_here("ollama:tinny")


def test_usual_folders_are_looked_through(tmp_path, monkeypatch):
    monkeypatch.delenv("OLLAMA_MODELS", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    first, second = ollama.folders()
    assert first == tmp_path / ".ollama" / "models"
    assert str(second) == "/usr/share/ollama/.ollama/models"
