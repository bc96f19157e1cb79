"""Layers of models that have fewer: refused before weights are read, or the whole model taken."""

import json

import pytest
from huggingface_hub import constants

from report.errors import ReportError
from report.measuring import plan, run
from report.measuring.settings import measuring_settings
from report.models.find import hub, weights
from report.models.find.names import Size, Source, size_of
from report.project import Project
from report.study.study import read_study

FRONT = "title: T\ndate: 2026-01-02\nauthor: A\nsummary: S\n"


@pytest.fixture
def asked(tmp_path):
    """A function from lines of front matter to the study."""

    def write(lines):
        path = tmp_path / "templates" / "articles" / "a.md.j2"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\n{FRONT}{lines}\n---\n")
        return read_study(path)

    return write


@pytest.mark.parametrize("layers", ["0-8", "400"])
@pytest.mark.parametrize(
    ("models", "told"),
    [
        ("model: falcon-8x8", "model 'falcon-8x8' has 8 layers"),
        ("model: qwen2-5x28", "model 'qwen2-5x28' has 5 layers"),
        ("models: [falcon-8x8, qwen2-5x28]", "the models have at most 8 layers"),
    ],
)
def test_layers_beyond_a_model_are_told_before_any_is_measured(
    asked, tmp_path, monkeypatch, layers, models, told
):
    monkeypatch.setattr(weights, "weights_sha256", lambda *_: pytest.fail("weights were read"))
    study = asked(f"{models}\nlayers: {layers}")
    with pytest.raises(ReportError, match=rf"a\.md\.j2, line 7: {told}"):
        run.datasets(study, Project(tmp_path), lambda *_: None)


@pytest.mark.parametrize(("layers", "measured"), [(4, [4, 4]), (5, [5, None]), (6, [6, None])])
def test_of_several_models_one_that_has_no_more_is_measured_whole(
    asked, tmp_path, layers, measured
):
    study = asked(
        f"models: [falcon-8x8, qwen2-5x28]\nlayers: {layers}\npassage: the-lamp-on-the-hill"
    )
    chosen = plan.plans(study, Project(tmp_path), run.read(study), ask=False)
    assert [each.settings["layers"] for each in chosen] == measured


def test_what_is_not_known_of_a_model_that_is_gone_counts_as_it_was_measured(asked):
    wanted = asked("models: [falcon-8x8, qwen2-5x28]\nlayers: 6").front_matter
    for before, expected in ((None, 6), ({"layers": 6}, 6), ({"layers": None}, None)):
        settings = measuring_settings(wanted, Source("gone", "folder"), before)
        assert settings["layers"] == expected


def test_the_largest_of_an_article_is_known_before(asked, tmp_path):
    def largest(lines):
        return run.largest(asked(lines), Project(tmp_path))

    assert largest("model: falcon-8x8") == {"layers": 8, "heads": 8}
    assert largest("model: falcon-8x8\nlayers: 3") == {"layers": 3, "heads": 8}
    assert largest("models: [falcon-8x8, qwen2-5x28]") == {"layers": 8, "heads": 28}
    assert largest("models: [falcon-8x8, nobody/nothing]") == {"layers": None, "heads": None}


@pytest.mark.parametrize(
    ("config", "size"),
    [
        ({"n_layer": 2, "n_head": 4}, Size(2, 4)),
        ({"text_config": {"num_hidden_layers": 7}, "num_hidden_layers": 3}, Size(7)),
        ({"num_hidden_layers": "4", "num_heads": True}, Size()),
        ({"num_hidden_layers": -4, "num_heads": [4]}, Size()),
        ([1], Size()),
        (5, Size()),
        ({"text_config": 5}, Size()),
    ],
)
def test_a_size_is_what_the_config_states_or_not_known(tmp_path, config, size):
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert size_of(Source("a", "folder", tmp_path)) == size


def test_what_is_no_config_says_nothing(tmp_path):
    assert size_of(Source("a", "folder", tmp_path)) == Size()
    assert size_of(Source("a/b", "hub")) == Size()
    (tmp_path / "config.json").write_bytes(b"\xff[[")
    assert size_of(Source("a", "folder", tmp_path)) == Size()


def test_a_model_on_the_hub_is_known_once_its_config_is_here(asked, tmp_path, monkeypatch):
    commit = "0123456789" * 4
    cache = tmp_path / "cache"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(hub.HfApi, "model_info", lambda *_, **__: pytest.fail("the hub was asked"))

    def largest(name):
        return run.largest(asked(f"model: {name}"), Project(tmp_path))

    assert largest(f"someone/big@{commit}") == {"layers": None, "heads": None}
    config = cache / "models--someone--big" / "snapshots" / commit / "config.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"num_hidden_layers": 30, "num_attention_heads": 9}))
    assert largest(f"someone/big@{commit}") == {"layers": 30, "heads": 9}
    assert largest("someone/big") == {"layers": None, "heads": None}  # its commit is not known yet
