"""One forward pass: its logits, the states around chosen modules, the attention of some tokens."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial

import torch
from torch import nn
from transformers import PreTrainedModel

from report.measurements.block import Block
from report.measurements.factors import Factors, Scores
from report.models.attention.kernel import streaming_attention
from report.models.attention.modes import evaluating, hooked, unchanged
from report.models.attention.recorder import Recorder
from report.models.attention.running import require_sound_logits

Wanted = Mapping[object, tuple[nn.Module, str]]
"""Any name -> (module, "in" for what enters it or "out" for what leaves it)."""


def logits_of(model: PreTrainedModel, token_ids: Sequence[int]) -> torch.Tensor:
    """The model's own logits, float [T, vocabulary], of one untouched pass."""
    ids = torch.as_tensor(token_ids, device=model.device)[None]
    mode = nullcontext()
    if any(module.training for module in model.modules()):  # a look costs less than to set them all
        mode = evaluating(model)
    with mode, unchanged(model), torch.no_grad():
        return require_sound_logits(model(input_ids=ids, use_cache=False).logits[0])


@contextmanager
def kept(
    wanted: Wanted, tokens: int, rows: Sequence[int] | None = None
) -> Iterator[dict[object, torch.Tensor]]:
    """Within the context, a pass fills a dict with the states that enter or leave modules.

    tokens: number of the text's; a tensor that has no row for each of them is left out
    rows: the tokens to keep, in this order; None: all
    yields: dict of the names in `wanted` to float [rows, size], of a module's first call
    All are copies: some models add to a module's output where it lies.
    """
    states, hooks = {}, []
    index = torch.arange(tokens) if rows is None else torch.as_tensor(rows)

    def store(name, value):
        value = value[0] if isinstance(value, tuple) else value
        if not isinstance(value, torch.Tensor) or value.dim() not in (2, 3):
            return
        value = value.reshape(-1, value.shape[-1])
        if len(value) == tokens and name not in states:
            states[name] = value[index.to(value.device)].detach()

    def entering(name, _, args, kwargs):
        store(name, args[0] if args else kwargs.get("hidden_states"))

    def leaving(name, _, __, output):
        store(name, output)

    for name, (module, side) in wanted.items():
        if side == "in":
            hook = partial(entering, name)
            hooks.append(module.register_forward_pre_hook(hook, with_kwargs=True))
        else:
            hooks.append(module.register_forward_hook(partial(leaving, name)))
    with hooked(hooks):
        yield states


class RowRecorder(Recorder):
    """Keeps the attention of some current tokens, and the values of all tokens.

    rows: the current tokens
    probability: layer -> float [heads, rows, T], 0 where a token does not see a target
    values: layer -> float [key_heads, T, value_dim]; None where only scores are seen
    sinks: layers whose softmax has a sink
    """

    wants_factors = False

    def __init__(self, rows: Sequence[int]):
        self.rows = list(rows)
        self.probability, self.values, self.sinks = {}, {}, set()

    def attention(
        self, layer: int, factors: Factors | Scores, value: torch.Tensor | None
    ) -> torch.Tensor | None:
        """See `Recorder`."""
        # on the device of the factors, which may be scores alone
        empty = factors.range().first.new_zeros((), dtype=torch.get_default_dtype())
        probability = empty.new_zeros(factors.heads, len(self.rows), factors.length)
        self.probability[layer], self.values[layer] = probability, value
        if factors.sink is not None:
            self.sinks.add(layer)

        def observe(block: Block):
            keys = slice(block.first_key, block.first_key + block.score.shape[-1])
            for place, row in enumerate(self.rows):
                if row in range(block.rows.start, block.rows.stop):
                    probability[block.heads, place, keys] = block.probability[:, row - block.start]

        return streaming_attention(factors, value, observe, layer)
