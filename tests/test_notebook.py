"""In a notebook: the three lines of README.md, frames that equal the datasets, charts with data."""

import shlex
import subprocess
import sys

import altair
import numpy as np
import pytest

import report
from report.datasets import store
from report.errors import ReportError
from report.notebook import figure, measure
from tests.commands import ROOT
from tests.readme import block
from tests.small import SENTENCE

LINES = [line for line in block("In a notebook", "python").splitlines() if line]


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch, short_corpus):
    """A folder of caches of its own, and a corpus of two texts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def measured(tmp_path_factory, falcon_folder, short_corpus):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield measure(falcon_folder, SENTENCE, layers=2)


def test_the_three_lines_of_the_readme_run():
    assert len(LINES) == 3
    *before, last = LINES
    names = {}
    exec("\n".join(before), names)
    chart = eval(last, names)
    spec = chart.to_dict()
    assert spec["datasets"]["markers"], "its data are inside"
    assert "ink" in {param["name"] for param in spec["params"]}
    bundle = chart._repr_mimebundle_(None, None)
    assert any("vegalite" in kind or kind == "text/html" for kind in bundle)
    assert set(names["m"].names) == {"tokens", "heads", "attention", "updates"}


def test_frames_hold_what_the_datasets_do(measured):
    data = measured.data
    assert measured["tokens"]["text"].tolist() == [token.text for token in data.tokens]
    heads = measured["heads"]
    assert heads["first_token"].tolist() == data.head_statistics["first_token"].tolist()
    assert len(heads) == 2 * data.layers * data.heads
    attention = measured["attention"]
    one = attention[(attention["layer"] == 1) & (attention["head"] == 3)]
    decoded = data.attention(1, 3)
    seen = decoded.visible.mask()
    assert np.array_equal(one["probability"], decoded.probability[seen])
    assert np.array_equal(one["score"], decoded.capped[seen])
    assert one.groupby("current_token")["probability"].sum().sub(1).abs().max() < 0.01
    terms = one["content"] + one["bias"] + one["position"]
    assert np.allclose(terms, one["score"], atol=1e-6)
    updates = measured["updates"]
    layer = updates[updates["layer"] == 1]
    assert layer["magnitude"].tolist() == data.updates(1)["points"]["magnitude"].tolist()
    assert "tiny-falcon: 2 layers of 4 heads" in repr(measured)


@pytest.mark.parametrize("name", ["attention_map", "attending_to_itself", "update_magnitude"])
def test_charts_have_their_data_and_can_be_saved(measured, name, tmp_path):
    chart = figure(name, measured)
    assert isinstance(chart, altair.TopLevelMixin)
    datasets = chart.to_dict()["datasets"]
    assert max(map(len, datasets.values())) >= 16, "a row a token or a head, at least"
    chart.save(str(tmp_path / "chart.svg"))
    assert (tmp_path / "chart.svg").stat().st_size > 5000


def test_a_figure_is_at_the_state_asked_for(measured):
    one, other = (figure("attention_map", measured, layer=1, head=n).to_dict() for n in (0, 3))
    assert one["datasets"]["map"] != other["datasets"]["map"]


def test_what_was_measured_is_kept_for_the_next_time(measured, falcon_folder, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(measured.data.path.parents[4]))
    monkeypatch.setattr("report.measuring.run.measure", lambda *_: pytest.fail("it ran again"))
    assert measure(falcon_folder, SENTENCE, layers=2).data.path == measured.data.path


@pytest.mark.parametrize(
    "passage", [SENTENCE, "It\u2019s \"so\", '{{ 7 }}' $HOME `id`\nsaid \\ Ann."]
)
def test_the_command_that_it_records_measures_the_same(falcon_folder, passage):
    first = measure(falcon_folder, passage, layers=2)
    command = first.data.manifest["command"]
    assert str(falcon_folder.parent) not in command
    python, option, code = shlex.split(command)
    assert (python, option) == ("python", "-c")
    names = {}
    exec(code.replace("path/to", str(falcon_folder.parent)), names)
    again = names["measure"](falcon_folder, passage, layers=2)
    assert again.data.path == first.data.path
    assert len(list(first.data.path.parent.iterdir())) == 1, "it measured nothing else"


def test_it_records_no_folder_of_this_machine(falcon_folder, tmp_path):
    (tmp_path / "own.txt").write_text(SENTENCE)
    (tmp_path / "own.csv").write_text('text\n"The old lamp stood by the window."\n')
    for passage in (str(tmp_path / "own.txt"), {"file": str(tmp_path / "own.csv")}):
        manifest = measure(falcon_folder, passage, layers=1).data.manifest
        assert "path/to/own" in manifest["command"]
        assert "layers=1" in manifest["command"]
        assert str(tmp_path) not in store.dumps(manifest)


def test_what_is_wrong_is_one_sentence(measured, falcon_folder):
    wrong = {
        "unknown model 'no such'": lambda: measure("no such", "A text."),
        "measure: layers: ": lambda: measure(falcon_folder, "A text.", layers="2-3"),
        "measure: layer: ": lambda: measure(falcon_folder, "A text.", layer=2),
        "did you mean 'the-lamp-on-the-hill'": lambda: measure(falcon_folder, "the-lamp-on-a-hill"),
        "unknown figure 'attention_mop'; did you mean": lambda: figure("attention_mop", measured),
        "layer=9 is not allowed": lambda: figure("attention_map", measured, layer=9),
        "it needs an article": lambda: figure("filler_lines", measured),
        "unknown table 'maps'; there are: tokens, heads": lambda: measured["maps"],
    }
    for said, do in wrong.items():
        with pytest.raises(ReportError) as refused:
            do()
        assert said in str(refused.value)


def test_importing_needs_neither_torch_nor_pandas():
    code = (
        "import sys; import report; from report import figure, measure; "
        "assert not {'torch', 'transformers', 'pandas'} & set(sys.modules), sorted(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="no attribute 'measur'"):
        report.measur  # noqa: B018
