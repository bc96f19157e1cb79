"""Which targets each current token may attend to: one unbroken range of tokens a row."""

from dataclasses import dataclass

import torch

from report.errors import ReportError


@dataclass(frozen=True)
class Visible:
    """The targets of every current token, from its first to its last (both included).

    first, last: int64 [T]. Causal attention is first = 0, last = i; a sliding window cuts the
    first; an encoder sees everything; so one shape serves every mask that models have for text.
    """

    first: torch.Tensor
    last: torch.Tensor

    @classmethod
    def causal(
        cls, length: int, window: int | None = None, device: torch.device | str | None = None
    ) -> "Visible":
        """Every token up to the current one, at most `window` of them."""
        last = torch.arange(length, device=device)
        first = torch.zeros_like(last) if window is None else (last - window + 1).clamp(min=0)
        return cls(first, last)

    @classmethod
    def full(cls, length: int, device: torch.device | str | None = None) -> "Visible":
        """Every token of the text, as in an encoder."""
        first = torch.zeros(length, dtype=torch.int64, device=device)
        return cls(first, torch.full_like(first, length - 1))

    @classmethod
    def of_mask(cls, mask: torch.Tensor) -> "Visible":
        """The ranges of a mask, bool [T, T], true where the current token (row) may look.

        raises: ReportError for a row that sees nothing or has a hole
        """
        mask = mask.bool()
        length = mask.shape[1]
        first = mask.int().argmax(1)
        last = length - 1 - mask.flip(1).int().argmax(1)
        broken = mask.sum(1) != last - first + 1
        if broken.any():
            raise ReportError(
                f"the attention mask of token {int(broken.nonzero()[0])} is not one unbroken range "
                "of tokens; only causal, sliding-window, chunked and full attention are measured"
            )
        return cls(first, last)

    def mask(self) -> torch.Tensor:
        """bool [T, T], true where the current token (row) may look."""
        targets = torch.arange(len(self.first), device=self.first.device)
        return (targets >= self.first[:, None]) & (targets <= self.last[:, None])

    @property
    def is_causal(self) -> bool:
        """Whether every token sees exactly itself and all tokens before it."""
        places = torch.arange(len(self.last), device=self.last.device)
        return bool((self.first == 0).all() and (self.last == places).all())

    def cpu(self) -> "Visible":
        """The same on the CPU, in memory of its own."""
        return Visible(self.first.cpu().clone(), self.last.cpu().clone())
