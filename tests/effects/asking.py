"""What tests of effects ask, of which models; and the sums by hand that they compare with."""

import pytest
import torch

from report import families
from tests.models.recording import some_tokens

BOTH_WAYS = "reads in both directions"
AFTER_SUMS = "a norm after each sum"
REFUSED = {
    "bert/encoder": BOTH_WAYS,
    "modernbert": BOTH_WAYS,
    "bert/decoder": AFTER_SUMS,
    "opt/norm-after": AFTER_SUMS,
}
"""Variants without direct effects, and what is said of each."""
APART = (
    "llama/default gpt2/default falcon/alibi falcon/rotary-new-decoder gemma2 granite glm4 olmo2 "
    "cohere/default gptj gpt_oss deepseek_v3/default mpt/clipped bloom qwen2/default gpt_bigcode "
    "xglm phi/default stablelm/qk-layernorm qwen3_moe"
).split()
"""One for each way in which layers, norms, biases, experts and logits differ; every variant's
direct effects are looked at by tests/families/test_parity.py."""
PREDICTING = [*APART, "bert/decoder", "opt/norm-after"]
ROUNDED = ("falcon/alibi", "gemma2", "gpt2/default", "llama/default")
"""Variants that are tried in float32 too. What differs there is the rounding alone."""
TOKENS = 24


def in_both(names):
    """A mark that tries variants in float64, and those of `ROUNDED` in float32: `name`, `double`.

    names: of the variants, with those of `ROUNDED` among them
    """
    assert set(ROUNDED) <= set(names)
    cases = [(name, True) for name in names] + [(name, False) for name in ROUNDED]
    return pytest.mark.parametrize(("name", "double"), cases)


def text(seed=1):
    """Token ids that every tiny model knows."""
    return some_tokens(TOKENS, seed)


def entering(model, modules, token_ids):
    """What enters modules in a plain pass, float64 [T, size] each; and the logits."""
    found, hooks = {}, []

    def keep(module, args, kwargs):
        found[module] = (args[0] if args else kwargs["hidden_states"]).clone()

    for module in modules:
        hooks.append(module.register_forward_pre_hook(keep, with_kwargs=True))
    with torch.no_grad():
        logits = model(torch.tensor([token_ids]), use_cache=False).logits[0]
    for hook in hooks:
        hook.remove()
    width = [found[module].reshape(len(token_ids), -1).double() for module in modules]
    return width, logits.double()


def loaded(name):
    """A tiny model of a family."""
    return families.loaded(name)
