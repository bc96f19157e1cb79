"""A corpus in batches: the same numbers in every bit, however it is divided; none twice."""

import random
import re
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from report.errors import ReportError
from report.inputs.specs import ClusterSpec
from report.kinds import folders
from report.kinds.passage import measure as passage_kind
from report.kinds.passage.data import PassageData
from report.kinds.passage.measure import NOT_IN_SUMS
from report.measuring import alone, frozen, plan, run
from report.measuring import pieces as pieces_module
from report.measuring.kept import FOLDER, Kept
from report.measuring.pieces import Gathering, Piece, measure_piece
from report.models.load.load import load_model
from report.models.measure import passage as measure
from report.models.text.tokens import encode_texts
from report.project import project as project_in
from report.study.study import read_study
from tests.commands import contents, without_date
from tests.small import write_publication

WORDS = "The old lamp stood by the window. Is the lamp lit? asked Ann; nobody answered Ann".split()

DAMAGE = {
    "cut": lambda text: text[:1],
    "fields": lambda text: '{"schema":"batch/3"}',
    "empty": lambda text: "",
    "a digit": lambda text: re.sub(
        r'"([1-9])', lambda found: f'"{10 - int(found[1])}', text, count=9
    ),
}
"""What may happen to a file of sums."""


pytestmark = pytest.mark.usefixtures("positions_end")


def texts(number, seed=1):
    """Texts of 1 to 40 words, one of them too long for the tiny model and one empty."""
    rng = random.Random(seed)
    found = [" ".join(rng.choices(WORDS, k=rng.randint(2, 40))) for _ in range(number)]
    return [*found[:-2], " ".join(WORDS * 60), ""]


def write_project(folder):
    project = project_in(write_publication(folder))
    (project.root / "texts.txt").write_text("\n".join(texts(23)) + "\n")
    return project


def small_article(project, model, **keys):
    """The small article on many texts, with some of its keys replaced."""
    usual = {"model": str(model), "passage": str(project.root / "passage.md")}
    usual["corpus"] = {"file": str(project.root / "texts.txt")}
    return read_study(project.articles / "small.md.j2", **usual | keys)


@pytest.fixture(scope="module")
def measured_once(tmp_path_factory, falcon_folder, positions_end):
    """A project whose small article was measured in one batch, to be compared with or copied."""
    project = write_project(tmp_path_factory.mktemp("once") / "project")
    run.datasets(small_article(project, falcon_folder), project, lambda *_: None)
    return project


@pytest.fixture(scope="module")
def whole(measured_once):
    """Contents of the datasets that were measured in one batch."""
    [folder] = (measured_once.site_src / "datasets" / "small").iterdir()
    return without_date(contents(folder))


@pytest.fixture
def project(tmp_path):
    return write_project(tmp_path / "project")


@pytest.fixture
def there(project, measured_once):
    """The folder of datasets in the project, as if they had been measured there."""
    copy = project.site_src / "datasets"
    shutil.copytree(measured_once.site_src / "datasets", copy)
    [folder] = (copy / "small").iterdir()
    return folder


@pytest.fixture
def asked(project, falcon_folder):
    """A function that gives the small article with some of its keys replaced."""
    return partial(small_article, project, falcon_folder)


@pytest.fixture
def datasets(asked, project):
    """Measures the small article, in batches of some texts; gives its folder."""

    def datasets(size=64, force=False, **keys):
        study = asked(cluster={"texts": size}, **keys)
        [found] = run.datasets(study, project, lambda *_: None, force=force)
        return found.folder

    return datasets


@pytest.fixture
def task(asked, project):
    """A function that gives the `Task` of the article, in batches of some texts."""

    def task(size=64, **keys):
        study = asked(cluster={"texts": size}, **keys)
        inputs = run.read(study)
        [one] = plan.plans(study, project, inputs)
        return run.task_of(one, study, inputs, project)

    return task


def measured(task, loaded, order=None, split=False):
    """The `Gathering` of a task all of whose pieces were measured, in some order."""
    gathering = Gathering(task)
    pieces = list(gathering.pieces(apart=order is not None))
    if order is not None:
        order.shuffle(pieces)
    for piece in pieces:
        for part in piece.halves() if split and len(piece.texts) > 1 else [piece]:
            result = measure_piece(
                loaded, gathering.kind, task.inputs, part, lambda *_: None, print
            )
            gathering.add(part, result)
    return gathering


