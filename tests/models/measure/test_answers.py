"""The right answer's probability, and what answers give to a filler, against plain loops."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from report import families
from report.errors import ReportError
from report.inputs.conditions import question_prompt
from report.measurements.precision import summed_by, tolerance
from report.models.load.load import load_model
from report.models.measure import answers
from report.models.measure.answers import Asked, answer_scores, asked, filler_shares
from report.models.text.segments import segmented_prompts
from tests.inputs.filled import with_filler
from tests.models.attention.test_running import CHANGING
from tests.models.tiny_tokenizers import llama3
from tests.tiny_falcon import byte_level_tokenizer, random_falcon

MODELS = ("llama", "gpt2", "falcon", "gemma3", "qwen2")


def prompts(lengths=(9, 4, 12, 4), shared=6, filler=3, seed=0):
    """Prompts of random tokens that begin alike; their answers have one to three tokens."""
    rng = np.random.default_rng(seed)
    begin = rng.integers(3, 97, shared + filler).tolist()
    found = []
    for number, length in enumerate(lengths):
        answer = 1 + number % 3
        ids = begin + rng.integers(3, 97, length + answer).tolist()
        span = range(len(ids) - answer, len(ids))
        found.append(Asked(ids, span, range(shared, shared + filler)))
    return found


def by_hand(model, prompt):
    """(log probability, right) of an answer: the whole prompt alone, a token after the other."""
    with torch.no_grad():
        logits = model(torch.tensor([prompt.token_ids]), use_cache=False).logits[0].double()
    total, right = 0.0, True
    for place in prompt.answer:
        row, token = logits[place - 1], prompt.token_ids[place]
        total += float(row[token] - torch.logsumexp(row, 0))
        right &= int(row.argmax()) == token
    return total, right


def limit(loaded, prompt):
    """How far a log probability of a tiny model may be off by rounding."""
    places = len(prompt.token_ids)
    return len(prompt.answer) * tolerance(summed_by([loaded.model], places), 100, torch.float32)


@pytest.mark.parametrize("name", [*MODELS, "longrope", "dynamic"])
@pytest.mark.parametrize("batch", [1, 30, 2048])
def test_batches_that_share_a_beginning_give_what_single_prompts_give(name, batch, monkeypatch):
    monkeypatch.setattr(answers, "BATCH", batch)
    loaded = CHANGING[name]() if name in CHANGING else families.loaded(name)
    loaded.model.eval()
    asked_ = prompts()
    found = answer_scores(loaded, asked_)
    for place, prompt in enumerate(asked_):
        total, right = by_hand(loaded.model, prompt)
        assert abs(found.log_probability[place] - total) <= limit(loaded, prompt)
        assert found.right[place] == right


def test_a_right_answer_is_seen_as_right():
    """The most probable tokens, one after the other, are the answer."""
    loaded = families.loaded("llama")
    loaded.model.eval()
    (prompt,) = prompts(lengths=(5,))
    ids = prompt.token_ids[: prompt.answer.start]
    for _ in range(3):
        with torch.no_grad():
            ids = [*ids, int(loaded.model(torch.tensor([ids])).logits[0, -1].argmax())]
    best = Asked(ids, range(len(ids) - 3, len(ids)), prompt.filler)
    other = replace(best, token_ids=[*ids[:-1], (ids[-1] + 1) % 97])
    assert answer_scores(loaded, [best, other]).right.tolist() == [True, False]


@pytest.mark.parametrize("name", ["llama", "gpt2", "gemma3"])
def test_what_answers_give_to_the_filler_is_what_transformers_says(name):
    loaded = families.loaded(name)
    asked_ = prompts(filler=4)
    steps = []
    found = filler_shares(loaded, asked_, lambda *step: steps.append(step))
    assert steps[-1] == (len(asked_), len(asked_))
    model = families.tiny(name, 0)
    model.set_attn_implementation("eager")
    model.eval()
    for prompt, share in zip(asked_, found, strict=True):
        with torch.no_grad():
            patterns = model(torch.tensor([prompt.token_ids]), output_attentions=True).attentions
        wanted = np.mean(
            [
                float(pattern[0, head, place - 1, list(prompt.filler)].sum())
                for pattern in patterns
                for head in range(pattern.shape[1])
                for place in prompt.answer
            ]
        )
        assert abs(share - wanted) <= tolerance(summed_by([model], 40), 100, torch.float32)
        assert 0 < share < 1


def test_a_question_becomes_tokens_with_its_answer_at_their_end():
    tokenizer = llama3()
    identity = {"context": None, "vocabulary": len(tokenizer)}
    loaded = SimpleNamespace(tokenizer=tokenizer, identity=identity)
    prompt = with_filler(question_prompt("The lamp.", "How many?"), "////", "f", "f")
    for chat in (False, True):
        (found,) = asked(loaded, [prompt], [34], chat)
        said = tokenizer.decode(found.token_ids)
        assert said.endswith("The answer is 34")
        answer = [found.token_ids[token] for token in found.answer]
        assert tokenizer.decode(answer).strip() == "34"
        filler = [found.token_ids[token] for token in found.filler]
        assert tokenizer.decode(filler).strip() == "////"
        (plain,) = segmented_prompts(loaded, [prompt.segments], chat)
        assert found.token_ids[: len(plain.token_ids)] == plain.token_ids


def test_a_model_that_says_no_next_token_is_refused():
    with pytest.raises(ReportError, match="predicts no next token"):
        answers.require_answers(families.loaded("bert"))


def test_a_model_of_which_a_part_was_loaded_is_refused(tmp_path):
    random_falcon(0).save_pretrained(tmp_path)
    byte_level_tokenizer().save_pretrained(tmp_path)
    answers.require_answers(load_model(tmp_path))
    with pytest.raises(ReportError, match="only some of its layers were loaded"):
        answers.require_answers(load_model(tmp_path, layers=1))
