"""The models that are timed, and the ways to run a text through one; see measure.py."""

import importlib.util
import tempfile
from types import SimpleNamespace

import torch
from transformers import FalconConfig, FalconForCausalLM, LlamaConfig, LlamaForCausalLM
from transformers.initialization import no_init_weights

from report.measurements.factors import Factors
from report.models.attention.capture import attached
from report.models.attention.kernel import streaming_attention
from report.models.attention.modes import implementation, run_base
from report.models.attention.recorder import Recorder
from report.models.attention.structure import structure
from report.models.measure.passage import PassageRecorder, TextRecorder

VOCABULARY = 1000
FLOOR = "plain forward (sdpa)"
EAGER = "transformers: eager, output_attentions"
TRANSFORMER_LENS = "TransformerLens: run_with_cache"


def falcon(hidden_size, layers):
    """A model like falcon-rw-1b: ALiBi, biases, 32 heads."""
    return FalconForCausalLM, FalconConfig(
        vocab_size=VOCABULARY,
        hidden_size=hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=32,
        alibi=True,
        bias=True,
        multi_query=False,
        parallel_attn=False,
        new_decoder_architecture=False,
    )


def llama(hidden_size, intermediate_size, layers, heads, key_heads):
    """A model like Llama: rotary positions, keys that heads share."""
    return LlamaForCausalLM, LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=hidden_size,
        intermediate_size=intermediate_size,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        max_position_embeddings=4096,
    )


SHAPES = {
    "Falcon-RW-1B, 4 layers": lambda: falcon(2048, 4),
    "Llama-3.1-8B, 2 layers": lambda: llama(4096, 14336, 2, heads=32, key_heads=8),
    "SmolLM2-135M": lambda: llama(576, 1536, 30, heads=9, key_heads=3),
    "narrow Falcon, hidden 512, 24 layers": lambda: falcon(512, 24),
}


def random_model(shape):
    """A model of one of the `SHAPES`, filled with random numbers on the spot."""
    model_class, config = SHAPES[shape]()
    config.architectures = [model_class.__name__]
    with no_init_weights():
        model = model_class(config)
    generator = torch.Generator().manual_seed(20261120)
    with torch.no_grad():
        for parameter in model.parameters():
            spread = 1 / parameter.shape[-1] ** 0.5 if parameter.dim() > 1 else 0.1
            parameter.normal_(std=spread, generator=generator)
        for name, parameter in model.named_parameters():
            if "norm" in name and name.endswith("weight"):
                parameter.add_(1)
    return model.eval()


def some_tokens(length, seed=1):
    """Random token ids, a list."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, VOCABULARY, (length,), generator=generator).tolist()


class Least(Recorder):
    """What measuring everything cannot leave out; nothing is looked at, and nothing is kept.

    sdpa shows no probabilities, so attention is computed in blocks. The direction of an update
    needs the product of the hidden state and the output projection.
    """

    wants_factors = False

    def __init__(self, facts: SimpleNamespace, _token_ids: list[int]):
        self.weights = [part.output_weight() for part in facts.structure]

    def attention(self, layer: int, factors: Factors, value: torch.Tensor) -> torch.Tensor:
        """The context of a layer."""
        return streaming_attention(factors, value, None, layer)

    def updates(self, layer: int, hidden_state: torch.Tensor, *_: torch.Tensor) -> None:
        """The product that every alignment needs."""
        hidden_state @ self.weights[layer]


class WithoutUpdates(PassageRecorder):
    """Probabilities, largest targets, statistics and factors."""

    updates = None


def plain(model):
    """The forward pass as transformers computes it (sdpa)."""
    return lambda token_ids: run_base(model, token_ids)


def measured(recorder_of):
    """A way to run a text with a recorder attached, and its results kept."""

    def way(model):
        parts = structure(model)
        facts = SimpleNamespace(structure=parts, measured_layers=len(parts), tokenizer=None)

        def run(token_ids):
            recorder = recorder_of(facts, token_ids)
            with attached(model, recorder):
                run_base(model, token_ids)
            return recorder

        return run

    return way


def eager(model):
    """What people do without this project: all attentions and hidden states of transformers."""

    def run(token_ids):
        with implementation(model, "eager"), torch.no_grad():
            return model.base_model(
                input_ids=torch.tensor([token_ids]),
                use_cache=False,
                output_attentions=True,
                output_hidden_states=True,
            )

    return run


def transformer_lens(model):
    """The same with TransformerLens and its cache of all activations."""
    from tokenizers import Tokenizer, models
    from transformer_lens.model_bridge.sources.transformers import boot
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))  # noqa: S106
    special = dict.fromkeys(("unk_token", "bos_token", "eos_token", "pad_token"), "b")
    with tempfile.TemporaryDirectory() as folder:  # it asks for a tokenizer, which is not used
        PreTrainedTokenizerFast(tokenizer_object=words, **special).save_pretrained(folder)
        model.config.save_pretrained(folder)
        bridge = boot(folder, hf_model=model)

    def run(token_ids):
        with torch.no_grad():
            return bridge.run_with_cache(torch.tensor([token_ids]))

    return run


WAYS = {
    FLOOR: plain,
    "everything": measured(PassageRecorder),
    "everything but updates": measured(WithoutUpdates),
    "statistics only": measured(lambda facts, ids: TextRecorder(facts, ids)),
    "the least: blocks and one product": measured(Least),
    EAGER: eager,
    TRANSFORMER_LENS: transformer_lens,
}


MAPS = {EAGER: 1, TRANSFORMER_LENS: 2}
"""Maps [layer, head, T, T] in float32 that a way keeps until its end; the others keep none."""


def needed(way, shape, length):
    """Bytes of the maps that a way keeps of a text of this length, at least."""
    _, config = SHAPES[shape]()
    heads = config.num_hidden_layers * config.num_attention_heads
    return MAPS.get(way, 0) * heads * length**2 * 4


def available(way):
    """Whether a way can be run here."""
    return way != TRANSFORMER_LENS or importlib.util.find_spec("transformer_lens") is not None