def test_any_division_in_any_order_gives_the_same_sums_in_every_bit(task, loaded):
    whole = measured(task(), loaded)
    assert whole.tally.statistics.texts == 21
    assert whole.tally.left_out == 2
    assert whole.tally.statistics.mean("concentration").min() > 0
    for size in (1, 5, 22):
        one = task(size)
        one.kept.remove()
        other = measured(one, loaded, random.Random(size), split=size == 5)
        assert (other.done, other.total) == (24, 24)
        assert other.tally.statistics.rows == whole.tally.statistics.rows
        assert (other.tally.tokens, other.tally.left_out) == (whole.tally.tokens, 2)
        for name, sums in whole.tally.statistics.sums.items():
            assert (other.tally.statistics.sums[name] == sums).all(), (size, name)


def test_the_sums_are_those_of_plain_addition(task, loaded):
    """Against the passages one by one, and against means in float64, which round differently."""
    found = measured(task(4), loaded).tally.statistics
    ids = encode_texts(loaded, [text for _, text in task().inputs.corpus]).token_ids
    plain = [measure.measure_passage(loaded, each).statistics for each in ids.values()]
    for name, sums in found.sums.items():
        assert (sums == sum(each.sums[name] for each in plain)).all(), name
    rows = [each.rows for each in plain]
    for name in ("itself", "concentration", "distance"):
        means = [each.mean(name) for each in plain]
        expected = np.average(means, axis=0, weights=rows)
        np.testing.assert_allclose(found.mean(name), expected, rtol=1e-8)


def test_datasets_are_the_same_bytes_however_large_batches_are(datasets, project, whole):
    assert without_date(contents(datasets(size=3))) == whole


def test_a_changed_size_of_batches_measures_nothing_again(datasets, there, monkeypatch):
    monkeypatch.setattr(alone, "load_source", None)  # may not be called
    assert datasets(size=3) == there


def stop_after(monkeypatch, pieces):
    """Let measuring end with an error before a piece; returns the pieces that were measured."""
    seen, original = [], pieces_module.measure_piece

    def measure_some(loaded, kind, inputs, piece, *others):
        if len(seen) == pieces:
            raise KeyboardInterrupt
        seen.append(piece)
        return original(loaded, kind, inputs, piece, *others)

    monkeypatch.setattr(pieces_module, "measure_piece", measure_some)
    return seen


@pytest.fixture
def cut_short(datasets, monkeypatch):
    """The small article, measured up to its fourth batch."""
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        stop_after(patched, 3)
        datasets(size=4)


def test_a_run_that_was_cut_short_goes_on_where_it_was(
    cut_short, datasets, project, whole, monkeypatch
):
    assert len(contents(project.root / FOLDER)) == 3
    seen = stop_after(monkeypatch, None)
    resumed = contents(datasets(size=4))
    assert [piece.batch for piece in seen] == [3, 4, 5]
    assert seen[0].per_model
    assert len(contents(project.root / FOLDER)) == 1  # of the whole corpus, in place of batches
    assert without_date(resumed) == whole


@pytest.mark.parametrize(
    ("more", "force", "measured"),
    [("One more text.\n", False, [3, 4, 5]), ("", True, [0, 1, 2, 3, 4, 5])],
    ids=["a longer corpus", "force"],
)
def test_what_was_kept_is_taken_up_or_forgotten(
    cut_short, asked, project, monkeypatch, more, force, measured
):
    with (project.root / "texts.txt").open("a") as file:
        file.write(more)
    seen = stop_after(monkeypatch, None)
    run.datasets(asked(cluster={"texts": 4}), project, lambda *_: None, force=force)
    assert [piece.batch for piece in seen] == measured


