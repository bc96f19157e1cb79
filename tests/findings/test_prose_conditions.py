"""What article 2 says of studies that differ: true sentences, whatever was measured.

The article's own template is rendered with made studies; no picture is drawn.
"""

import html
import re
import shutil

import numpy as np
import pytest

from report.datasets import store
from report.kinds.conditions.findings import Against, Findings
from report.study.study import read_study
from tests import made_conditions as made
from tests import rendered
from tests.commands import ROOT

TEMPLATE = ROOT / "templates" / "articles" / "filler-tokens.md.j2"
SMALL = (
    {"name": "small-llama", "layers": 3, "heads": 32, "family": "llama", "seed": 1},
    {"name": "qwen2-5x28", "layers": 3, "heads": 28, "family": "qwen2", "seed": 2},
    {"name": "gemma3-6x8", "layers": 3, "heads": 8, "family": "gemma3_text", "seed": 3},
)
FEW = tuple(each | {"heads": heads} for each, heads in zip(SMALL, (8, 7, 4), strict=True))
"""The same with fewer heads, whose files are written and read sooner."""
LARGE = (
    {"name": "meta-llama/Llama-3.1-8B-Instruct", "layers": 3, "heads": 32, "source": "hub"},
    {"name": "Qwen/Qwen2.5-Math-7B", "layers": 3, "heads": 28, "source": "hub"},
    {"name": "google/gemma-3-4b-it", "layers": 3, "heads": 8, "source": "hub"},
)
LARGE = tuple(each | {"num_hidden_layers": 32, "parameters": 8_000_000_000} for each in LARGE)
TINY = ({"layers": 1, "heads": 1}, {"name": "tiny-2", "layers": 1}, {"name": "tiny-3"})


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function from what studies of models are like to the article's text and its figures."""
    rendered.words_only(monkeypatch)
    # hundreds of small files, which other tests check against their schemas
    monkeypatch.setattr(store, "check", lambda data, source: data)

    def write(models=SMALL, asked=None, **options):
        names = asked or [each.get("name", "tiny") for each in models]
        study = read_study(TEMPLATE, models=names)
        shutil.rmtree(tmp_path / "datasets", ignore_errors=True)
        data = made.study(tmp_path / "datasets", models, **options)
        text = rendered.text_of(study, data, tmp_path)
        figures = rendered.figures(text)
        assert not re.search(r"\d", rendered.answer(text))
        text = rendered.captions_alone(text)
        text = re.sub(r"<[^>]*>", "", text)
        return html.unescape(text), figures

    return write


EVERY = {
    "small": (SMALL, {}),
    "large": (LARGE, {}),
    "tiny": (TINY, {}),
    "one model": (FEW[:1], {}),
    "two models": (FEW[:2], {}),
    "one prompt": (FEW, {"prompts": 1}),
    "no sentence": (FEW, {"conditions": ("none", "filler")}),
    "scores alone": ([each | {"error": np.nan} for each in FEW], {}),
    "all but exact": ([each | {"error": 0.001, "moved": 0} for each in FEW], {}),
    "exact": ([each | {"error": 0.12} for each in FEW], {}),
    "poor": ([each | {"error": 0.7} for each in FEW], {}),
    "much taken": ([each | {"taken": [0.8, 0.4, 0.2]} for each in FEW[:2]], {}),
    "learned positions": ([each | {"terms": ["content"]} for each in FEW], {}),
    "merged": ([each | {"merged": True} for each in FEW], {}),
    "other lengths": ([each | {"lengths": {"sentence": 7}} for each in FEW], {}),
}


@pytest.mark.parametrize("kind", EVERY)
def test_sentences_are_whole(written, kind):
    models, options = EVERY[kind]
    text, figures = written(models, **options)
    assert figures[0] == "filler_effect"
    assert "{{" not in rendered.body(text).replace(
        "Think {{ 1 }} <i>well</i>.", ""
    )  # that is the prompt


def test_the_study_s_panels_are_all_there_and_in_its_order(written):
    text, figures = written()
    assert figures == [
        "filler_effect",
        "filler_lines",
        "filler_lines_2",
        "filler_kinds",
        "filler_against",
        "filler_layers",
    ]
    assert "Not all that the study shows is here" not in text


