"""What is said before a model is measured and while it is: work, time, size, progress."""

import functools
import re
from types import SimpleNamespace

import pytest

from report import families
from report.datasets.read.study import open_study
from report.errors import ReportError
from report.exploring.page import Explorer
from report.exploring.server import Desk, explore
from report.measuring import forecast, run
from report.measuring.forecast import (
    LITTLE,
    MEASURING,
    WITHOUT,
    WRITING,
    Pace,
    Part,
    Rest,
    needs,
    size,
    time_of_writing,
    timed,
    will_take,
    writes,
)
from report.measuring.plan import Plan
from report.models.load import memory
from report.models.load.load import load_model
from report.models.partial.reader import Checkpoint
from report.notebook import load
from report.notebook.measurement import require_room_for
from report.project import project as project_in
from report.study.study import read_study
from report.text import lasting, sized
from tests.models.checkpoints import save
from tests.small import SENTENCE, write_publication

pytestmark = pytest.mark.usefixtures("short_corpus")

KINDS = {
    "passage": "passage: {file: passage.csv, row: 0}",
    "table": "table: passage.csv",
    "conditions": "conditions: [{name: none}, {name: f, before: question, times: 3}]\n"
    "prompts: asked.md",
    "sweep": "sweep: true",
    "prediction": "kind: prediction\nprompts: [{text: Who lit the, target: ' lamp'}]",
}


class Told(list):
    """What was told in order: sentences, and steps of progress (what, done, total)."""

    def step(self, *step):
        self.append(step)


@pytest.fixture(scope="module")
def measured(tmp_path_factory, falcon_folder, short_corpus):
    """A function that measures an article of a kind twice: its datasets, and what was told in
    order, sentences and steps of progress, both times."""

    @functools.cache
    def measured(kind):
        root = write_publication(tmp_path_factory.mktemp(kind) / "project")
        (root / "passage.csv").write_text("city,people\nOslo,717710\nRome,2748109\n")
        (root / "asked.md").write_text("---\nsystem: Say it.\n---\nOne and one?\nTwo and one?\n")
        article = root / "templates" / "articles" / "small.md.j2"
        article.write_text(article.read_text().replace("cover:", f"{KINDS[kind]}\ncover:"))
        several = kind in ("conditions", "sweep")
        model = {"models": [str(falcon_folder)]} if several else {"model": str(falcon_folder)}
        study = read_study(article, **model)
        once, again = Told(), Told()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("report.kinds.sweep.measure.corpus", run.folders.kind("passage").corpus)
            patch.setattr(forecast, "LITTLE", 0)
            for told in (once, again):
                [found] = run.datasets(study, project_in(root), told.step, announce=told.append)
        return open_study([found.folder]), once, again

    return measured


def sentence(told, pattern):
    """(place, match) of the only sentence of that pattern."""
    said = [(n, re.search(pattern, each)) for n, each in enumerate(told) if isinstance(each, str)]
    ((place, match),) = [(place, match) for place, match in said if match]
    return place, match


@pytest.fixture
def free(monkeypatch):
    """A function that says how many bytes of memory are free."""
    return lambda size: monkeypatch.setattr(memory, "available", lambda device: size)


def test_what_does_not_fit_in_memory_is_not_loaded_to_stay_there(falcon_folder, free, monkeypatch):
    free(250_000)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "read", None)  # no weight is
        with pytest.raises(ReportError) as refusal:
            load(falcon_folder)
    assert str(refusal.value).endswith(
        "would need 0.2 MB of memory to stay there, and 0.2 MB are free, of which weights may take "
        "60%: --layers 0-1 needs 0.1 MB"
    )
    assert load(falcon_folder, layers="0-1").measure(SENTENCE).data.layers == 2
    with pytest.raises(ReportError, match="--layers 0-1 needs"):
        load(falcon_folder, layers="0-2")
    free(100_000)
    with pytest.raises(ReportError, match="not even its first layer"):
        load(falcon_folder)
    assert load(falcon_folder, layer_by_layer=True).measure(SENTENCE).data.layers == 3


