"""Which targets a current token attends to most, and how many make up half of its attention."""

import torch

SHOWN_TARGETS = 11
"""Targets a row that the figures show at most."""
MARKED_PROBABILITY = 0.5
"""The marked targets of a row are the fewest whose probability together reaches this."""


def largest_targets(score, probability, start, count=SHOWN_TARGETS):
    """The `count` most probable targets of each row, and how many of them reach half of it.

    score, probability: float [heads, rows, keys]; row r is current token start + r and may attend
        to targets 0 .. start + r; later targets have the lowest score and probability 0
    returns: targets int64 [heads, rows, count], by descending probability, -1 where the row has
        fewer; marker_count int64 [heads, rows], the fewest largest targets whose probability
        reaches 0.5, at most `count`
    Sorted by score, which orders as probability does and still tells apart what underflows to 0.
    """
    heads, rows, keys = score.shape
    chosen = min(count, keys)
    targets = score.topk(chosen, dim=-1).indices  # [heads, rows, chosen]
    reached = probability.gather(-1, targets).double().cumsum(-1)
    marker_count = ((reached < MARKED_PROBABILITY).sum(-1) + 1).clamp(max=chosen)
    current = torch.arange(start, start + rows, device=score.device)[:, None]
    padded = targets.new_full((heads, rows, count), -1)
    padded[..., :chosen] = targets.where(targets <= current, -1)
    # row i has i + 1 targets; rounding must not ask for more
    return padded, torch.minimum(marker_count, current[:, 0] + 1)


def two_largest(probability, width=64):
    """The largest and second largest probability of each row, and where the largest is.

    probability: float [..., keys], at least 0
    returns: largest [...], its index int64 [...], second [...] (0 where there is one target only)
    Two levels (chunks of `width`, then inside the winning chunk) read the rows once at half the
    cost of argmax: the second largest is in the same chunk or is the maximum of another one.
    """
    keys = probability.shape[-1]
    # at least two chunks of two, so that there always is a second; no probability is below 0
    chunks = max(2, -(-keys // width))
    padded = torch.nn.functional.pad(probability, (0, chunks * width - keys))
    split = padded.unflatten(-1, (chunks, width))  # [..., chunks, width]
    of_chunk, order = split.amax(-1).topk(2, dim=-1)
    winner = order[..., :1, None].expand(*order.shape[:-1], 1, width)
    inside, place = split.gather(-2, winner).squeeze(-2).topk(2, dim=-1)
    index = order[..., 0] * width + place[..., 0]
    return of_chunk[..., 0], index, torch.maximum(inside[..., 1], of_chunk[..., 1])
