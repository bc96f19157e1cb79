"""In a notebook: the first lines of the documentation, frames that equal the datasets, charts with
their data."""

import inspect
import re
import shlex
import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import altair
import numpy as np
import pandas
import pytest

import report
from report.datasets import store
from report.errors import ReportError
from report.exploring.page import Explorer, Question
from report.figures.build.find import figure_named, figure_names
from report.figures.parts import received, received_numbers
from report.figures.parts.received import RED, Line
from report.kinds.table.data import verify as verify_table
from report.measuring import alone
from report.notebook import figure, load, measure
from tests.commands import ROOT
from tests.documents import blocks
from tests.small import SENTENCE, write_publication
from tests.tiny_falcon import byte_level_tokenizer, random_falcon

FIRST, CHANGE, OTHERS = blocks("how-to/notebook", "python")
LINES = [line for line in FIRST.splitlines() if line]


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch, short_corpus):
    """A folder of caches of its own, and a corpus of two texts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def measured(tmp_path_factory, falcon_folder, short_corpus):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield measure(falcon_folder, SENTENCE, layers=2)


def test_the_first_lines_of_the_documentation_run():
    assert len(LINES) == 4
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
    exec(CHANGE, names)
    assert names["m"].compare(names["other"])["difference"][0] != 0


def test_its_other_lines_run_with_a_tiny_model_and_few_prompts(falcon_folder, tmp_path):
    asked = tmp_path / "asked.md"
    asked.write_text("---\nsystem: Say it.\n---\nOne and one?\nTwo and one?\n")

    model = load(falcon_folder, layers=1)

    def small(**options):
        few = {"prompts": str(asked)} if "conditions" in options else {}
        return model.measure(**few, **options)

    names = {"model": SimpleNamespace(measure=small)}
    exec(OTHERS, names)
    assert {*names["t"]["shares"]["rendering"]} > {"csv", "json"}
    assert {*names["c"]["effects"]["condition"]} == {"filler"}


def test_frames_hold_what_the_datasets_do(measured):
    data = measured.data
    assert measured["tokens"]["text"].tolist() == [token.text for token in data.tokens]
    heads = measured["heads"]
    assert heads["first_token"].tolist() == data.head_statistics["first_token"].tolist()
    assert len(heads) == 2 * data.layers * data.heads
    assert list(heads) == list(data.head_statistics)
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


def test_charts_have_their_data_and_can_be_saved(measured, tmp_path):
    chart = figure("attention_map", measured)
    assert isinstance(chart, altair.TopLevelMixin)
    datasets = chart.to_dict()["datasets"]
    assert max(map(len, datasets.values())) >= 16, "a row a token or a head, at least"
    chart.save(str(tmp_path / "chart.svg"))
    assert (tmp_path / "chart.svg").stat().st_size > 5000


def test_a_chart_is_what_altair_makes_of_its_specification_and_its_rows_stay_as_they_are(measured):
    """A long passage has thousands of rows; an object of each would take seconds."""
    classes = set()
    for name in measured.figures:
        chart = figure(name, measured)
        assert {type(row) for rows in chart.datasets.values() for row in rows} == {dict}, name
        if type(chart) in classes:  # altair takes a second for one
            continue
        classes.add(type(chart))
        written = chart.to_dict()
        whole = altair.Chart.from_dict(written)
        assert type(chart) is type(whole), name
        assert written == whole.to_dict(), name


def test_a_figure_is_at_the_state_asked_for(measured):
    one, other = (figure("attention_map", measured, layer=1, head=n).to_dict() for n in (0, 3))
    assert one["datasets"]["map"] != other["datasets"]["map"]


def test_what_was_measured_is_kept_for_the_next_time(measured, falcon_folder, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(measured.data.path.parents[4]))
    monkeypatch.setattr(alone, "load_source", lambda *_: pytest.fail("it ran again"))
    assert measure(falcon_folder, SENTENCE, layers=2).data.path == measured.data.path


TEXTS = (
    "The lamp on the hill was lit. Who lit the lamp on the hill?",
    "Ann: \u201c\u732b \U0001f408!\u201d\n" * 9,
    "no, no",
    "the the the the the the the",
    "def f(x):\n\treturn [x ** 2, -1.5e-3]\n",
    "name,year\nAda,1815\nGrace,1906\n",
    "# A title\n\n- one\n- **two**\n\n> three &amp; <b>four</b>",
    "\u05e9\u05dc\u05d5\u05dd, e\u0301t\u00e9 na\u00efve \u202eabc\u202c",
    "  spaces   and\ttabs  \r\n\r\n  at the end  ",
    "7 8 9 10 11 12 13 ... 99,999.00 % of 1/3?!?!",
)
"""Short ones of all kinds."""


def _nothing(*_):
    pass


def _is_of_it(data, file):
    """Whether a dataset is of the passage; a measure may be of the many texts alone."""
    measure = file.removeprefix("heads/").removesuffix(".json")
    if measure == file.removesuffix(".json"):
        return True
    table = data.measured(measure)
    return not np.isnan(table[measure][table["source"] == "passage"]).all()


@pytest.mark.parametrize(
    ("name", "texts"), [("falcon-8x8", TEXTS), ("gemma3-6x8", TEXTS[:3]), ("qwen2-5x28", TEXTS[:3])]
)
def test_a_passage_in_memory_has_the_numbers_of_the_datasets(name, texts):
    """In every bit, file by file, though nothing is made before it is read; `explore` has them."""
    model = load(name)
    explorer = Explorer(model, None)
    for number, text in enumerate(texts, 1):
        here = model.measure(text).data
        wanted = measure(name, text) if number == 1 else model.measure(text, corpus=True)
        # beside another text, all measures are wanted
        question = Question(number, text, other="a lamp")
        published, answer = wanted.data, explorer.answer(question, _nothing, _nothing)
        folder = f"datasets/text-{number}/text-{number}"
        of_passage = {file for file in published.manifest["files"] if _is_of_it(published, file)}
        assert {*here.manifest["files"]} == of_passage
        for file in here.manifest["files"]:
            assert here._read(file) == answer.files[f"{folder}/{file}"](), file
            if not file.startswith("heads/"):
                assert here._read(file) == published._read(file), file
        for each in here.measures:
            table = published.measured(each)
            for column, values in here.measured(each).items():
                np.testing.assert_array_equal(values, table[column][table["source"] == "passage"])
        assert (here.terms, here.windows) == (published.terms, published.windows)
        unread = {"weights_sha256": published.manifest["model"]["weights_sha256"]}
        assert here.manifest["model"] | unread == published.manifest["model"]
        for entry in ("self_check", "token_ids_sha256", "passage"):
            assert here.manifest[entry] == published.manifest[entry]


def test_a_loaded_model_measures_all_that_measure_does(falcon_folder, monkeypatch):
    model = load(falcon_folder, layers=2)
    assert repr(model) == "<tiny-falcon: 2 layers of 4 heads, float32 on cpu>"
    monkeypatch.setattr(alone, "load_source", lambda *_: pytest.fail("it was loaded again"))
    assert not model.measure(SENTENCE).data.has_corpus
    assert model.measure(SENTENCE, heads="0-2").data.heads == 3
    assert model.measure(SENTENCE, corpus=True).data.manifest["corpus"]["texts"] == 2
    assert "prediction" in model.measure(SENTENCE, predict=True).data.manifest
    assert "shares" in model.measure(table=ROWS)
    with pytest.raises(ReportError, match="'layers' is chosen when a model is loaded"):
        model.measure(SENTENCE, layers=1)
    with pytest.raises(ReportError, match="at least 2"):
        model.measure({"text": "A"})
    with pytest.raises(ReportError, match=r"has 3 layers .* asked for were the first 9"):
        load(falcon_folder, layers=9)


def test_without_a_corpus_every_figure_of_a_passage_is_drawn_of_the_passage(
    measured, falcon_folder
):
    alone = load(falcon_folder, layers=2).measure(SENTENCE)
    assert alone.figures == measured.figures
    for name in alone.figures:
        panel = {"panel": 0} if figure_named(name).panels else {}
        here, there = (figure(name, each, **panel).to_dict() for each in (alone, measured))
        rows = there["datasets"].get("heads", [])
        if any(row.get("source") == "corpus" for row in rows):
            expected = [row for row in rows if row["source"] == "passage"]
            assert here["datasets"]["heads"] == expected != rows
        else:
            assert here == there, name


def test_two_texts_are_compared_head_by_head(falcon_folder):
    model = load(falcon_folder, layers=2)
    first, second = model.measure(SENTENCE), model.measure(f"{SENTENCE} So be it.")
    found = first.compare(second)
    assert len(found) == 2 * 4 * len(first.data.measures)
    for row in found.itertuples():
        values = [
            each["heads"].query("layer == @row.layer and head == @row.head")[row.measure].item()
            for each in (first, second)
        ]
        assert [row.value, row.other] == values
        assert row.difference == values[1] - values[0]
    both = pandas.concat([first["heads"], second["heads"]])
    spread = {name: both[name].std(ddof=0) for name in first.data.measures}
    beside = [
        abs(row.difference) / spread[row.measure]
        for row in found.itertuples()
        if spread[row.measure]
    ]
    assert beside == pytest.approx(sorted(beside, reverse=True)) and beside[0] > 0
    assert (first.compare(first)["difference"] == 0).all()
    with pytest.raises(ReportError, match=r"has 2 layers of 4 heads and tiny-falcon 1 of 4"):
        first.compare(load(falcon_folder, layers=1).measure(SENTENCE))


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
    (tmp_path / "own.csv").write_text('text\n"The old lamp stood by the window."\n')
    rows = {"file": str(tmp_path / "own.csv")}
    manifest = measure(falcon_folder, rows, layers=1).data.manifest
    assert "path/to/own" in manifest["command"] and "layers=1" in manifest["command"]
    assert str(tmp_path) not in store.dumps(manifest)


COLUMNS = {"table": [{"a": 1, "b": 2}] * 2, "columns": ["c"]}
MEASURED = {
    "measure: layers: ": ("A text.", {"layers": "2-3"}),
    "measure: layer: ": ("A text.", {"layer": 2}),
    "did you mean 'the-lamp-on-the-hill'": ("the-lamp-on-a-hill", {}),
    "measure: a notebook measures one model": (None, {"revisions": ["a", "b"]}),
    "measure: table: 'int' object": (None, {"table": 3}),
    "has no column 'c'; it has: a, b": (None, COLUMNS),
    "an article about a table does not read": ("A text.", {"table": "cars"}),
    "unknown model 'no such'": (None, {"model": "no such"}),
}
DRAWN = {
    "unknown figure 'attention_mop'; did you mean": ("attention_mop", {}),
    "layer=9 is not allowed": ("attention_map", {"layer": 9}),
    "It is drawn of a table, and is given a passage": ("classes_by_layer", {}),
    "It is drawn of panels of conditions": ("filler_lines", {}),
    "There is one model only": ("first_token_by_model", {}),
}


@pytest.mark.parametrize("reason", [*MEASURED, *DRAWN])
def test_what_is_wrong_is_one_sentence(measured, falcon_folder, reason):
    with pytest.raises(ReportError) as refused:
        if reason in MEASURED:
            passage, options = MEASURED[reason]
            measure(passage=passage, **{"model": falcon_folder} | options)
        name, state = DRAWN[reason]
        figure(name, measured, **state)
    assert reason in str(refused.value)


def test_measurements_are_a_mapping_of_frames(measured):
    assert list(measured) == measured.names == ["tokens", "heads", "attention", "updates"]
    assert [len(frame) for frame in measured.values()] == [len(measured[n]) for n in measured]
    assert len(measured) == 4
    assert "heads" in measured and "maps" not in measured and 0 not in measured
    assert measured.get("maps") is None
    with pytest.raises(ReportError, match="unknown table 'maps'; there are: tokens, heads"):
        measured["maps"]
    assert measured == measured and bool(measured)


def test_columns_are_called_as_on_pages(measured):
    """The twins of what the page's script gives out are the rows of figures."""
    data = measured.data
    points = figure_named("attention_breakdown").rows(data, layer=1, head=2, sort_idx=0)["points"]
    attention = measured["attention"].query("layer == 1 and head == 2")
    attention = attention.set_index(["current_token", "target_token"])
    for point in points:
        cell = attention.loc[point["current_token"], point["target_token"]]
        for name, value in point.items():
            if name not in ("current_token", "target_token") and "_" not in name:
                assert cell[name] == value, name
        for name in ("current_text", "target_text", "distance"):
            assert cell[name] == point[name]
    script = (ROOT / "report" / "web" / "data" / "decoders.js").read_text("utf-8")
    (told,) = re.findall(r"^function cell.*?return \{\n(.*?)\n  \};", script, re.M | re.S)
    parts = re.sub(r"\(.*?\)", "", told).split(",")
    of_script = [part.partition(":")[0].strip() for part in parts if part.strip()]
    of_script = [name for name in of_script if name not in ("backward", "terms", "uncapped")]
    assert list(attention)[2:] == [*of_script[1:2], *of_script[3:], *data.terms]
    for layer in range(data.layers):
        page = figure_named("update_magnitude").rows(data, layer=layer)["points"]
        frame = measured["updates"].query("layer == @layer").drop(columns="layer")
        assert list(frame) == list(page[0])
        assert frame.to_dict("records") == page