def test_models_that_do_not_fit_together_are_refused_before_the_first_is_read(
    falcon_folder, free, monkeypatch, tmp_path
):
    other = save(families.tiny("llama").bfloat16(), tmp_path / "other", 60)
    sizes = {}
    for folder in (falcon_folder, other):
        model = load(folder).loaded.model
        sizes[folder] = 4 * sum(each.numel() for each in model.parameters())
    both = sum(sizes.values())
    free(both / memory.SHARE + 10)
    require_room_for([*sizes], {})
    free(both / memory.SHARE - 10)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "read", None)  # no weight is
        with pytest.raises(ReportError) as refusal:
            explore([str(folder) for folder in sizes], {}, False, 0, None, None)
    said = str(refusal.value)
    assert f"would need {sized(both)} of memory" in said
    for folder, needed in sizes.items():
        assert f"{folder.name} {sized(needed)}" in said
    fitting = re.search(r": --layers (0(?:-\d)?) needs (.*?); or name fewer$", said)
    assert fitting, said
    require_room_for([*sizes], {"layers": fitting[1]})


def test_a_text_that_there_is_no_memory_for_is_refused(falcon_folder, free):
    explorer = Explorer(load(falcon_folder), None)
    free(10**6)
    error = Desk(explorer).answer({"text": "a b " * 60})["error"]
    assert "of memory are needed, and 1.0 MB are free; shorten it" in error
    assert "html" in Desk(explorer).answer({"text": SENTENCE})


@pytest.mark.parametrize("kind", KINDS)
def test_what_will_be_run_is_said_before_it_is(measured, kind):
    data, told, again = measured(kind)
    assert again == [], "nothing is said where nothing is measured"
    place, match = sentence(
        told,
        r"^tiny-falcon reads .*: ([\d,]+) tokens in (\d+) forward passes\. It needs about [\d.]+ "
        "[kM]B of memory",
    )
    first = next(n for n, each in enumerate(told) if each[0] == "Measuring" and each[1] > 0)
    assert place < first
    tokens, passes = int(match[1].replace(",", "")), int(match[2])
    manifest = data.models[0].manifest
    corpus = manifest.get("corpus", {})
    assert (tokens, passes) == {
        "passage": lambda: (data.length + corpus["tokens"], 1 + corpus["texts"]),
        "table": lambda: (sum(manifest["table"]["tokens"].values()) + data.length, 4),
        "conditions": lambda: (manifest["prompts"]["tokens"], 4),
        "prediction": lambda: (25 * data.sentences[0].length, 25),
        "sweep": lambda: (
            2 * (corpus["tokens"] + 2 * manifest["sweep"]["sequences"] * (1 + 2 * length(data))),
            2 * (corpus["texts"] + 2 * manifest["sweep"]["sequences"]),
        ),
    }[kind]()


