"""A study of conditions in chat templates: of models that have one, and of one that has none."""

import json
from dataclasses import replace

import pytest

from report.errors import ReportError
from report.kinds.conditions import measure as kind
from report.measuring import run
from report.models.load.load import load_model
from report.models.text.messages import ALONE
from report.models.text.segments import segmented_prompts
from report.project import project as project_in
from report.study.study import read_study
from tests.small import write_publication
from tests.tiny_falcon import byte_level_tokenizer, random_falcon

TEMPLATE = (
    "{% for message in messages %}[{{ message.role }}]{{ message.content }}[end]{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
ARTICLE = """---
title: Fillers
date: 2026-01-02
author: Ann
summary: What it says.
models: [{models}]
chat: {chat}
prompts: {prompts}
conditions:
  - {{name: none}}
  - {{name: filler, before: question, text: "/", times: 9}}
layers: 0-1
---
"""
PROMPTS = """---
title: Sums
source: made up
licence: CC0-1.0
language: en
system: The lamp stood.
---

How many are 3 and 4?

How many are seventeen and four apples?
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A model with a chat template, and one without."""
    folder = tmp_path_factory.mktemp("models")
    for name, template in (("talks", TEMPLATE), ("mute", None)):
        random_falcon(3).save_pretrained(folder / name)
        tokenizer = byte_level_tokenizer()
        tokenizer.chat_template = template
        tokenizer.save_pretrained(folder / name)
    return [folder / "talks", folder / "mute"]


@pytest.fixture
def asked(tmp_path, folders):
    """A function from the value of `chat` to a study of both models, and its project."""

    def of(chat):
        project = project_in(write_publication(tmp_path / chat))
        (project.root / "sums.md").write_text(PROMPTS)
        prompts = project.root / "sums.md"
        text = ARTICLE.format(models=", ".join(map(str, folders)), chat=chat, prompts=prompts)
        (project.articles / "fillers.md.j2").write_text(text)
        return read_study(project.articles / "fillers.md.j2"), project

    return of


def test_where_there_is_a_template_prompts_are_put_into_it(asked, folders):
    study, project = asked("available")
    found = run.datasets(study, project, lambda *step: None, announce=lambda said: None)
    texts = [json.loads((one.folder / "conditions.json").read_text()) for one in found]
    names = [[s["name"] for s in text["conditions"][1]["segments"]] for text in texts]
    plain = ["system", "filler", "question"]
    assert [name for name in names[1] if name != "added"] == plain
    assert names[0] == [
        *("template system", "system", "template user", "filler", "question"),
        "template assistant",
    ]
    assert [condition["added"] for condition in texts[0]["conditions"]] == [None, "filler"]


def test_the_tokens_measured_are_those_of_the_template(asked, folders):
    study, _ = asked("available")
    loaded = load_model(folders[0], layers=2)
    inputs = kind.inputs(study.front_matter)
    measured, _ = kind.measure(loaded, inputs, lambda *step: None, lambda said: None)
    asked = [condition.segments for condition in kind.conditions(loaded, inputs, True)[0]]
    texts = segmented_prompts(loaded, asked, True)
    for text, statistics in zip(texts, measured.conditions, strict=True):
        assert statistics.first.token_ids == text.token_ids
        assert text.text.startswith("[system]The lamp stood.\n[end][user]")


def test_a_model_without_a_template_is_refused_where_all_must_have_one(asked):
    study, project = asked("true")
    with pytest.raises(ReportError, match="has no chat template"):
        run.datasets(study, project, lambda *step: None, announce=lambda said: None)


def test_chats_are_a_part_of_the_key_only_where_they_are_asked_for(asked):
    keys = [kind.parts(kind.inputs(asked(chat)[0].front_matter)) for chat in ("false", "true")]
    assert "chat" not in keys[0]
    assert keys[1].pop("chat") is True
    assert keys[0] == keys[1]


def test_where_a_template_takes_a_filler_off_all_is_the_message_of_the_user(asked, folders):
    study, _ = asked("true")
    loaded = load_model(folders[0], layers=2)
    loaded.tokenizer.chat_template = TEMPLATE.replace("message.content", "message.content | trim")
    lines = study.front_matter.conditions[1].model_copy(update={"name": "lines", "text": "\n"})
    inputs = replace(kind.inputs(study.front_matter), specs=(*study.front_matter.conditions, lines))
    chat = kind.chat_of(loaded, inputs)
    assert chat == ALONE
    every = kind.conditions(loaded, inputs, chat)[0]
    texts = segmented_prompts(loaded, [condition.segments for condition in every], chat)
    for condition, text in zip(every, texts, strict=True):
        assert text.text.startswith("[user]The lamp stood.\n")
        assert (len(text.span("filler")) >= 9) == (condition.name != "none")
