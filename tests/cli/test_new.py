"""`report new`: one file that builds at once, and front matter that a reader can change."""

import json
import re

import pytest

from report.pages.new import kinds
from report.study.study import read_studies
from tests.commands import ROOT, contents
from tests.site import tiny_models
from tests.small import SENTENCE

pytestmark = pytest.mark.usefixtures("no_pictures")

ARTICLES = ROOT / "templates" / "articles"
MOST_LINES = 16


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """The folder of a tiny model that every skeleton can be built on."""
    return tiny_models.save("llama", tmp_path_factory.mktemp("models") / "tiny-llama")


@pytest.fixture
def project(project):
    """A publication without an article."""
    (project / "templates" / "articles" / "small.md.j2").unlink()
    return project


def article(project, name="my-study"):
    return project / "templates" / "articles" / f"{name}.md.j2"


def change(project, *pairs):
    text = article(project).read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    article(project).write_text(text)


@pytest.mark.parametrize("kind", kinds())
def test_a_new_article_of_every_kind_builds(run, project, llama, kind):
    done = run("new", "my-study", "--kind", kind, "--project", project)
    assert done.code == 0
    assert f"report site --study my-study --project {project}`" in done.said
    change(project, ("falcon-8x8", str(llama)))
    if "qwen2-5x28" in article(project).read_text():
        change(project, ("qwen2-5x28", save_other(project)))
    if kind == "atlas":  # reads 432 texts
        change(project, ("\natlas: true", "\ncorpus: few.jsonl\natlas: true"))
        lines = [json.dumps({"text": f"{SENTENCE} {number}"}) for number in range(6)]
        (project / "few.jsonl").write_text("\n".join(lines))
    assert run("render", "--project", project).code == 0
    page = (project / "site_src" / "articles" / "my-study" / "index.md").read_text()
    assert page.count('<figure class="live-figure') >= 1
    assert "# My study" in page


def test_model_passage_and_layers_are_all_that_it_takes(run, project, llama):
    run("new", "my-study", "--project", project)
    passage = "passage: {dataset: seattle-weather, row: 3, columns: [date, weather]}"
    change(
        project,
        ("model: falcon-8x8 ", f"models: [{llama}, {save_other(project)}] "),
        ("passage: the-lamp-on-the-hill ", f"{passage} "),
        ("layers: all", "layers: 1"),
    )
    assert run("render", "--project", project).code == 0
    page = (project / "site_src" / "articles" / "my-study" / "index.md").read_text()
    assert "Row 3 of seattle&#45;weather" in page
    assert page.count('data-param="model"') >= 8, "two radio buttons in every figure of one model"
    assert 'data-figure="first_token_by_model"' in page


def test_a_new_article_opens_at_a_head_worth_seeing(run, project, llama):
    run("new", "my-study", "--project", project)
    change(project, ("model: falcon-8x8 ", f"model: {llama} "))
    assert run("render", "--project", project).code == 0
    page = (project / "site_src" / "articles" / "my-study" / "index.md").read_text()
    [said] = re.findall(r"It opens at <span[^>]*>L(\d+)H(\d+)</span>, (whose top|the head)", page)
    controls = page.partition('data-figure="attention_map"')[2]
    at = [
        re.search(rf'name="{name}"[^>]* value="(\d+)"', controls)[1] for name in ("layer", "head")
    ]
    assert [*said[:2]] == at


def save_other(project):
    tiny_models.save("gpt2", project / "runs" / "tiny-gpt2")
    return "runs/tiny-gpt2"  # below the project: found wherever the command runs


NO_NAMES = {
    ("my-study",): "there is an article 'my-study' already",
    ("My Study",): "cannot name an article: it is a part of its address",
    ("../../etc",): "Try 'etc'.",
    ("a" * 65,): "at most 64",
    ("other", "--kind", "poem"): f"there are: {', '.join(sorted(kinds()))}.",
}


@pytest.mark.parametrize("arguments", NO_NAMES)
def test_a_name_that_is_taken_or_none_is_refused(run, project, arguments):
    run("new", "my-study", "--project", project)
    before = contents(project)
    done = run("new", *arguments, "--project", project)
    assert done.code == 2
    assert NO_NAMES[arguments] in done.error
    assert contents(project) == before


def test_no_study_has_more_than_sixteen_lines_of_front_matter(run, project):
    for kind in kinds():
        run("new", f"my-{kind}", "--kind", kind, "--project", project)
    for folder in (ARTICLES, article(project).parent):
        studies = read_studies(folder)
        assert len(studies) >= 3
        for study in studies:
            assert len(study.header) <= MOST_LINES, study.name


@pytest.mark.promise("killed-commands")
@pytest.mark.parametrize("within", [True, False])
def test_what_a_killed_command_left_is_removed(run, project, tmp_path, monkeypatch, within):
    monkeypatch.chdir(tmp_path)
    folder = article(project).parent if within else tmp_path
    left = folder / ".my-study.0123abcd.report.tmp"
    left.write_text("x")
    assert run("new", "another-study", *(("--project", project) if within else ())).code == 0
    assert not left.exists()