def length(data):
    return data.models[0].manifest["sweep"]["length"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_size_is_said_before_most_is_measured_and_is_about_that_of_the_datasets(measured, kind):
    data, told, _ = measured(kind)
    place, match = sentence(told, r"^tiny-falcon: about ([\d.]+) ([kMG])B of datasets will be")
    steps = [n for n, each in enumerate(told) if each[0] == "Measuring"]
    assert place < steps[-1], "it is said while there is something left to measure"
    said = float(match[1]) * {"k": 1e3, "M": 1e6, "G": 1e9}[match[2]]
    files = data.models[0].manifest["files"]
    of_heads = [about["bytes"] for name, about in files.items() if "/" in name]
    written = sum(of_heads) or files["habits.json"]["bytes"]
    assert written / 2 <= said <= 2 * written


def model_of(weights, dtype, stored, **about):
    """What `needs` asks of a model of 2 layers of 4 heads with 8 numbers, and 100 words."""
    sizes = {"num_attention_heads": 4, "head_dim": 8, "hidden_size": 32, "vocabulary": 100}
    facts = sizes | {"dtype": dtype} | ({"stored_dtype": stored} if stored else {})
    partial = SimpleNamespace(layer_by_layer=True) if about else None
    return SimpleNamespace(
        identity=facts, weight_bytes=weights, measured_layers=2, partial=partial, **about
    )


@pytest.mark.parametrize(
    ("dtype", "stored", "said"),
    [
        ("float32", "bfloat16", True),
        ("float32", "bfloat16, float32", True),
        ("float32", "float16", True),
        ("float32", "float32", False),
        ("float32", None, False),
        ("bfloat16", "bfloat16", False),
        ("bfloat16", "float32", False),
    ],
)
def test_float32_of_a_file_of_16_bits_is_said_with_what_halves_it(dtype, stored, said):
    told = needs(model_of(4 * LITTLE, dtype, stored))
    assert "4.00 GB of memory" in told
    assert ("dtype: bfloat16 takes half" in told) == said
    assert needs(model_of(LITTLE // 2, dtype, stored)) == "", "of little, nothing is said"


def test_memory_counts_what_is_kept_beside_the_weights():
    whole, by_layer = model_of(LITTLE, "float32", None), model_of(LITTLE, "float32", None, x=1)
    heads = 2 * 4 * 8  # numbers of a query in all heads
    for more, tokens in (
        (2 * heads * 4, {"kept": 10**6}),  # queries and keys
        (4 * 100 * 4, {"logits": 10**6}),
        (0, {"together": 10**6}),
    ):
        beside = f"{sized(LITTLE + more * 10**6)} of memory"
        assert beside in needs(whole, **tokens)
    assert f"{sized(LITTLE + 32 * 4 * 10**6)} of memory" in needs(by_layer, together=10**6)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_weights_count_as_they_are_held_in_every_way_to_load(dtype, tmp_path):
    folder = save(families.tiny("llama").bfloat16(), tmp_path / "model", 60)
    whole = load_model(folder, dtype=dtype)
    assert whole.identity["stored_dtype"] == "bfloat16"
    assert whole.weight_bytes == whole.identity["parameters"] * (4 if dtype == "float32" else 2)
    part = load_model(folder, dtype=dtype, layers=2).weight_bytes
    one = load_model(folder, dtype=dtype, layer_by_layer=True).weight_bytes
    assert one < part < whole.weight_bytes


def test_the_time_of_a_run_is_told_amid_it(measured):
    _, told, _ = measured("passage")
    steps = [each for each in told if each[0] == "Measuring"]
    assert steps == [("Measuring", n, 3) for n in range(4)]
    assert [each for each in told if each[0] == "Writing"] == [("Writing", n, 3) for n in (1, 2, 3)]


def pace_of(parts, steps):
    """What is said at which time of a run of these parts, and the steps of progress that were
    passed on; steps: (time, what, done, total), the first before the parts are known."""
    heard, passed, now = [], [], [0]
    pace = Pace(lambda *step: passed.append(step), lambda said: heard.append((now[0], said)), clock)
    pace.clock = lambda: now[0]
    for number, (now[0], *step) in enumerate(steps):
        pace(*step)
        if number == 0:
            will_take(pace, "m", lambda: parts)
    assert passed == [tuple(step) for _, *step in steps]
    return [(at, re.search("about (.*?)(?:,| to go)", said)[1]) for at, said in heard]


def clock():
    raise AssertionError("no time is taken")


def texts(*steps, total=40):
    return [(at, MEASURING, done, total) for at, done in steps]


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        # a slow first text, or a long passage, tells nothing of those after it
        (texts((0, 0), (3, 1), (5, 2)), (5, "76 s")),
        (texts((0, 0), (3, 4), (5, 8)), (5, "16 s")),
        (texts((0, 0), *((3 + n / 8, n) for n in range(1, 20))), (5.125, "2.9 s")),
        (texts((0, 10), (3, 11), (6, 12)), (6, "84 s")),
        # where it alone is longer than those, it tells enough
        (texts((0, 0), (60, 1)), (60, "39 min")),
        (texts((0, 0), (0.5, 20), (0.9, 40)), None),
        (texts((0, 0), (2, 0)), None),
    ],
)
def test_a_part_that_is_its_own_sample_is_announced_from_its_first_steps(steps, said):
    assert pace_of([Part(MEASURING)], steps) == [said] * bool(said)


def test_what_a_step_is_told_to_be_counts():
    steps = texts((0, 0), (4, 1), total=3)
    assert pace_of([Part(MEASURING, steps=[10, 20, 30])], steps) == [(4, "20 s")]
    # two more texts, of which nothing but the mean is known
    steps = texts((0, 0), (4, 1), total=5)
    assert pace_of([Part(MEASURING, steps=[10, 20, 30], beyond=15)], steps) == [(4, "32 s")]


def test_all_parts_are_announced_together():
    sampled = [Part(WITHOUT, 40), Part(WRITING, 20)]
    assert pace_of(sampled, texts((0, 0))) == [(0, "60 s")]
    both = [Part(MEASURING), *sampled]
    assert pace_of(both, texts((0, 0), (4, 1), total=10)) == [(4, "96 s")]
    # another part begins before there are seconds of the first
    steps = [*texts((0, 0), (1, 1), total=4), (2, WITHOUT, 1, 4)]
    assert pace_of(both, steps) == [(2, "53 s")]


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([(9, 1), (19, 2), (31, 3)], []),
        ([(20, 1), (40, 2), (90, 3)], [(40, "3 min")]),
        ([(4, 1), (8, 2), (12, 3)], [(8, "32 s")]),
        ([(1, 0), (50, 0)], []),
    ],
)
def test_an_announcement_that_turns_out_to_be_wrong_is_renewed_once(steps, said):
    steps = [(0, WITHOUT, 0, 10), *((at, WITHOUT, done, 10) for at, done in steps)]
    assert pace_of([Part(WITHOUT, 100)], steps) == [(0, "2 min"), *said]


