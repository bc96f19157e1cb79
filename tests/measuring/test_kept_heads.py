"""`heads` in front matter: datasets, figures and prose are of the first heads of each layer alone,
with the numbers that they have among all."""

import numpy as np
import pytest

from report.datasets import store
from report.datasets.formats.rounding import PROBABILITY_ERROR
from report.errors import ReportError
from report.figures.parts import choices
from report.kinds import folders
from report.measuring import changes, plan, run
from report.models.find.known import number_of_heads
from report.notebook import measure
from report.pages.templates import environment
from report.project import project as project_in
from report.site.check import check_datasets
from report.study.front_matter import FrontMatter
from report.study.study import read_studies
from tests.small import SENTENCE, write_publication

ROWS = [{"name": "Ann", "age": 3}, {"name": "Ben", "age": 5}, {"name": "Ann", "age": 4}]
MODELS = {"rotary, 2 key heads": "qwen2-5x28", "ALiBi": "falcon-8x8"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory, short_corpus):
    """model, table, heads -> the data, each measured once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        known = {}

        def of(model, table, heads):
            if (model, table, heads) not in known:
                read = {"table": ROWS} if table else {"passage": SENTENCE}
                known[model, table, heads] = measure(model, layers=2, heads=heads, **read).data
            return known[model, table, heads]

        yield of


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_datasets_of_the_first_heads_are_those_of_all_without_the_others(kept, model):
    some, every = kept(model, False, "0-2"), kept(model, False, None)
    assert (some.heads, some.layers) == (3, 2)
    assert every.heads > 3
    files = [set(data.manifest["files"]) for data in (some, every)]
    gone = {name for name in files[1] if name.startswith("attention/")}
    gone = {name for name in gone if int(name.split("/")[2].split(".")[0]) > 2}
    keys = {name for each in files for name in each if name.startswith("keys/")}  # of heads kept
    assert files[0] - keys == files[1] - gone - keys
    assert files[0] & keys <= files[1]
    for layer, head in np.ndindex(some.layers, some.heads):
        one, other = some.attention(layer, head), every.attention(layer, head)
        # heads of one key head are written together, so fewer of them round in another way
        np.testing.assert_allclose(
            one.probability, other.probability, rtol=0, atol=2 * PROBABILITY_ERROR
        )
        assert np.array_equal(one.largest_targets, other.largest_targets)
        if model == MODELS["ALiBi"]:  # each head has keys of its own
            name = f"attention/{layer}/{head}.json"
            assert store.read(some.path / name) == store.read(every.path / name)
    mine, all_of_it = some.head_statistics, every.head_statistics
    here = all_of_it["head"] < 3
    # ranks are among those that are kept
    for column in [name for name in mine if not name.startswith("rank")]:
        np.testing.assert_array_equal(mine[column], all_of_it[column][here], column)
    points, others = some.updates(1)["points"], every.updates(1)["points"]
    for column, values in points.items():
        assert np.array_equal(values, others[column][others["head"] < 3]), column
    assert choices.head_control(some).maximum == 2
    assert some.manifest["heads_kept"] == 3
    assert "heads_kept" not in every.manifest


def test_classes_of_a_table_are_of_the_same_heads(kept):
    some, every = kept("qwen2-5x28", True, 3), kept("qwen2-5x28", True, None)
    first = some.first.name
    for target in some.targets:
        assert np.array_equal(some.shares(target, first), every.shares(target, first)[:, :3])


def test_what_is_kept_is_sound_and_said(kept, tmp_path):
    some = kept("qwen2-5x28", False, "0-2")
    folder = tmp_path / "datasets" / "article"
    folder.mkdir(parents=True)
    (folder / some.path.name).symlink_to(some.path)
    counts = {"datasets": 0}
    assert check_datasets(tmp_path, counts) == []
    assert counts["datasets"] > 6
    page = environment().get_template("kinds/passage/page.md.j2")
    said = "".join(page.blocks["measured"](page.new_context({"data": some})))
    assert "of which the first 3 heads of each layer are kept" in said


def test_more_heads_than_a_model_has_are_refused_before_it_runs(tmp_path):
    path = write_publication(tmp_path) / "templates" / "articles" / "small.md.j2"
    path.write_text(path.read_text("utf-8").replace("title:", "heads: 9\ntitle:"))
    study, project = read_studies(path.parent)[0], project_in(tmp_path)
    said = r"line \d+: .*has 8 heads a layer \(0 to 7\), asked for were the first 9; ask for fewer"
    with pytest.raises(ReportError, match=said):
        plan.plans(study, project, run.read(study))


@pytest.mark.parametrize(
    ("asked", "number"), [("all", None), (None, None), (4, 4), ("4", 4), ("0-3", 4), ("0 - 3", 4)]
)
def test_a_number_or_a_range_says_which(asked, number):
    assert number_of_heads(asked) == number


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("3-5", "must begin at head 0, as heads are counted; 0-5 takes them all"),
        ("some", "must be a number of heads such as 4, a range such as 0-3"),
        (0, "must be at least 1 head; 1 takes the first"),
        ([1, 2], "must be a number of heads"),
    ],
)
def test_other_words_are_refused(asked, said):
    with pytest.raises(ValueError, match=said):
        number_of_heads(asked)


def test_kinds_of_articles_that_do_not_read_it_say_so():
    about = {"title": "T", "date": "2026-01-01", "author": "A", "summary": "S", "heads": 2}
    with pytest.raises(ValueError, match="says `heads`, which an article about a sweep does not"):
        FrontMatter(**about, sweep=True, models=["a", "b"])


def test_the_command_that_measures_again_says_so():
    about = {"title": "T", "date": "2026-01-01", "author": "A", "summary": "S", "heads": "0-2"}
    for kind, read in (("passage", {}), ("table", {"table": "cars"})):
        module = folders.kind(kind)
        assert "--heads 0-2" in " ".join(module.words(module.inputs(FrontMatter(**about, **read))))


def test_other_heads_are_a_reason_to_measure_again(kept):
    parts = kept("qwen2-5x28", False, None).manifest["determined_by"]
    assert changes.changes(parts, parts | {"heads": 3}) == ["heads: all → 3"]
