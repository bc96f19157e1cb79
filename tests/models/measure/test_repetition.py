"""Induction and loss of whole models, against transformers' own eager attentions and losses."""

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertForMaskedLM,
    LlamaConfig,
    LlamaForCausalLM,
)

from report.errors import ReportError
from report.measurements.induction import repeated_sequence, unrepeated_sequence
from report.measurements.precision import summed_by, tolerance
from report.models.attention.capture import attached
from report.models.load.load import load_model
from report.models.measure.loss import mean_loss, predicts, text_loss
from report.models.measure.repetition import SEQUENCES, repetition, span
from tests.close import require_close
from tests.models.checkpoints import save
from tests.models.recording import DenseRecorder, largest_score, plain
from tests.tiny_falcon import byte_level_tokenizer

WORDS = 150


@pytest.fixture(scope="module")
def llama_folder(tmp_path_factory):
    """A tiny Llama with peaky attention, and the tokenizer with a beginning-of-text token."""
    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=320,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=160,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "q_proj" in name or "k_proj" in name:
                parameter.normal_(std=0.6)
    folder = tmp_path_factory.mktemp("llama")
    model.save_pretrained(folder)
    byte_level_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def loaded(llama_folder):
    return load_model(llama_folder)


@pytest.fixture(scope="module")
def eager(llama_folder):
    """The same model as transformers runs it, with attentions."""
    return AutoModelForCausalLM.from_pretrained(
        llama_folder, attn_implementation="eager", dtype=torch.float32
    ).eval()


@pytest.fixture(scope="module")
def found(loaded):
    return repetition(loaded)


@pytest.fixture(scope="module")
def run(eager):
    """A function of token ids to (attentions [layers, heads, query, key], logits), memorised."""
    memory = {}

    def run(ids):
        key = tuple(map(int, ids))
        if key not in memory:
            with torch.no_grad():
                output = eager(torch.tensor([key]), output_attentions=True)
            attentions = torch.cat(output.attentions).double().numpy()
            memory[key] = attentions, output.logits[0].double()
        return memory[key]

    return run


@pytest.fixture(scope="module")
def rounding(loaded):
    """What rounding explains of a probability of the model, which is off as its scores are."""
    recorder = DenseRecorder()
    ids = drawn(repeated_sequence, 0)
    with attached(loaded.model, recorder):
        plain(loaded.model, [int(each) for each in ids])
    return tolerance(summed_by([loaded.model], len(ids)), largest_score(recorder))


def require_loss(model, found, expected, logits):
    """Fail unless a loss is right but for what rounding makes of logits, and of their sum."""
    summed = summed_by([model], len(logits)) + logits.shape[-1]
    require_close(found, expected, summed, max(1.0, float(logits.abs().max())))


def drawn(make, seed):
    return make(np.arange(1, len(byte_level_tokenizer())), 64, 0, seed)


@pytest.mark.parametrize(
    ("name", "make"), [("induction", repeated_sequence), ("unrepeated", unrepeated_sequence)]
)
def test_scores_are_loops_over_the_attentions_of_transformers(found, run, rounding, name, make):
    assert found.length == 64
    assert getattr(found, name).shape == (SEQUENCES, 2, 4)
    for seed in range(SEQUENCES):
        attentions, _ = run(drawn(make, seed))
        for layer in range(2):
            for head in range(4):
                total = 0
                for current in range(65, 129):  # its earlier occurrence, and the token after that
                    total += attentions[layer, head, current, current - 64 + 1]
                score = getattr(found, name)[seed, layer, head]
                assert abs(score - total / 64) <= rounding


def test_previous_tokens_are_a_loop_over_the_attentions_of_transformers(found, run, rounding):
    for seed in range(SEQUENCES):
        attentions, _ = run(drawn(repeated_sequence, seed))
        expected = sum(attentions[:, :, current, current - 1] for current in range(2, 129)) / 127
        np.testing.assert_allclose(found.previous_token[seed], expected, rtol=0, atol=rounding)


def test_losses_are_over_the_same_tokens_said_first_said_again_and_said_once(found, run, eager):
    for seed in range(SEQUENCES):
        repeated, once = (drawn(make, seed) for make in (repeated_sequence, unrepeated_sequence))
        for ids, places, loss in (
            (repeated, range(2, 65), found.loss_first),
            (repeated, range(66, 129), found.loss_second),
            (once, range(66, 129), found.loss_unrepeated),
        ):
            logits = run(ids)[1].log_softmax(-1)
            expected = np.mean([-logits[place - 1, ids[place]].item() for place in places])
            require_loss(eager, loss[seed], expected, logits)
        assert [repeated[place] for place in range(2, 65)] == list(repeated[66:129])


def test_the_loss_of_texts_is_that_of_transformers(loaded, eager):
    texts = [[0, 5, 9, 200, 5], [0, 31, 7]]
    with torch.no_grad():
        losses = [eager(torch.tensor([t]), labels=torch.tensor([t])).loss.item() for t in texts]
    logits = plain(eager, texts[0]).logits[0].log_softmax(-1)
    require_loss(eager, text_loss(loaded.model, texts[0]) / 4, losses[0], logits)
    mean = (4 * losses[0] + 2 * losses[1]) / 6
    require_loss(eager, mean_loss(loaded.model, texts), mean, logits)


def test_a_model_for_short_texts_reads_shorter_spans(loaded, monkeypatch):
    monkeypatch.setitem(loaded.identity, "context", 21)
    assert span(loaded) == 10
    monkeypatch.setitem(loaded.identity, "context", None)
    assert span(loaded) == 64


def test_an_encoder_has_scores_and_no_loss(tmp_path):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=140,
    )
    loaded = load_model(save(BertForMaskedLM(config), tmp_path, WORDS))
    found = repetition(loaded)
    assert not predicts(loaded)
    assert found.loss_first is found.loss_second is found.loss_unrepeated is None
    assert found.induction.shape == (SEQUENCES, 1, 2)
    assert (found.induction > 0).all()


def test_part_of_a_model_has_scores_and_no_loss(llama_folder, found, rounding):
    part = repetition(load_model(llama_folder, layers=1))
    assert part.loss_first is None
    np.testing.assert_allclose(part.induction, found.induction[:, :1], rtol=0, atol=rounding)


def test_the_repeated_sequence_is_a_span_of_different_tokens_twice():
    ids = repeated_sequence(np.arange(1, 90), 64, 0, seed=3)
    assert ids[0] == 0
    assert (ids[1:65] == ids[65:]).all()
    assert len(set(ids[1:65])) == 64
    assert (ids == repeated_sequence(np.arange(1, 90), 64, 0, seed=3)).all()
    assert (ids != repeated_sequence(np.arange(1, 90), 64, 0, seed=4)).any()


def test_the_other_sequence_has_the_same_second_half_after_other_tokens():
    repeated = repeated_sequence(np.arange(1, 200), 64, 0, seed=3)
    other = unrepeated_sequence(np.arange(1, 200), 64, 0, seed=3)
    assert len(other) == len(repeated)
    assert other[0] == 0
    assert (other[65:] == repeated[65:]).all()
    assert len(set(other)) == 129


@pytest.mark.parametrize(
    ("make", "words", "wanted"),
    [(repeated_sequence, 10, 64), (unrepeated_sequence, 10, 64), (unrepeated_sequence, 127, 128)],
)
def test_a_vocabulary_too_small_for_the_span_is_refused(make, words, wanted):
    with pytest.raises(ReportError, match=f"{wanted} different tokens wanted of a vocabulary of"):
        make(np.arange(words), 64, 0, seed=0)