def test_texts_of_several_pieces_are_one_part():
    passed = []
    pace = Pace(lambda *step: passed.append(step), print)
    for before in (0, 4):
        pace.within(before, 9)
        pace(MEASURING, 2, 5)
        pace(WITHOUT, 1, 5)
    assert passed == [(MEASURING, 2, 9), (WITHOUT, 1, 5), (MEASURING, 6, 9), (WITHOUT, 1, 5)]


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        ([0, 1, 1.5, 2], 0.5),  # the first is not counted
        ([0, 0.5, 0.6, 0.7, 0.8, 9], 0.1),
        ([0, 5], 5),
        ([0, 1, 5], 4),
    ],
)
def test_a_sample_counts_once_libraries_have_come_to_life(times, seconds):
    calls, now = [], iter(times)
    assert timed(lambda: calls.append(1), 10, lambda: next(now)) == pytest.approx(10 * seconds)
    assert calls


def test_where_nobody_listens_no_sample_is_taken():
    samples = []
    will_take(lambda *_: None, "m", lambda: samples.append(1) or [])
    assert samples == []
    will_take(Pace(lambda *_: None, lambda _: None), "m", lambda: samples.append(1) or [])
    assert samples == [1]


@pytest.mark.parametrize(
    ("unit", "results", "rest", "workers", "said"),
    [
        (
            "text",
            [(0, 50), (8, 4), (8, 4)],  # the passage, which is no text of the corpus, and texts
            32,
            2,
            "The first 16 texts took 8.0 s of a worker; the other 32 will take about 8.0 s with "
            "2 workers.",
        ),
        (
            "text",
            [(1, 3)],
            1,
            4,
            "The first text took 3.0 s of a worker; the other 1 will take about 3.0 s with "
            "4 workers.",
        ),
        (
            "model",
            [(1, 60)],
            3,
            0,  # the last one was just lost
            "The first model took 60 s of a worker; the other 3 will take about 3 min with "
            "1 worker.",
        ),
        ("text", [(8, 4)], 0, 2, None),
        ("text", [(0, 4)], 8, 2, None),
    ],
)
def test_on_a_cluster_the_rest_is_estimated_from_the_first_results(
    unit, results, rest, workers, said
):
    heard = []
    estimate = Rest(unit, heard.append)
    estimate.tell(99, 1)
    for result in results:
        estimate.add(*result)
    for _ in range(2):
        estimate.tell(rest, workers)
    assert heard == [said] * bool(said)