def test_models_without_the_study_s_heads_show_others_and_say_so(written):
    text, figures = written(TINY)
    assert figures[:3] == ["filler_effect", "filler_lines", "filler_lines_2"]
    assert figures[-2:] == ["filler_against", "filler_layers"]
    assert (
        "study shows is here: tiny has 1 head, counted from 0, so there are no heads 19, " in text
    )
    assert "shows the head of layer\u00a00 from which the meaningless tokens take most." in text
    assert "shows the heads of layer\u00a00 from which the meaningless tokens take most." in text
    assert "tiny-2 has 4 heads, counted from 0, so there is no head 7." in text
    assert "so there is no head 21" in text
    few = [SMALL[0] | {"heads": 25}, SMALL[1] | {"layers": 2}]
    text, figures = written(few)
    assert "study shows is here: small-llama has 25 heads, counted from 0, so there is" in text
    assert "qwen2-5x28 has 2 layers measured, counted from 0, so there is no layer 2." in text
    assert "shows it for three heads of the first layer" in text
    assert "| not measured |" in text


def test_one_model_has_its_six_panels_and_its_layers(written):
    text, figures = written(TINY[2:])
    assert "there is no model" not in text
    assert [name for name in figures if name in ("filler_lines", "filler_lines_2")] == [
        "filler_lines"
    ]
    assert "filler_layers" in figures


def test_small_models_say_what_they_stand_in_for(written):
    asked = ["meta-llama/Llama-3.1-8B-Instruct or small-llama", "b/c or qwen2-5x28", "gemma3-6x8"]
    text, _ = written(asked=asked)
    assert re.search(
        r"\[small-llama\]\(\S+\) \(1,234 parameters\) stands in for Llama-3\.1-8B-Instruct and "
        r"\[qwen2-5x28\]\(\S+\) \(1,234\) for c\.",
        text,
    )
    assert "some were not on the machine that built this page" in text
    assert not re.search(r"\[gemma3-6x8\]\(\S+\) \([^)]*\) (stands in )?for", text)
    assert "Some small models stand in" in text
    assert "nothing here confirms or contradicts the study" in text


def test_the_study_s_own_models_stand_for_themselves(written):
    asked = [f"{each['name']} or {small['name']}" for each, small in zip(LARGE, SMALL, strict=True)]
    text, _ = written(LARGE, asked)
    assert "stand in" not in text
    assert "confirms or contradicts" not in text
    assert "Llama-3.1-8B-Instruct L0H19" not in text.split("##")[0]
    assert "Only the first layers were measured, since that is where the study looks." in text
    assert "| Layers measured | the first 3 of 32 |" in text


def test_numbers_are_those_of_the_data(written, tmp_path):
    models = [each | {"taken": 0.1 + n / 10} for n, each in enumerate(SMALL)]
    text, _ = written(models)
    for n, each in enumerate(models):
        effects = made.open_study([tmp_path / "datasets" / f"{n}"]).models[0].layer_effects
        at = (effects["condition"] == "filler") & (effects["rows"] == "mean")
        value = 1 - effects["lambda"][at & (effects["layer"] == 0)][0]
        row = next(line for line in text.split("\n") if line.startswith("| 0 |"))
        said = row.split("|")[n + 2]
        number = re.search(r"[\d.]+", said)[0]
        rounded = 0.51 * 10.0 ** -len(number.partition(".")[2])
        assert float(number) == pytest.approx(100 * value, abs=rounded)
        assert value == pytest.approx(0.1 + n / 10, abs=0.06)
        assert each["name"] in text


@pytest.mark.parametrize(
    ("changes", "said", "not_said"),
    [
        ({"taken": 0.1}, "heads find them dull", "that is more than uniform attention"),
        ({"taken": 0.7}, "that is more than uniform attention in every", "find them dull"),
        ({"error": 0.001}, "In layer\u00a00, the reading is all but exact", "is poor"),
        ({"error": 0.1}, "In layer\u00a00, the reading is good", "all but exact"),
        ({"error": 0.8}, "The reading is poor, already in layer\u00a00.", "is good"),
        ({"error": 0.3}, "In layer\u00a00, the reading tells most of what happens", "is good"),
        ({"moved": 0.2}, "It does in every model: at most 1", "It does not do so clearly"),
        ({"error": 0.3}, "of what was unexplained is left.", "what was unexplained is left,"),
        ({"error": np.nan}, "that moved before moves now.", "what was unexplained"),
        ({"terms": ["content"]}, "the question is now 9 tokens farther", "how far apart its"),
        ({"merged": True}, "one token (“*./”) is the end of the instruction", "No token of"),
        ({}, "A smaller λ is neither good nor bad.", "is the end of"),
        ({"taken": 0.01}, "meaningless tokens take hardly any attention", "take some"),
        ({"taken": 0.1}, "meaningless tokens take some attention", "a good part"),
        ({"taken": 0.5}, "tokens take a good part of the attention", "take some"),
        ({"moved": 0.0}, "what is left goes where it went before", "most of what is left"),
        ({"moved": 0.8}, "much of what is left goes elsewhere", "where it went before"),
        ({}, "in every model: all fillers move the same in every head", "of tiny"),
    ],
)
def test_sentences_go_by_the_numbers(written, changes, said, not_said):
    text, _ = written([each | changes for each in FEW])
    assert said in text
    assert not_said not in text


