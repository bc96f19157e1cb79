"""Direct effects and ablations by other tools, where they can be imported; see effects.py.

None is a dependency of this project: `pip install transformer-lens nnsight`, in an environment of
their own. Both are given a copy of the same model, since TransformerLens folds norms into weights.
"""

import copy
import importlib.util
import tempfile
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from report.models.attention.structure import structure

PACKAGES = {"TransformerLens": "transformer_lens", "nnsight": "nnsight"}
"""Tool -> what is imported."""


def missing():
    """Tools that cannot be imported here."""
    return [tool for tool, name in PACKAGES.items() if importlib.util.find_spec(name) is None]


@dataclass(frozen=True)
class Peer:
    """A tool around a model. Both take tokens, and a token and another whose logits are compared.

    direct(token_ids, token, other) -> float [layers, heads]: direct effects at the last token
    ablated(token_ids, token, other, layer, head) -> float: the difference with zeros as a head's
        context
    """

    name: str
    direct: object
    ablated: object


def peers(loaded):
    """The tools that are here, around copies of a loaded model."""
    makers = {"TransformerLens": _transformer_lens, "nnsight": _nnsight}
    return [makers[tool](copy.deepcopy(loaded.model)) for tool in PACKAGES if tool not in missing()]


def _tokenizer():
    """Both ask for one, which is not used."""
    words = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))  # noqa: S106
    special = dict.fromkeys(("unk_token", "bos_token", "eos_token", "pad_token"), "b")
    return PreTrainedTokenizerFast(tokenizer_object=words, **special)


def _transformer_lens(model):
    from transformer_lens.model_bridge.sources.transformers import boot
    from transformer_lens.tools.analysis import direct_logit_attribution

    size = structure(model)[0].heads
    with tempfile.TemporaryDirectory() as folder:
        _tokenizer().save_pretrained(folder)
        model.config.save_pretrained(folder)
        bridge = boot(folder, hf_model=model)
    bridge.enable_compatibility_mode()

    def direct(token_ids, token, other):
        ids = torch.tensor([token_ids], device=model.device)
        with torch.no_grad():
            found = direct_logit_attribution(bridge, ids, token, other, unit="head")
        heads = [value for label, value in zip(found.labels, found.attribution, strict=True)
                 if label.startswith("L")]  # fmt: skip
        return torch.stack(heads).flatten().view(-1, size)

    def ablated(token_ids, token, other, layer, head):
        def without(value, hook):
            value[:, :, head] = 0
            return value

        ids = torch.tensor([token_ids], device=model.device)
        hooks = [(f"blocks.{layer}.attn.hook_z", without)]
        with torch.no_grad():
            logits = bridge.run_with_hooks(ids, fwd_hooks=hooks)[0, -1]
        return float(logits[token] - logits[other])

    return Peer("TransformerLens", direct, ablated)


def _nnsight(model):
    from nnsight import LanguageModel

    traced = LanguageModel(model, tokenizer=_tokenizer())
    parts, output = structure(model), model.get_output_embeddings().weight.detach()
    names = {module: name for name, module in model.named_modules()}
    size = parts[0].heads
    norm = model.base_model.norm

    def envoy(module):
        found = traced
        for name in names[module].split("."):
            found = found[int(name)] if name.isdecimal() else getattr(found, name)
        return found

    projections = [envoy(part.output_projection) for part in parts]
    last, head_out = envoy(norm), envoy(model.get_output_embeddings())

    def direct(token_ids, token, other):
        """With products of our own: it gives what ran, and no effects."""
        ids = torch.tensor([token_ids], device=model.device)
        with torch.no_grad(), traced.trace(ids):
            contexts = [each.input[0, -1].save() for each in projections]
            state = last.input[0, -1].save()
        scale = torch.rsqrt(state.pow(2).mean() + norm.variance_epsilon)
        towards = (output[token] - output[other]) * norm.weight.detach() * scale
        into = [towards @ part.output_projection.weight.detach() for part in parts]
        pairs = zip(into, contexts, strict=True)
        return torch.stack([(one * context).view(size, -1).sum(-1) for one, context in pairs])

    def ablated(token_ids, token, other, layer, head):
        ids = torch.tensor([token_ids], device=model.device)
        width = parts[layer].output_projection.weight.shape[1] // size
        with torch.no_grad(), traced.trace(ids):
            projections[layer].input[:, :, head * width : (head + 1) * width] = 0
            logits = head_out.output[0, -1].save()
        return float(logits[token] - logits[other])

    return Peer("nnsight", direct, ablated)