@pytest.mark.parametrize(
    ("size", "said"),
    [(0, "0 kB"), (12_300, "12 kB"), (99_999, "100 kB"), (1e5, "0.1 MB"), (2.5e9, "2.50 GB")],
)
def test_sizes_are_said_in_a_unit_that_shows_them(size, said):
    assert sized(size) == said


@pytest.fixture
def of_any_form(monkeypatch):
    monkeypatch.setattr("report.datasets.store.check", lambda data, path: data)


@pytest.mark.usefixtures("of_any_form")
def test_the_size_is_that_of_a_head_of_each_layer_times_the_heads():
    shards = {(0, 0): {"a": 1}, (1, 1): {"a": 1000}}
    one, other = (len('{"a":1}\n'), len('{"a":1000}\n'))
    times = iter([0, 10, 20, 23])  # the first head takes 10 seconds, the next 3
    found = size(lambda *head: [(shards[head], 1)], 2, 4, 1, lambda: next(times))
    assert (found.bytes, found.seconds) == (4 * (one + other), 2 * 4 * 3)


@pytest.mark.usefixtures("of_any_form")
def test_a_file_that_heads_share_counts_once_for_all_of_them():
    def datasets(*_):
        return [({"own": 1}, 1), ({"shared": 1}, 2)]

    own, shared = (len('{"own":1}\n'), len('{"shared":1}\n'))
    times = iter([0, 1] * 3)
    found = size(datasets, 3, 4, 2, lambda: next(times))
    assert found.bytes == 3 * 4 * own + 3 * 2 * shared
    assert found.seconds == 3 * 4 / 2
    assert (found + found).seconds == 2 * found.seconds


def test_writing_more_takes_longer():
    assert 0 < time_of_writing(10**6) < time_of_writing(10**9)


@pytest.mark.parametrize(("size", "warned"), [(10**9, False), (10**9 + 1, True)])
def test_more_than_a_host_takes_is_said_with_what_to_do(size, warned):
    said = writes("m", size)
    assert said.startswith("m: about 1.00 GB of datasets will be written.")
    assert ("measure fewer layers (--layers 0-3)" in said) == warned


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.04, "less than 0.1 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (99.4, "99 s"),
        (99.6, "2 min"),
        (5940, "99 min"),
        (7500, "2 h 5 min"),
    ],
)
def test_times_are_not_more_exact_than_one_needs(seconds, said):
    assert lasting(seconds) == said


def test_the_models_that_are_measured_are_named_where_there_are_several(tmp_path, monkeypatch):
    project = project_in(write_publication(tmp_path / "project"))
    study = read_study(project.articles / "small.md.j2")
    plans = [Plan("measure", "a"), Plan("unchanged", "b"), Plan("measure", "c")]

    def stop(*_):
        raise ReportError("enough")

    monkeypatch.setattr(run, "_require_read", lambda *_: None)  # of plans without models
    for some, said in ((plans, ["small: measuring 2 of 3 models: a, c"]), (plans[:1], [])):
        heard = []
        asked = run.MeasuringRun(project, print, heard.append, measurer=stop)
        with pytest.raises(ReportError, match="enough"):
            run.carry_out(some, study, None, asked)
        assert heard == said