def test_the_figures_that_are_listed_are_those_that_can_be_drawn(measured):
    listed = measured.figures
    assert {"attention_map", "update_magnitude", "attending_to_itself"} <= {*listed}
    assert not {"classes_by_layer", "filler_effect", "heads_at_step"} & {*listed}
    for name in figure_names():
        shown = figure_named(name)
        try:
            drawn = shown.rows(measured.drawn(), **{"panel": 0} if shown.panels else {})
        except (ReportError, AttributeError):
            drawn = None
        assert bool(drawn) == (name in listed), name
    with pytest.raises(ReportError) as refused:
        figure("attention_mop", measured)
    assert str(refused.value).endswith(f"These can be drawn: {', '.join(listed)}.")


OWN = blocks("how-to/figures", "python")[0]


def test_figures_of_a_project_are_known_in_it(measured, tmp_path, monkeypatch):
    project = write_publication(tmp_path / "project")
    (project / "figures").mkdir()
    own = project / "figures" / "looking_back.py"
    own.write_text(OWN)
    (project / "notebooks").mkdir()
    monkeypatch.chdir(project / "notebooks")
    assert "looking_back" in measured.figures
    rows = figure("looking_back", measured).to_dict()["datasets"]["rows"]
    assert len(rows) == measured.data.layers * measured.data.heads
    own.write_text(OWN.replace('"head:O", title="head"', '"head:O", title="which head"'))
    assert "which head" in figure("looking_back", measured).to_json(), "a file that was changed"
    own.write_text(OWN.replace("for layer in", "for layer on"))
    with pytest.raises(ReportError, match=r"looking_back\.py, line \d+: is not Python"):
        figure("looking_back", measured)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReportError, match="unknown figure 'looking_back'"):
        figure("looking_back", measured)


