"""The last tokens of a text, read again and again after what comes before them, which is kept."""

from collections.abc import Collection, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.effects.anatomy import require_whole
from report.effects.found import require_one_way
from report.effects.passing import logits_of
from report.effects.replacing import Replacement
from report.effects.together import Place, of_sets
from report.errors import ReportError
from report.measurements.precision import summed_by, tolerance
from report.models.attention.modes import evaluating, hooked, unchanged
from report.models.attention.structure import structure

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


class Ending:
    """A text of T tokens, of which those from `start` on are read again."""

    def __init__(self, loaded: "LoadedModel", token_ids: Sequence[int], start: int):
        """start: from 1 to T - 1

        raises: ReportError if the model is loaded in part, or keeps no keys and values
        """
        require_whole(loaded)
        self.loaded, self.model = loaded, loaded.model
        self.token_ids, self.start = list(token_ids), start
        ids = torch.as_tensor(self.token_ids[:start], device=self.model.device)[None]
        with evaluating(self.model), unchanged(self.model), torch.no_grad():
            output = self.model.base_model(input_ids=ids, use_cache=True)
        self.prefix = getattr(output, "past_key_values", None)
        if not hasattr(self.prefix, "batch_repeat_interleave"):
            raise ReportError(
                f"{loaded.identity['name']} does not keep the keys and values of a text in a way "
                "that is known here, so its last tokens cannot be read alone"
            )

    def require_right(self) -> None:
        """Stop where reading on differs from reading the whole text at once.

        raises: ReportError; also for an encoder
        """
        logits = logits_of(self.model, self.token_ids)
        require_one_way(self.model, self.token_ids, logits)
        off = float((self._eager()[0] - logits[self.start :]).abs().max())
        size, summed = float(logits.abs().max()), summed_by([self.model], len(self.token_ids))
        if off > tolerance(summed, size, logits.dtype):
            raise ReportError(
                f"{self.loaded.identity['name']} gives other logits where the last tokens of a "
                f"text are read after the others (by {off:.2g}), which rounding does not explain"
            )

    def shares(self, groups: Sequence[Sequence[int]], targets: np.ndarray) -> np.ndarray:
        """What tokens give to sets of targets: float64 [layers, heads, groups, sets], means.

        groups: of tokens, each from `start` on; targets: [T, sets], 0 or 1
        raises: ReportError where the attention that transformers returns is not that of all T
        """
        _, attention = self._eager()
        shape = len(self.token_ids) - self.start, len(self.token_ids)
        if any(each.shape[-2:] != shape for each in attention):
            raise ReportError(
                f"{self.loaded.identity['name']} does not return the attention of a text's last "
                "tokens to all before them"
            )
        members = torch.as_tensor(targets, dtype=torch.float64, device=self.model.device)
        given = torch.stack([each[0].double() @ members for each in attention])
        rows = [[at - self.start for at in group] for group in groups]
        return torch.stack([given[:, :, at].mean(2) for at in rows], 2).cpu().numpy()

    def log_probabilities(
        self, sets: Sequence[Collection[Place]], replacement: Replacement, tokens: Sequence[int]
    ) -> np.ndarray:
        """As `together.log_probabilities`, with heads replaced from `start` on alone.

        tokens: places in the text, after `start`
        """
        after = [at - self.start for at in tokens]
        ids = self.token_ids[self.start :]
        return of_sets(self.model, ids, sets, replacement, after, self.prefix)

    def _eager(self):
        """The pass over the last tokens by transformers' eager attention: its logits, and what the
        attention of each layer returns beside its output."""
        ids = torch.as_tensor(self.token_ids[self.start :], device=self.model.device)[None]
        options = {"use_cache": True, "past_key_values": deepcopy(self.prefix)}
        nothing, returned = torch.zeros(1, 0, 0), []

        def keep(_, __, output):
            weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
            returned.append(nothing if weights is None else weights)

        hooks = [part.attention.register_forward_hook(keep) for part in structure(self.model)]
        with hooked(hooks), evaluating(self.model), unchanged(self.model), torch.no_grad():
            self.model.set_attn_implementation("eager")
            return self.model(input_ids=ids, **options).logits[0], returned
