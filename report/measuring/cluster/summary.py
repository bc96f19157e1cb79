"""Where the time of a run on a cluster went."""

from dataclasses import dataclass, field


@dataclass
class Share:
    """What one worker did; times are in seconds."""

    host: str
    pid: int
    device: str = ""
    texts: int = 0
    tokens: int = 0
    load: float = 0.0
    """Loading the model, without its self-check."""
    forward: float = 0.0
    """Running the model and measuring, with the self-check."""
    there: float = 0.0
    """From its start to its end."""
    lost: bool = False
    """Whether it died."""

    @property
    def waiting(self) -> float:
        """Seconds of waiting for work, or for results to arrive."""
        return max(self.there - self.load - self.forward, 0.0)

    @property
    def speed(self) -> float:
        """Tokens a second while it was measuring."""
        return self.tokens / self.forward if self.forward else 0.0


@dataclass
class Summary:
    """What all workers did, also those that died."""

    shares: list[Share] = field(default_factory=list)
    seconds: float = 0.0
    """From the request for the first worker to the last result."""
    merging: float = 0.0
    """Adding up results and writing them, in the driver."""
    again: int = 0
    """How often a piece was tried again."""

    @property
    def lines(self) -> list[str]:
        """The table and the sentence that the command line prints."""
        rows = [("worker", "device", "texts", "tokens", "tokens/s", "load", "forward", "waiting")]
        for share in self.shares:
            rows.append(
                (
                    f"{share.host}, process {share.pid}{', lost' if share.lost else ''}",
                    share.device or "-",
                    f"{share.texts:,}",
                    f"{share.tokens:,}",
                    f"{share.speed:,.0f}",
                    *(f"{value:,.1f} s" for value in (share.load, share.forward, share.waiting)),
                )
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(_padded(row, widths)) for row in rows]
        texts, tokens = (sum(getattr(s, n) for s in self.shares) for n in ("texts", "tokens"))
        again = f"; {self.again} tried again" if self.again else ""
        speed = tokens / self.seconds if self.seconds else 0
        lines.append(
            f"{texts:,} texts and {tokens:,} tokens in {self.seconds:,.1f} s: {speed:,.0f} "
            f"tokens/s together; adding up and keeping took {self.merging:,.1f} s{again}."
        )
        return lines


def _padded(row, widths):
    """Cells of a row as wide as their columns: names aligned left, numbers right."""
    for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
        yield cell.ljust(width) if place < 2 else cell.rjust(width)
