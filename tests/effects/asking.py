"""What tests of effects ask, of which models; and the sums by hand that they compare with."""

import pytest
import torch

from report import families
from tests.families.test_families import EVERY_VARIANT
from tests.models.recording import some_tokens

BOTH_WAYS = "reads in both directions"
AFTER_SUMS = "a norm after each sum"
REFUSED = {
    "bert/encoder": BOTH_WAYS,
    "deberta_v2": BOTH_WAYS,
    "distilbert": BOTH_WAYS,
    "electra": BOTH_WAYS,
    "modernbert": BOTH_WAYS,
    "roberta": BOTH_WAYS,
    "bert/decoder": AFTER_SUMS,
    "opt/norm-after": AFTER_SUMS,
}
"""The variants without direct effects, and what is said of each."""
TOLD_APART = [name for name in EVERY_VARIANT if name not in REFUSED]
PREDICTING = [name for name in EVERY_VARIANT if REFUSED.get(name) != BOTH_WAYS]
ROUNDED = ("falcon/alibi", "gemma2", "gpt2/default", "llama/default")
"""Variants that are tried in float32 too. What differs there is the rounding alone, and that of the
direct effects of every variant is looked at by tests/families/test_parity.py."""
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
