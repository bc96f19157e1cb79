"""The segments of a prompt find their places in chat templates, which do as they like."""

import json

import pytest

from report.errors import ReportError
from report.inputs.conditions import BEGUN, FILLER, Condition, Segment, question_prompt
from report.models.text import chat, chat_process
from report.models.text.messages import chat_segments, replaceable
from report.models.text.segments import align, segmented_prompts
from tests.inputs.filled import with_filler
from tests.models import tiny_tokenizers as kinds
from tests.models.text.test_tokens import with_tokenizer

CHATML = (
    "{% for message in messages %}{% if loop.first and message['role'] != 'system' %}"
    "<|im_start|>system\nYou help.<|im_end|>\n{% endif %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA = (
    "{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message.role }}"
    "<|end_header_id|>\n\n{{ message.content | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
USER_ONLY = (
    "{{ bos_token }}{% for message in messages %}{% if message.role == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}<turn>{{ message.role }}\n"
    "{{ message.content | trim }}</turn>\n{% endfor %}<turn>model\n"
)
MERGED = (
    "{% set before = '' %}{% if messages[0].role == 'system' %}"
    "{% set before = messages[0].content + '\n\n' %}{% set messages = messages[1:] %}{% endif %}"
    "{% for message in messages %}<turn>{{ message.role }}\n"
    "{{ (before if loop.first else '') + message.content | trim }}</turn>\n{% endfor %}"
    "<turn>model\n"
)
DEAF = "{% for m in messages if m.role == 'user' %}[INST]{{ m.content }}[/INST]{% endfor %}"
STRIPPING = "{% for m in messages %}{{ m.role }}:{{ m.content.strip() }}|{% endfor %}assistant:"
TEMPLATES = {
    "chatml": CHATML,
    "llama": LLAMA,
    "refuses the system": USER_ONLY,
    "merges the system": MERGED,
    "leaves the system out": DEAF,
    "strips": STRIPPING,
}
ALONE = ("refuses the system", "leaves the system out")
"""Templates that get all of a prompt as the message of the user."""


@pytest.fixture(scope="module", autouse=True)
def in_this_process():
    """Templates are filled in here, where a second a template does not add up."""

    def answers(asked, memory, seconds):
        return json.dumps(chat_process.answers(json.loads(asked)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chat, "_answers", answers)
        yield


_ANSWERS = chat._answers


@pytest.fixture(scope="module")
def tokenizer():
    wrapped = kinds.llama3()
    wrapped.add_tokens(["<|im_start|>", "<|im_end|>"], special_tokens=True)
    return wrapped


@pytest.fixture(scope="module", params=TEMPLATES)
def template(request, tokenizer):
    tokenizer.chat_template = TEMPLATES[request.param]
    return request.param


@pytest.fixture(scope="module")
def texts(tokenizer, template):
    """What a template makes of every condition, and with the beginning of an answer after it."""
    loaded, every = with_tokenizer(tokenizer, 4096), prompts()
    asked = [condition.segments for condition in every.values()]
    begun = [[Segment(BEGUN, "The lamp")]] * len(asked)
    return {
        "plain": dict(zip(every, segmented_prompts(loaded, asked, True), strict=True)),
        "begun": dict(zip(every, segmented_prompts(loaded, asked, True, begun), strict=True)),
    }


def prompts():
    """The conditions of one prompt."""
    none = question_prompt("The lamp was lit.", "Who lit the lamp?")
    filled = with_filler(none, "/" * 9, "filler", "f")
    return {
        "none": none,
        "filler": filled,
        "front": none.inserted(Segment(FILLER, "////\n"), "system", "front", "f"),
        "without system": none.without("system", "without", "w"),
        "spaces": none.replaced(Segment("question", " \n Who lit it?\n\n"), "spaces", "s"),
    }


def messages(condition: Condition, alone: bool) -> list[dict]:
    """The messages of a prompt as they are meant to be, written out again."""
    texts = [(segment.name, segment.text) for segment in condition.segments]
    names = [name for name, _ in texts]
    split = names.index("system") + 1 if "system" in names and not alone else 0
    parts = [("system", texts[:split]), ("user", texts[split:])]
    return [
        {"role": role, "content": "".join(text for _, text in part)} for role, part in parts if part
    ]


def test_a_prompt_in_a_template_is_what_transformers_makes_of_its_messages(
    tokenizer, template, texts
):
    for name, prompt in prompts().items():
        said = messages(prompt, template in ALONE)
        text = texts["plain"][name]
        expected = tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
        assert text.text == expected
        assert text.token_ids == tokenizer(expected, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("condition", prompts())
def test_every_token_in_a_template_has_its_segment(texts, condition):
    prompt, text = prompts()[condition], texts["plain"][condition]
    assert len(text.segment) == len(text.token_ids)
    assert "added" not in text.segment
    whole = b"".join(_bytes(text, name) for name in text.texts)
    assert whole.decode() == text.text, "the segments follow each other without a gap"
    for segment in prompt.segments:
        kept = text.texts[segment.name]
        assert kept.strip() == segment.text.strip()
        if not text.crossings:
            assert _bytes(text, segment.name).decode() == kept
    written = {name for name in text.texts if name.startswith("template ")}
    assert written <= {"template system", "template user", "template assistant"}
    assert {*text.segment} <= written | {segment.name for segment in prompt.segments}


def _bytes(text, name):
    tokens = [token for token, segment in enumerate(text.segment) if segment == name]
    assert tokens == [*text.span(name)], "a segment is not torn apart"
    return b"".join(kinds.raw(text.tokens[token]) for token in tokens)


def test_a_filler_pushes_nothing_else_away(texts):
    """All tokens of the prompt and of the template are there with a filler, too."""
    one, other = texts["plain"]["none"], texts["plain"]["filler"]
    assert one.crossings == other.crossings == []
    rest = [token for token, segment in enumerate(other.segment) if segment != FILLER]
    assert len(rest) < len(other.segment)
    assert align(one, other) == rest


def test_an_answer_begins_after_the_template(texts):
    for plain, begun in zip(texts["plain"].values(), texts["begun"].values(), strict=True):
        assert begun.text == f"{plain.text}The lamp"
        assert [*begun.span(BEGUN)][-1] == len(begun.token_ids) - 1


def test_a_segment_is_replaced_as_the_template_would_place_the_new_one(tokenizer, template):
    plain = prompts()["none"]
    for name, before in ((FILLER, "question"), (FILLER, "system"), ("system", None)):

        def changed(text, name=name, before=before):
            segment = Segment(name, text)
            named = plain.inserted(segment, before, "c", "c") if before else None
            return (named or plain.replaced(segment, "c", "c")).segments

        tried = ["////\n", "The old hill.", " a b \n"]
        placed = replaceable(tokenizer, changed, name, True)
        assert [placed(text) for text in tried] == chat_segments(tokenizer, [*map(changed, tried)])


def test_many_prompts_are_put_into_a_template_by_one_process(tokenizer, monkeypatch):
    ran = []
    monkeypatch.setattr(chat, "_answers", _ANSWERS)
    run = chat.subprocess.run
    monkeypatch.setattr(chat.subprocess, "run", lambda *a, **k: ran.append(a) or run(*a, **k))
    monkeypatch.setattr(tokenizer, "chat_template", CHATML)
    asked = [question_prompt("The lamp stood.", f"What is {n}?").segments for n in range(300)]
    placed = chat_segments(tokenizer, asked)
    assert [one[-2].text for one in placed][::100] == [one[-1].text for one in asked][::100]
    assert chat_segments(tokenizer, asked) == placed
    assert len(ran) == 1


def test_a_filler_of_white_space_that_a_template_takes_off_is_refused(tokenizer, monkeypatch):
    monkeypatch.setattr(tokenizer, "chat_template", LLAMA)
    lines = prompts()["none"].inserted(Segment(FILLER, "\n" * 9), "question", "lines", "l")
    with pytest.raises(ReportError, match="leaves nothing of the segment 'filler'"):
        chat_segments(tokenizer, [lines.segments])


@pytest.mark.parametrize(
    "template",
    [
        "{% for m in messages %}{{ m.content | upper }}{% endfor %}",
        "{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}",
        "{% for m in messages %}{{ m.content[:9] }}{% endfor %}",
        "nothing",
    ],
)
def test_a_template_that_changes_messages_is_refused(tokenizer, monkeypatch, template):
    monkeypatch.setattr(tokenizer, "chat_template", template)
    with pytest.raises(ReportError, match="changes the text of a message"):
        chat_segments(tokenizer, [prompts()["none"].segments])


@pytest.mark.parametrize("name", ["template user", "begun", "answer"])
def test_names_of_segments_around_a_prompt_are_taken(name):
    with pytest.raises(ReportError, match="give every segment a name of its own"):
        Condition("c", "c", (Segment(name, "text"),))
