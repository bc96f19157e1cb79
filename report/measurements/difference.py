"""How far two models are apart at one head: rows of attention, and updates, token by token."""

import torch


def row_distances(first: torch.Tensor, second: torch.Tensor, sink: bool = False) -> torch.Tensor:
    """Jensen-Shannon distance of rows of attention, float64 [...], from 0 to 1.

    The square root of the Jensen-Shannon divergence with logarithms to base 2: 0 for equal rows, 1
    for rows that share no target.

    first, second: float [..., key], probabilities of the same targets
    sink: whether rows may sum to less than 1; what they lack then counts as one more target
    source: Lin 1991 (the divergence); Endres and Schindelin 2003 (its root is a metric)
    """
    first, second = first.double(), second.double()
    if sink:
        first, second = (
            torch.cat([rows, (1 - rows.sum(-1, keepdim=True)).clamp(min=0)], -1)
            for rows in (first, second)
        )
    both = first + second
    # with m = both / 2 and p, q = m (1 + t), m (1 - t): nothing cancels where p and q are close
    t = ((first - second) / both).where(both > 0, 0.0)
    bits = torch.special.xlog1py(1 + t, t) + torch.special.xlog1py(1 - t, -t)
    return (
        ((both * bits).sum(-1) / (4 * torch.log(torch.tensor(2.0, dtype=torch.float64))))
        .clamp(0, 1)
        .sqrt()
    )


def cosines(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Cosine of vectors, float64 [...], from -1 to 1; NaN where one of them is 0.

    first, second: float [..., size]
    """
    first, second = first.double(), second.double()
    lengths = first.norm(dim=-1) * second.norm(dim=-1)
    cosine = (torch.linalg.vecdot(first, second) / lengths).clamp(-1, 1)
    return cosine.where(lengths > 0, float("nan"))