def test_batches_that_are_there_count_once_and_the_passage_is_measured_all_the_same(
    datasets, project, monkeypatch
):
    """Cut short after the last batch: nothing is left but what is measured once."""
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(passage_kind, "joined", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        datasets(size=4)
    seen = stop_after(monkeypatch, None)
    found = PassageData(datasets(size=4)).manifest["corpus"]
    assert seen == [Piece(None, per_model=True)]
    assert (found["texts"], found["left_out"]) == (21, 2)


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_sums_of_a_batch_are_measured_again(task, loaded, damage):
    one = task(8)
    measured(one, loaded)
    [path, *_] = sorted(one.kept.folder.glob("batches/*"))
    whole = path.read_text()
    path.write_text(damage(whole))
    assert sum(bool(piece.texts) for piece in Gathering(one).pieces()) == 1
    measured(one, loaded)
    assert path.read_text() == whole


@pytest.mark.parametrize("damage", [None, "force", *DAMAGE])
def test_another_passage_reads_the_passage_alone(datasets, project, monkeypatch, damage):
    """Of a corpus that was read to the end, unless what is kept of it is damaged or forgotten."""
    before = PassageData(datasets(size=8)).head_statistics
    [path] = (project.root / FOLDER).rglob("*.json")
    passage = project.root / "passage.md"
    passage.write_text(f"{passage.read_text()} And so it was.\n")
    seen = stop_after(monkeypatch, None)
    if damage in DAMAGE:
        path.write_text(DAMAGE[damage](path.read_text()))
    after = PassageData(datasets(size=8, force=damage == "force")).head_statistics
    assert [piece.batch for piece in seen] == ([0, 1, 2] if damage else [None])
    of_corpus = before["source"] == "corpus"
    for name, values in before.items():
        np.testing.assert_array_equal(values[of_corpus], after[name][of_corpus])
    assert (before["distance"] != after["distance"]).any()


def test_other_weights_settings_or_code_have_other_batches(task):
    one = task()
    root = one.kept.folder.parents[2]
    for part in ("model", "settings", "code", "libraries", "measures"):
        other = Kept(root, one.parts | {part: {"other": 1}}, NOT_IN_SUMS)
        assert other.folder != one.kept.folder
    for part in ("passage", "corpus", "chat", "heads", "predict"):
        other = Kept(root, one.parts | {part: "other"}, NOT_IN_SUMS)
        assert other.folder == one.kept.folder


def lengths(loaded, texts):
    """Tokens of each text that the model takes, and a number of them that one text has."""
    numbers = [len(each) for each in encode_texts(loaded, texts).token_ids.values()]
    return numbers, next(n for n in numbers if numbers.count(n) == 1)


def fail_on(monkeypatch, length):
    """Let every text of so many tokens fail in its second layer."""
    original = measure.TextRecorder.attention

    def attention(self, layer, *others):
        if layer == 1 and self.tokens == length:
            raise ReportError(f"{length} tokens are too many for this test")
        return original(self, layer, *others)

    monkeypatch.setattr(measure.TextRecorder, "attention", attention)


def test_bad_texts_are_named_and_the_others_kept(asked, datasets, project, loaded, monkeypatch):
    numbers, length = lengths(loaded, texts(23))
    index = numbers.index(length)
    with monkeypatch.context() as patched, pytest.raises(ReportError) as raised:
        fail_on(patched, length)
        datasets(size=4)
    said = str(raised.value)
    assert said.startswith(f"1 text of texts.txt could not be measured (text {index}: {length} tok")
    assert said.endswith(f"or leave it out: `skip: [{index}]` below `corpus:`")
    assert len(contents(project.root / FOLDER)) == 5  # all but the one with that text
    seen = stop_after(monkeypatch, None)
    corpus = {"file": str(project.root / "texts.txt"), "skip": [index]}
    [found] = run.datasets(asked(cluster={"texts": 4}, corpus=corpus), project, lambda *_: None)
    assert PassageData(found.folder).manifest["corpus"]["texts"] == 20
    assert len(seen) >= 1


def test_a_text_that_fails_leaves_nothing_in_the_sums(task, loaded, monkeypatch):
    one = task(23)
    whole = measured(one, loaded)
    one.kept.remove()
    numbers, length = lengths(loaded, texts(23))
    ids = encode_texts(loaded, texts(23)).token_ids
    alone = measure.measure_passage(loaded, ids[numbers.index(length)]).statistics
    fail_on(monkeypatch, length)
    failing = measured(one, loaded)
    assert list(failing.failed) == [numbers.index(length)]
    for name, sums in whole.tally.statistics.sums.items():
        assert (failing.tally.statistics.sums[name] + alone.sums[name] == sums).all()
    assert not one.kept.folder.exists()


def test_a_text_cannot_count_twice(task, loaded):
    one = task(8)
    gathering = Gathering(one)
    pieces = list(gathering.pieces(apart=True))
    results = [
        measure_piece(loaded, gathering.kind, one.inputs, piece, lambda *_: None, print)
        for piece in pieces[:2]
    ]
    for piece, result in zip(pieces, results, strict=False):
        gathering.add(piece, result)
    with pytest.raises(AssertionError, match="what is measured once was measured twice"):
        gathering.add(pieces[0], results[0])
    with pytest.raises(KeyError):  # the batch is done
        gathering.add(pieces[1], results[1])
    with pytest.raises(AssertionError, match="texts are missing"):
        gathering.finished()
    first, _ = pieces[2].halves()
    half = measure_piece(loaded, gathering.kind, one.inputs, first, lambda *_: None, print)
    gathering.add(first, half)
    with pytest.raises(AssertionError, match="a text was counted twice"):
        gathering.add(first, half)


@pytest.mark.promise("ambiguous-weights")
def test_weights_of_zeros_are_said_and_recorded(task, loaded):
    one = task(8)
    piece = next(Gathering(one).pieces(apart=True))
    said, copy = [], replace(loaded, zeros={"b.weight", "a.weight"})
    for model, zeros in ((loaded, None), (copy, ["a.weight", "b.weight"])):
        about = measure_piece(
            model, folders.kind(one.kind), one.inputs, piece, lambda *_: None, said.append
        ).model
        assert about["model"].get("zeros") == zeros
        assert any("2 weights of nothing but zeros" in line for line in said) == bool(zeros)


def test_layer_by_layer_finds_the_text_that_fails(task, loaded, monkeypatch):
    one = task(23)
    partly = load_model(one.source, **one.options | {"layer_by_layer": True}, announce=print)
    numbers, length = lengths(loaded, texts(23))
    whole = measured(one, loaded)
    one.kept.remove()
    fail_on(monkeypatch, length)
    found = measured(one, partly)
    assert list(found.failed) == [numbers.index(length)]
    assert found.tally.statistics.texts == whole.tally.statistics.texts - 1


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("corpus: {file: a.pdf}", r"line 2: 'file' of the corpus: the file 'a.pdf' must end in"),
        ("corpus: {fil: a.txt}", r"line 2: unknown key 'fil' of the corpus; did you mean 'file'"),
        ("corpus: {column: a}", r"line 2: the key 'file' is missing from the corpus"),
        ("cluster: {cpus: 2}", r"line 2: unknown key 'cpus' of the cluster"),
        ("cluster: {num_cpus: 0}", r"line 2: 'num_cpus' of the cluster: .*greater than 0"),
        ("table: a\ncorpus: a.txt", r"says `corpus`, which an article about a table does not"),
    ],
)
def test_mistakes_in_front_matter_are_told_with_their_line(project, lines, message):
    path = project.articles / "small.md.j2"
    path.write_text(path.read_text().replace("---\n", f"---\n{lines}\n", 1))
    with pytest.raises(ReportError, match=message):
        read_study(path)


def test_a_corpus_lies_below_the_publication(project, monkeypatch, tmp_path):
    path = project.articles / "small.md.j2"
    path.write_text(path.read_text().replace("---\n", "---\ncorpus: texts.txt\n", 1))
    monkeypatch.chdir(tmp_path)
    wanted = read_study(path).front_matter
    assert wanted.corpus.file == str(project.root / "texts.txt")
    assert wanted.cluster == ClusterSpec()


def test_frozen_datasets_stand_in_for_a_corpus_that_is_not_here(asked, project, there):
    frozen.freeze("small", [there], project)
    shutil.rmtree(project.site_src / "datasets")
    (project.root / "texts.txt").unlink()
    [found] = run.datasets(asked(), project, lambda *_: None)
    assert found.state == "frozen"


def test_an_unreadable_corpus_blames_its_line(asked, project):
    study = asked(corpus={"file": str(project.root / "none.txt")})
    study = replace(study, header=("title: Small", "corpus: none.txt"), replaced=())
    with pytest.raises(ReportError, match=r"small\.md\.j2, line 3: the texts of .*none\.txt"):
        run.datasets(study, project, lambda *_: None)
