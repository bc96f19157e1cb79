"""What is said of shares that are means over a set of pairs of prompts."""

from report.kinds.pair.data import PairData
from report.text import count, percent


def means(data: PairData) -> str:
    """What is said of shares of a set of pairs, after a space; "" of a single pair."""
    if len(data.pairs) == 1:
        return ""
    return (
        f" All shares are means over {count(len(data.pairs), 'pair')} of prompts; what stands "
        "behind ± where you point is their standard error."
    )


def spread(value: float, error: float | None, digits: int = 0) -> str:
    """A share in words, with its standard error where there is one."""
    if error is None:
        return percent(value, digits)
    return f"{percent(value, 1)} ± {percent(error, 1)}"
