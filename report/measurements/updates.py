"""What a head adds to the hidden state: how large it is and where it points.

The update of head h at token i is u_h,i = W_h c_h,i: its context through its slice of the output
projection. Norm and cosine need no [token, head, hidden] tensor: |W c| = |R c| for the QR
factorisation W = QR, and u . x = c . (W^T x).

Where a norm follows before the sum is added to the hidden state, norm(y)_i = t_i * g * y_i with g
its weight and t_i what it scales token i by (for RMSNorm 1 / rms). As that is linear in y once t is
known, what arrives of a head is exactly t_i * g * u_h,i: its effective update.
"""

from dataclasses import dataclass

import torch

ROWS = 512
"""Rows of an output projection that are multiplied at a time. For a short text that is up to 1.4
times as fast, as more of the weight stays in a CPU's caches."""


@dataclass(frozen=True)
class HeadUpdate:
    """One layer's output projection, prepared once for any number of tokens.

    weight: float [hidden_size, heads * value_dim], its columns in the order of the heads
    triangle: float [heads, value_dim, value_dim], R of the QR factorisation of each head's slice,
        with `gain` applied
    gain: float [hidden_size], what each dimension is multiplied by afterwards; None for 1
    """

    weight: torch.Tensor
    triangle: torch.Tensor
    gain: torch.Tensor | None = None

    def magnitude_and_alignment(
        self, context: torch.Tensor, hidden_state: torch.Tensor, scale: float | torch.Tensor = 1.0
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Length and direction of every head's update, against the hidden state before the layer.

        context: float [heads, T, value_dim]
        hidden_state: float [T, hidden_size], what enters the layer, before its layer norm
        scale: what the update of each token is multiplied by, float [T] or a number, above 0
        returns: magnitude |u| / |x| and alignment cos(u, x) in [-1, 1], float [heads, T];
            the alignment of an update of length 0 is 0
        """
        length = (context @ self.triangle.transpose(1, 2)).norm(dim=-1)  # |R c|, [heads, T]
        hidden_length = hidden_state.norm(dim=-1)  # [T]
        gained = hidden_state if self.gain is None else hidden_state * self.gain
        seen_by_head = _product(gained, self.weight).unflatten(1, (context.shape[0], -1))
        product = torch.linalg.vecdot(context, seen_by_head.transpose(0, 1))  # u . x
        alignment = product / (length * hidden_length)
        alignment = alignment.where(length > 0, torch.zeros_like(alignment)).clamp(-1, 1)
        return scale * length / hidden_length, alignment


def _product(hidden, weight):
    """hidden @ weight, float [T, heads * value_dim], `ROWS` rows of the weight at a time."""
    total = hidden[:, :ROWS] @ weight[:ROWS]
    for start in range(ROWS, hidden.shape[1], ROWS):
        rows = slice(start, start + ROWS)
        total.addmm_(hidden[:, rows], weight[rows])
    return total


def triangle(weight: torch.Tensor, heads: int, gain: torch.Tensor | None = None) -> torch.Tensor:
    """R of the QR factorisation of every head's slice, float [heads, value_dim, value_dim].

    weight, gain: as `HeadUpdate` holds them
    """
    if gain is not None:
        weight = gain[:, None] * weight
    slices = weight.unflatten(1, (heads, -1)).transpose(0, 1)  # [heads, hidden, value_dim]
    # QR, not Gram and Cholesky: a head whose slice lacks full rank is measured too.
    return reduced(slices)


def reduced(matrices: torch.Tensor) -> torch.Tensor:
    """R of the QR factorisation of each matrix M: |M A| = |R A| for any A.

    matrices: float [..., n, r]; returns: float [..., min(n, r), r]
    In one thread, as those of LAPACK wait for each other at every step of such small matrices:
    beside other work a thousand times as long as they compute.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return torch.linalg.qr(matrices, mode="r").R
    finally:
        torch.set_num_threads(threads)
