"""What an article about a passage both ways may say."""

import numpy as np
from report.kinds.backwards.data import BothWays


def context(data: BothWays) -> dict:
    """What templates may use: see `report.kinds`."""
    return {"find": Findings(data)}


class Findings:
    """Numbers of both ways, over the tokens that have a loss either way."""

    def __init__(self, data: BothWays) -> None:
        self.data = data

    @property
    def dearer(self) -> float:
        """How much more a token costs read backwards, mean in nats."""
        return float(np.nanmean(self.data.backwards - self.data.forwards))

    @property
    def share(self) -> float:
        """The share of tokens that are harder backwards."""
        both = self.data.backwards - self.data.forwards
        return float((both[~np.isnan(both)] > 0).mean())


NAMES = {"data": BothWays, "find": Findings}
"""Name in templates -> class of what it stands for."""