ROWS = [{"city": "Oslo", "people": 7.5}, {"city": "Rome", "people": 2.75}, {"city": "Bern"}]


@pytest.fixture(scope="module")
def table(tmp_path_factory, falcon_folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield measure(falcon_folder, table=ROWS, layers=1)


def test_a_table_in_memory_is_measured_as_for_a_page(table):
    data = table.data
    verify_table(data)
    assert list(table) == ["tokens", "shares", "attention"]
    csv = table["tokens"].query("rendering == 'csv' and not special")
    assert "".join(csv["text"]) == "city,people\nOslo,7.5\nRome,2.75\nBern,"
    assert {*csv["role"]} == {"header", "value", "delimiter"}
    shares = table["shares"].query("rendering == 'json' and target == 'same_column'")
    found = shares.set_index(["layer", "head"])["probability"]
    assert found[0, 2] == data.shares("same_column", "json")[0, 2]
    assert {"table_attention_map", "classes_by_layer", "renderings_compared"} <= {*table.figures}
    assert not {"attending_to_itself", "update_magnitude"} & {*table.figures}
    assert figure("table_attention_map", table).to_dict()["datasets"]
    with pytest.raises(ReportError, match=r"has 6 charts; say which: panel=0 \(the first"):
        figure("renderings_compared", table)
    charts = [figure("renderings_compared", table, panel=n).to_dict() for n in range(6)]
    assert len(set(map(str, charts))) == 6


def test_a_table_may_be_a_frame_a_file_or_a_data_set(table, falcon_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(table.data.path.parents[4]))
    (tmp_path / "rows.json").write_text(store.dumps(ROWS))
    for rows in (pandas.DataFrame(ROWS), str(tmp_path / "rows.json")):
        again = measure(falcon_folder, table=rows, layers=1)
        assert again.data.path == table.data.path, "it was measured already"
    names = {}
    command = table.data.manifest["command"]
    exec(shlex.split(command)[-1].replace("path/to", str(falcon_folder.parent)), names)
    again = measure(falcon_folder, table="cars", columns=["Name"], rows=2, layers=1)
    assert again.data.manifest["table"]["name"] == "cars"
    assert len(list(table.data.path.parent.iterdir())) == 2, "the command measured nothing else"


CONDITIONS = [
    {"name": "none", "label": "Nothing"},
    {"name": "filler", "label": "Slashes", "before": "question", "text": "/", "times": 4},
]


def test_conditions_in_memory_are_measured_as_for_a_page(falcon_folder, tmp_path):
    asked = tmp_path / "asked.md"
    asked.write_text("---\nsystem: Say it.\n---\nOne and one?\nTwo and one?\n")
    options = {"conditions": CONDITIONS, "prompts": str(asked), "layers": 1}
    found = measure(falcon_folder, **options)
    model = found.data.models[0]
    assert list(found) == ["tokens", "effects", "received"]
    tokens = found["tokens"].query("condition == 'filler' and segment == 'filler'")
    assert tokens["position"].tolist() == list(model.condition("filler").new)
    effects = found["effects"]
    assert np.array_equal(effects["lambda"], model.effects["lambda"])
    assert np.allclose(effects["taken"] + effects["lambda"], 1, equal_nan=True)
    mean = found["received"].query(
        "condition == 'none' and head == 2 and layer == 0 and reduction == 'mean'"
    )["mean"]
    assert np.array_equal(mean, model.received(0, 2)["none"]["mean"][0], equal_nan=True)
    place = received.Place(model, 0, 2)
    page = received_numbers.rows(place, [Line("none", "", RED)], "mean", False)
    assert {"condition", "position", "mean", "standard_error"} <= {*page["lines"][0]}
    assert {"filler_effect", "filler_lines"} <= {*found.figures}
    assert figure("filler_effect", found, panel=0).to_dict()["datasets"]
    lines = figure("filler_lines", found, heads=[(0, 2), (0, 3)], panel=1)
    assert lines.to_dict()["datasets"]["lines"]
    with pytest.raises(ReportError, match="has 4 charts; say which"):
        figure("filler_lines", found, heads=[(0, 2), (0, 3)])
    with pytest.raises(ReportError, match="there is no head 9; both"):
        figure("filler_lines", found, heads=[(0, 9)], panel=0)
    names = {}
    command = shlex.split(model.manifest["command"])[-1]
    assert str(tmp_path) not in command
    command = command.replace("path/to/asked.md", str(asked))
    exec(command.replace("path/to", str(falcon_folder.parent)), names)
    assert len(list(model.path.parent.iterdir())) == 1, "the command measured nothing else"


def test_importing_needs_neither_torch_nor_pandas():
    code = (
        "import sys; from report import figure, measure; "
        "assert not {'torch', 'transformers', 'pandas'} & set(sys.modules), sorted(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="no attribute 'measur'"):
        report.measur  # noqa: B018


def test_what_docstrings_show_is_run(tmp_path):
    """Indented lines below an empty one, of modules and of what they offer."""
    random_falcon(num_hidden_layers=4).save_pretrained(tmp_path / "small")
    byte_level_tokenizer().save_pretrained(tmp_path / "small")
    folder = Path(report.__file__).parent / "notebook"
    modules = [import_module(f"report.notebook.{path.stem}") for path in folder.glob("*.py")]
    modules[:] = {*modules, report.notebook}
    offered = [each for module in modules for each in vars(module).values() if callable(each)]
    shown = set()
    for each in (*modules, *offered):
        shown |= {*re.findall(r"\n\n((?:    .*\n)+)", f"{inspect.getdoc(each) or ''}\n")}
    assert len(shown) > 0
    for code in shown:
        exec(textwrap.dedent(code).replace("falcon-8x8", str(tmp_path / "small")), {})
