"""What stands in the place of a head's context when the head is ablated."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from report.effects.anatomy import require_whole
from report.effects.passing import kept
from report.errors import ReportError
from report.models.attention.modes import evaluating, run_base
from report.models.attention.structure import structure

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


@dataclass(frozen=True, eq=False)
class Replacement:
    """Contexts that replace those of a text.

    kind: "zero", "mean" or "resample"
    contexts: for each layer, float [T or 1, heads, value_dim]; 1: the same for every token
    """

    kind: str
    contexts: list[torch.Tensor]

    def of(self, layer: int) -> torch.Tensor:
        """Of a layer."""
        return self.contexts[layer]

    def require_fits(self, loaded: "LoadedModel", length: int) -> None:
        """Stop for contexts of another model, or of a text of another length.

        raises: ReportError
        """
        for layer, (one, part) in enumerate(
            zip(self.contexts, structure(loaded.model), strict=False)
        ):
            if one.shape[1:].numel() != part.output_weight().shape[1]:
                raise ReportError(
                    f"layer {layer}: the replacement is of a model with other heads; make it from "
                    "the model that is measured"
                )
            if len(one) not in (1, length):
                raise ReportError(
                    f"the text that is resampled from has {len(one)} tokens, the text itself has "
                    f"{length}; choose one that is as long"
                )


def zeros(loaded: "LoadedModel") -> Replacement:
    """Nothing: no context, and with it no value bias either."""
    parts = structure(loaded.model)
    sizes = [(part.heads, part.output_weight().shape[1] // part.heads) for part in parts]
    return Replacement("zero", [torch.zeros(1, *size) for size in sizes])


def means(loaded: "LoadedModel", texts: Sequence[Sequence[int]]) -> Replacement:
    """The mean of every head's context over all tokens of a corpus but the first of each text.

    The first is left out: many heads rest on it, and no text of interest begins at every token.
    raises: ReportError if no text has a second token
    """
    counted = [text for text in texts if len(text) > 1]
    if not counted:
        raise ReportError("no text of the corpus has two tokens; a mean needs one after the first")
    number = sum(len(text) - 1 for text in counted)
    total = None
    for text in counted:
        sums = [one[1:].double().sum(0, keepdim=True) for one in _contexts(loaded, text)]
        total = sums if total is None else [a + b for a, b in zip(total, sums, strict=True)]
    return Replacement("mean", [one / number for one in total])


def of_text(loaded: "LoadedModel", token_ids: Sequence[int]) -> Replacement:
    """The contexts of another text, token by token: it must be as long as the one measured."""
    return Replacement("resample", _contexts(loaded, token_ids))


def _contexts(loaded, token_ids):
    """What every head hands to the output projection: a layer each, float [T, heads, value_dim]."""
    require_whole(loaded)
    parts = structure(loaded.model)
    wanted = {index: (part.output_projection, "in") for index, part in enumerate(parts)}
    with kept(wanted, len(token_ids)) as found, evaluating(loaded.model):
        run_base(loaded.model, list(token_ids))
    return [found[index].unflatten(1, (part.heads, -1)) for index, part in enumerate(parts)]
