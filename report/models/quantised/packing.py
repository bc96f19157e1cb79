"""Which stored tensors make which weight, of a checkpoint whose weights are packed.

Whether a single weight is packed, its parts tell: so what is left out of the packing (`ignore` in
config.json) needs no list.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from report.errors import ReportError
from report.models.quantised.parts import Format
from report.text import quoted

WITHOUT_EFFECT = re.compile(
    r".*[._](input|output|activation|q|k|v|prob)_(scale(_inv|_ub)?|zero_point|global_scale)"
)
"""Tensors of the scales of activations and caches, which change no weight."""

LEFT_OVER = re.compile(
    r".*(\.(qweight|qzeros|scales|g_idx|SCB|weight_(packed|scale\w*|shape|zero_point|g_idx)"
    r"|weight_global_scale|weight_format|(nested_)?(absmax|quant_map)"
    r"|quant_state\.bitsandbytes__\w+|biases)|_(blocks|scales))"
)
"""What names parts of packed weights in any format."""

UNMISTAKABLE = re.compile(
    r".*\.(qweight|qzeros|SCB|weight_(packed|scale|scale_inv)|absmax"
    r"|quant_state\.bitsandbytes__\w+)"
)
"""The same, of names that nothing else has."""


@dataclass(frozen=True)
class Packing:
    """How a checkpoint's weights are packed.

    label: what config.json calls it, such as "fp8" or "gptq"
    formats: of its weights, the first that fits a name first
    """

    label: str
    formats: tuple[Format, ...]

    def weights(self, names: Iterable[str]) -> dict[str, tuple[Format | None, dict[str, str]]]:
        """The weights that stored tensors make.

        names: of all stored tensors
        returns: dict of the weight's name -> (its format, dict of ending -> stored name); of a
            tensor that is stored as it is, (None, {"": name})
        raises: ReportError naming a part that is missing, or that belongs to no weight
        """
        there = {name for name in names if not WITHOUT_EFFECT.fullmatch(name)}
        made, used = {}, set()
        for form in self.formats:
            for name in sorted(there - used):
                match = form.stem.fullmatch(name)
                if match is None:
                    continue
                weight, parts = match[1] + form.made, self._parts(form, match[1], there)
                if weight in made or (weight in there and weight not in parts.values()):
                    raise ReportError(
                        f"the weights hold {quoted(weight)} twice, the second time packed "
                        f"({quoted(name)}); download or copy the checkpoint again"
                    )
                made[weight] = (form, parts)
                used.update(parts.values())
        plain = sorted(there - used)
        left = next(filter(LEFT_OVER.fullmatch, plain), None)
        if left is not None:
            raise ReportError(
                f"the weights hold {quoted(left)}, which belongs to no weight that is packed as "
                "config.json says; use the checkpoint that this one was made from"
            )
        return made | {name: (None, {"": name}) for name in plain}

    def _parts(self, form, stem, there):
        lacking = [stem + ending for ending in form.needed if stem + ending not in there]
        if lacking:
            raise ReportError(
                f"the weights lack the tensor {quoted(lacking[0])}, without which "
                f"{quoted(stem + form.made)} cannot be unpacked; download or copy the checkpoint "
                "again"
            )
        endings = (*form.needed, *form.optional)
        return {ending: stem + ending for ending in endings if stem + ending in there}
