"""The measure that the documentation shows, in every place that a measure reaches."""

import re
import shutil

import altair
import numpy as np
import pytest

from report import figure, measure
from report.kinds.passage.data import PassageData
from report.kinds.sweep import measure as sweep_kind
from report.kinds.sweep.data import ModelHabits
from report.site.check import check_site
from tests.commands import report
from tests.documents import blocks
from tests.models.checkpoints import change_weights
from tests.small import CORPUS, SENTENCE
from tests.themed import write_themed
from tests.unpainted import unpainted

(MEASURE,) = blocks("how-to/measures", "python")
(PROSE,) = blocks("how-to/measures", "jinja")
NAME = "two_back"
MOST_LINES = 13
SWEEP = """---
title: A sweep
date: 2026-01-02
author: Ann
summary: What heads do in two models.
sweep: true
models: [{model}, falcon-8x8]
cover: habits_by_model
---
{{% set two = find.strongest("two_back", find.compared[0]) %}}
Most two back: {{{{ two.label }}}} with {{{{ two.value | percent(1) }}}}.

{{{{ figure("habits_by_model") }}}}
"""


ATLAS = """---
title: An atlas
date: 2026-01-02
author: Ann
summary: What heads do.
model: one
corpus: texts.txt
atlas: true
effects: 0
cover: heads_by_two
---
{{ figure("heads_by_two", up="two_back") }}
"""
DIFFERENCE = """---
title: A difference
date: 2026-01-02
author: Ann
summary: What changed.
difference: [one, other]
corpus: texts.txt
cover: change_by_head
---
{{ figure("change_by_head", up="two_back") }}
"""


def write_measure(project, text=MEASURE):
    (project / "measures").mkdir(exist_ok=True)
    (project / "measures" / f"{NAME}.py").write_text(text)


@pytest.fixture(scope="module")
def project(tmp_path_factory, falcon_folder):
    """A built publication: an article about a passage whose prose and figure are of the measure."""
    project = write_themed(tmp_path_factory.mktemp("measure") / "project", "one")
    write_measure(project)
    article = project / "templates" / "articles" / "one.md.j2"
    article.write_text(article.read_text() + "\n" + PROSE)
    read = ("--model", falcon_folder, "--passage", project / "passage.md")
    with unpainted():
        done = report("site", "--project", project, *read)
    assert done.returncode == 0, done.stderr
    return project


@pytest.fixture(scope="module")
def data(project):
    (manifest,) = (project / "site_src/datasets/one").glob("*/manifest.json")
    return PassageData(manifest.parent)


def test_the_file_is_short():
    assert len(MEASURE.splitlines()) <= MOST_LINES


def test_its_numbers_are_those_of_the_attention_that_the_page_shows(data):
    table = data.measured(NAME)
    passage = table["source"] == "passage"
    for place in np.flatnonzero(passage):
        shown = data.attention(table["layer"][place], table["head"][place]).probability
        two_back = [shown[i, i - 2] for i in range(2, data.length)]
        assert table[NAME][place] == pytest.approx(np.mean(two_back), abs=2e-3)
    corpus = ~passage
    assert (table[f"error_{NAME}"][corpus] > 0).all()
    assert np.isnan(table[f"error_{NAME}"][passage]).all()
    assert (table[f"even_{NAME}"] > 0).all()
    assert NAME in data.measures


def test_a_page_says_and_draws_it_and_the_check_passes(project, data):
    assert check_site(project / "site")["figures"] >= 3
    page = (project / "site/articles/one/index.html").read_text()
    table = data.measured(NAME)
    corpus = np.where(table["source"] == "corpus", table[NAME], -1)
    best = int(corpus.argmax())
    assert f"L{table['layer'][best]}H{table['head'][best]} gives" in re.sub("<[^>]+>", "", page)
    assert 'data-figure="heads-two_back"' in page
    assert "Two tokens back" in page
    assert "even attention would give" in page


