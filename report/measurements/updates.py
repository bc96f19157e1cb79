"""What a head adds to the hidden state: how large it is and where it points.

The update of head h at token i is u_h,i = W_h c_h,i: its context through its slice of the output
projection. Norm and cosine need no [token, head, hidden] tensor: |W c| = |R c| for the QR
factorisation W = QR, and u . x = c . (W^T x).
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class HeadUpdate:
    """One layer's output projection, prepared once for any number of tokens.

    weight: float [hidden_size, heads * head_dim], its columns in the order of the heads
    triangle: float [heads, head_dim, head_dim], R of the QR factorisation of each head's slice
    """

    weight: torch.Tensor
    triangle: torch.Tensor

    @classmethod
    def of_projection(cls, weight, heads):
        """Prepare the output projection `weight` [hidden_size, heads * head_dim]."""
        slices = weight.unflatten(1, (heads, -1)).transpose(0, 1)  # [heads, hidden, head_dim]
        # QR, not Gram and Cholesky: a head whose slice lacks full rank is measured too.
        return cls(weight, torch.linalg.qr(slices, mode="r").R)

    def magnitude_and_alignment(self, context, hidden_state):
        """Length and direction of every head's update, against the hidden state before the layer.

        context: float [heads, T, head_dim]
        hidden_state: float [T, hidden_size], what enters the layer, before its layer norm
        returns: magnitude |u| / |x| and alignment cos(u, x) in [-1, 1], float [heads, T];
            the alignment of an update of length 0 is 0
        """
        length = (context @ self.triangle.transpose(1, 2)).norm(dim=-1)  # |R c|, [heads, T]
        hidden_length = hidden_state.norm(dim=-1)  # [T]
        seen_by_head = (hidden_state @ self.weight).unflatten(1, (context.shape[0], -1))
        product = torch.einsum("htd,thd->ht", context, seen_by_head)  # u . x
        alignment = product / (length * hidden_length)
        alignment = alignment.where(length > 0, torch.zeros_like(alignment)).clamp(-1, 1)
        return length / hidden_length, alignment
