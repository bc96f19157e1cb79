"""What article 2 says of answers: true of whatever came out, and nothing where nothing was asked.

The article's own template is rendered with made studies; no picture is drawn.
"""

import html
import re

import pytest

from report.datasets import store
from report.study.study import read_study
from tests import made_answers, made_conditions, rendered
from tests.commands import ROOT

TEMPLATE = ROOT / "templates" / "articles" / "filler-tokens.md.j2"
HEADING = "## Does it help the answer?"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function from what answers are like, one dict a model, to the article's text, the section
    about them, and the names of its figures."""
    rendered.words_only(monkeypatch)
    monkeypatch.setattr(store, "check", lambda data, source: data)

    def write(*models):
        study = read_study(TEMPLATE, models=["tiny"])
        data = made_conditions.study(tmp_path / "datasets" / "c", ({"layers": 2, "heads": 2},))
        paths = [
            made_answers.write(tmp_path / "datasets" / f"{n}", name=f"m{n}", **made)
            for n, made in enumerate(models)
        ]
        data = data.with_apart(paths) if paths else data
        text = rendered.text_of(study, data, tmp_path)
        figures = rendered.figures(text)
        text = re.sub(rendered.CAPTION, r"\1", text)
        text = html.unescape(re.sub(r"<[^>]*>", "", text))
        section = re.split(r"\n## ", text.partition(HEADING)[2])[0]
        return text, section, figures

    return write


def test_where_nothing_was_asked_nothing_is_said(written):
    text, section, figures = written()
    assert HEADING not in text
    assert section == ""
    assert not [name for name in figures if name.startswith("answers")]
    assert "Whether a model answers better with meaningless tokens was not measured here." in text


CASES = {
    "helps": ({"signs": (1, 1)}, "make the right answer of this model more probable, as the study"),
    "harms": ({"signs": (-1, -1)}, "which is the opposite of what the study says"),
    "nothing": ({"gain": 0, "hits": 0}, "no filler clearly helps or harms this model"),
    "both": ({}, "right answer is depends on the filler and on its length."),
}


@pytest.mark.parametrize("case", CASES)
def test_what_came_out_is_said(written, case):
    made, said = CASES[case]
    text, section, figures = written(made)
    assert said in section
    others = [other for name, (_, other) in CASES.items() if name != case]
    assert not [other for other in others if other in section]
    together = {"harms": "the less it gains", "nothing": "no clear relation"}
    assert together.get(case, "They do, to some extent. That") in section
    assert [name for name in figures if name.startswith("answers")] == [
        "answers_by_length_1",
        "answers_by_attention_1",
    ]
    assert "Whether a model answers better" not in text
    assert "The questions are generated, not those that the study asked. A" in text


def test_numbers_are_those_of_the_datasets(written, tmp_path):
    _, section, _ = written({})
    model = made_answers.model(tmp_path / "again")
    rows = re.findall(
        r"^ *\| .* \| (\d+) \| (\S+) nats .* \| (\S+) percentage", section, re.MULTILINE
    )
    assert len(rows) == len(model.cells)
    for (tokens, log, hits), cell in zip(rows, model.cells, strict=True):
        assert int(tokens) == cell.tokens
        for said, measure, scale in ((log, "log_probability", 1), (hits, "right", 100)):
            value = scale * model.difference(measure, cell.name, cell.tokens).value
            assert float(said.replace("−", "-")) == pytest.approx(value, rel=0.06, abs=1e-4)
    right = 100 * model.mean("right").value
    assert f"answers {right:.1f}\u00a0% of the questions right" in section


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"gain": -0.5}, "the more an answer looks at the filler, the less it gains"),
        ({"attended": False}, ""),
    ],
)
def test_the_relation_with_attention_is_said_as_it_is(written, made, said):
    _, section, figures = written(made)
    assert said in section
    assert ("answers_by_attention_1" in figures) == bool(said)
