"""One file a model family: what it takes to build a tiny random model of it.

`<family>.toml` names the class of transformers and the smallest configuration that shows what sets
the family apart; `[variants]` change some of its keys. The command `python -m report models` and
the tests measure these models. A new family is one new file here, and no list names it.
Only a family with a forward pass of our own is named in code, see `models.attention.own_forwards`.

    overview.py      what is measured of each family, as the command prints it
    verify.py        whether it is right: compared with transformers' own passes, in float64, the
                     terms of their scores too
"""

import copy
import functools
import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from report.errors import ReportError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from report.models.load.load import LoadedModel

FOLDER = Path(__file__).parent
DEFAULT_GAIN = 2.0
"""Weights are this many times what would keep the size of their input, so attention is peaked."""

QUERY_OR_KEY_NORM = {"q_norm", "k_norm", "q_layernorm", "k_layernorm"}


def names() -> list[str]:
    """The families, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def variants(family: str) -> list[str]:
    """The variants of a family by their full names, "falcon/alibi"; without any, its own name.

    raises: ReportError for a family that has no file
    """
    listed = read(family).get("variants", {})
    return [f"{family}/{variant}" for variant in listed] or [family]


def read(family: str) -> dict[str, Any]:
    """A family's file as a dict: class, config, perhaps variants, gain, counts_alibi_twice.

    raises: ReportError for a family that has no file
    """
    if family not in names():
        raise ReportError(f"unknown family '{family}'; known: {', '.join(names())}")
    return tomllib.loads((FOLDER / f"{family}.toml").read_text(encoding="utf-8"))


def tiny(name: str, seed: int = 0) -> "PreTrainedModel":
    """A small random model of a family, in float32 and evaluation mode.

    name: "falcon/rotary-new-decoder", or "falcon" for its first variant
    seed: same seed, same weights; the global random state is left alone
    returns: a new model with a configuration of its own. Biases and norm weights are random too
        (as zeros and ones they would hide mistakes), and the scores are large, about 5 to 60.
    raises: ReportError for an unknown family or variant
    """
    return copy.deepcopy(_built(json.dumps(_described(name)), seed, torch.get_default_dtype()))


@functools.cache
def _built(described, seed, dtype):
    """What `tiny` gives a copy of, which is made faster: to verify a model takes seven of them. All
    that there are take some tens of MB.

    dtype: in which torch builds, see `verify.double`; it only tells models apart
    """
    import transformers

    class_name, config, gain = json.loads(described)
    model_class = getattr(transformers, class_name)
    with torch.random.fork_rng(devices=[]):
        model = model_class(model_class.config_class(**config)).float().eval()
    randomise(model, gain, torch.Generator().manual_seed(seed))
    return model


def loaded(name: str, seed: int = 0) -> "LoadedModel":
    """A tiny model as a `LoadedModel`, but without a tokenizer or files.

    returns: LoadedModel
    """
    from report.models.load import identity
    from report.models.load.load import LoadedModel

    model = tiny(name, seed)
    config = identity.text_config(model)
    facts = {
        "name": name,
        "num_hidden_layers": config.num_hidden_layers,
        "num_attention_heads": getattr(config, "num_attention_heads", None),
        "vocabulary": model.get_input_embeddings().weight.shape[0],
        "context": identity.context(model),
        "layers_measured": config.num_hidden_layers,
        "alibi_factor": 1,
    }
    return LoadedModel(model, None, facts, FOLDER)


def randomise(model: torch.nn.Module, gain: float, generator: torch.Generator) -> None:
    """Fill every parameter of `model` with random values that suit what it is (in place)."""
    filled = set()
    with torch.no_grad():
        for path, module in model.named_modules():
            for name, parameter in module.named_parameters(recurse=False):
                if id(parameter) not in filled:  # tied weights are filled once, as embeddings
                    parameter.copy_(_random(path, module, name, parameter, gain, generator))
                    filled.add(id(parameter))


def _described(name):
    """Class name, configuration and gain of a variant; variants change or add keys."""
    family, _, variant = name.partition("/")
    described = read(family)
    listed = described.get("variants", {"": {}})
    variant = variant or next(iter(listed))
    if variant not in listed:
        known = ", ".join(variants(family))
        raise ReportError(f"unknown variant '{name}' of family '{family}'; known: {known}")
    changed = copy.deepcopy(listed[variant])
    class_name = changed.pop("class", described["class"])
    gain = changed.pop("gain", described.get("gain", DEFAULT_GAIN))
    return class_name, described.get("config", {}) | changed, gain


def _random(path, module, name, parameter, gain, generator):
    noise = torch.randn(parameter.shape, generator=generator)
    if isinstance(module, torch.nn.Embedding):
        return noise
    if "norm" in type(module).__name__.lower() and "bias" not in name:
        # 1 for most families, 0 for those that add 1; on queries and keys it scales the scores
        of_scores = not QUERY_OR_KEY_NORM.isdisjoint(path.split("."))
        return parameter + 0.2 * noise + (gain - 1 if of_scores else 0)
    if parameter.ndim == 1 or "bias" in name:
        return 0.5 * noise
    inputs = parameter.shape[0 if type(module).__name__ == "Conv1D" else -1]
    return noise * gain / inputs**0.5