def test_the_most_that_a_head_gives_is_named_with_its_model_and_layer(written):
    text, _ = written([SMALL[0], SMALL[1] | {"taken": [0.2, 0.2, 0.8]}, SMALL[2]])
    assert re.search(
        r"that they take from any head is [89]\d\s%, from L2H\d+ of qwen2-5x28\.", text
    )


def test_what_old_tokens_keep_is_explained_only_where_the_data_do(written, monkeypatch):
    monkeypatch.setattr(Findings, "diluted", lambda *_: True)
    text, _ = written()
    assert "That is why Figure 2 has the old tokens keep " in text
    monkeypatch.setattr(Findings, "diluted", lambda *_: False)
    text, _ = written()
    assert "That is why" not in text


def test_heads_that_give_a_sentence_more_are_named_and_those_whose_slashes_look_higher(
    written, monkeypatch
):
    places = [((1, 0, 0), 0.2, 0.4), ((0, 0, 26), 0.25, 0.5)]
    monkeypatch.setattr(Findings, "against", lambda *_: Against(places, [(0, 0, 26)], []))
    text, _ = written()
    assert "L0H0 of qwen2-5x28 40\u00a0% against 20\u00a0%; L0H26 of small-llama 50" in text
    assert "nevertheless higher in L0H26 of small-llama: there they get more from each" in text
    monkeypatch.setattr(Findings, "against", lambda *_: Against(places, [(0, 0, 26)], [(1, 0, 0)]))
    text, _ = written()
    assert "higher in L0H26 of small-llama, and about as high in L0H0 of qwen2-5x28: " in text
    monkeypatch.setattr(Findings, "against", lambda *_: Against(places, [], [(1, 0, 0)]))
    text, _ = written()
    assert "are nevertheless about as high in L0H0 of qwen2-5x28: there they" in text
    monkeypatch.setattr(Findings, "against", lambda *_: Against(places, [], []))
    text, _ = written()
    assert "from each other" not in text


def test_the_study_s_own_values_say_where_and_with_what_they_were_read(written):
    text, _ = written()
    assert "| Measured here: highest value, over the positions that all questions have |" in text
    assert "| about 0.08 near position 60 |" in text
    row = next(line for line in text.split("\n") if "| Gemma, layer 1 head 8" in line)
    assert re.search(r", L0H7 of gemma3-6x8, with (a sentence|meaningless tokens) \|$", row)
    text, _ = written(prompts=1)
    assert "| Measured here: highest value |" in text


def test_kinds_that_do_not_move_alike_are_not_said_to(written):
    text, _ = written([each | {"lengths": {"sentence": 7}} for each in SMALL])
    assert "How much a filler takes depends on the filler." in text
    assert "moves* in the first layer does not" not in text
    assert not re.search(r"All fillers have \d+ tokens", text)


def test_only_the_study_s_own_numbers_are_typed():
    """No digit in the prose but layers, panels, and the table of what the study reported."""
    folder = TEMPLATE.with_name("filler-tokens")
    for path in folder.glob("*.md.j2"):
        if path.name == "reported.md.j2":
            continue
        text = re.sub(r"\{[{%#].*?[#%}]\}", "", path.read_text("utf-8"), flags=re.DOTALL)
        text = re.sub(
            r"arXiv 2510\.01032|abs/2510\.01032|\(2021\)|[Ll]ayers?(?: |&nbsp;|\\u00a0)[01]\b",
            "",
            text,
        )
        text = re.sub(
            r"95 % bootstrap|clearly above 0|"
            r"1&nbsp;−&nbsp;(?:λ|\*\*)|sum to 1|count(?:s)? from [01]|head 20 is L0H19|L0H|be 0 in",
            "",
            text,
        )
        assert not re.findall(r"\d", text), (path.name, re.findall(r".{20}\d.{20}", text))


def test_front_matter_is_short():
    header = TEMPLATE.read_text("utf-8").split("---\n")[1]
    assert len(header.splitlines()) <= 16