def test_nothing_is_measured_again_for_words_and_all_is_for_the_code(project, falcon_folder):
    read = ("--model", falcon_folder, "--passage", project / "passage.md")
    write_measure(project, MEASURE.replace("Two tokens back", "Two back"))
    same = report("why", "--project", project, *read)
    write_measure(project, MEASURE.replace("- 2", "- 3"))
    other = report("why", "--project", project, *read)
    write_measure(project)
    assert "own measures changed" not in same.stdout
    assert "the publication's own measures changed" in other.stdout


def test_a_sweep_takes_it(project, falcon_folder, monkeypatch):
    monkeypatch.setattr(sweep_kind, "corpus", lambda: CORPUS)
    (project / "templates/articles/one.md.j2").rename(project / "one.md.j2")
    article = project / "templates/articles/many.md.j2"
    article.write_text(SWEEP.format(model=falcon_folder))
    with unpainted():
        done = report("site", "--project", project)
    article.unlink()
    (project / "one.md.j2").rename(project / "templates/articles/one.md.j2")
    assert done.returncode == 0, done.stderr
    folders = [path.parent for path in (project / "site_src/datasets/many").glob("*/manifest.json")]
    assert len(folders) == 2
    for folder in folders:
        assert NAME in ModelHabits(folder).measures
    assert "Most two back: L" in (project / "site/articles/many/index.html").read_text()


@pytest.mark.parametrize("article", [ATLAS, DIFFERENCE], ids=["atlas", "difference"])
def test_its_words_are_those_of_its_file_as_it_is_now(article, tmp_path, falcon_folder):
    project = write_themed(tmp_path / "project", "one")
    (project / "templates/articles/one.md.j2").write_text(article)
    (project / "texts.txt").write_text("Ann lit the lamp.\nThe lamp was on the hill.\n")
    for name in ("one", "other"):
        shutil.copytree(falcon_folder, project / name)
    change_weights(project / "other", lambda all_of: {k: v * 0.9 for k, v in all_of.items()})
    pages = []
    for title in ("Two tokens back", "Back by two"):
        write_measure(project, MEASURE.replace("Two tokens back", title))
        with unpainted():
            done = report("site", "--project", project)
        assert done.returncode == 0, done.stderr
        charts = (project / "site/figures/one").glob("*.vega.json")
        page = (project / "site/articles/one/index.html").read_text()
        pages.append((title, page, "".join(chart.read_text() for chart in charts)))
    for (title, page, charts), (other, _, _) in (pages, pages[::-1]):
        assert title in page
        assert other not in page
        assert "probability on the token two back" in charts  # beside an axis
    assert "measured (" not in done.stderr  # words change no number


def test_a_notebook_takes_it(project, falcon_folder, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(project)
    measured = measure(falcon_folder, SENTENCE, layers=2)
    heads = measured["heads"]
    assert heads[NAME].between(0, 1).all()
    assert heads[f"rank_{NAME}"].max() == measured.data.heads - 1
    assert isinstance(figure("heads", measured, measure=NAME), altair.TopLevelMixin)


def test_what_is_wrong_with_it_is_one_sentence(project, falcon_folder):
    write_measure(project, '"""What."""\ndef rows(attention): return 1 / 0')
    read = ("--model", falcon_folder, "--passage", project / "passage.md")
    done = report("measure", "--project", project, *read)
    write_measure(project)
    assert done.returncode == 1
    assert "two_back.py, line 2" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_measure_that_no_file_has_is_refused_before_a_model_runs(project, falcon_folder):
    article = project / "templates/articles/one.md.j2"
    text = article.read_text()
    article.write_text(text.replace("title: On one", "title: On one\nmeasures: [three_back]"))
    done = report("measure", "--project", project, "--model", falcon_folder)
    article.write_text(text)
    assert done.returncode == 1
    assert "three_back" in done.stderr
