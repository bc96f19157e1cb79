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
    """Until a model was there, its self-check aside."""
    forward: float = 0.0
    """Running texts and measuring them, the self-check included."""
    there: float = 0.0
    """From its start to its end."""
    lost: bool = False
    """Whether it died."""

    @property
    def waiting(self):
        """For work, or for what it found to arrive."""
        return max(self.there - self.load - self.forward, 0.0)

    @property
    def speed(self):
        """Tokens a second while it measured."""
        return self.tokens / self.forward if self.forward else 0.0


@dataclass
class Summary:
    """What all workers did, those that died included."""

    shares: list = field(default_factory=list)
    seconds: float = 0.0
    """From the first worker asked for to the last result."""
    merging: float = 0.0
    """In the driver: adding up results and writing them."""
    again: int = 0
    """How often a piece was tried again."""

    @property
    def lines(self):
        """What the command line says, list of str."""
        rows = [("worker", "device", "texts", "tokens", "tokens/s", "load", "forward", "waiting")]
        for each in self.shares:
            rows.append(
                (
                    f"{each.host}, process {each.pid}{', lost' if each.lost else ''}",
                    each.device or "-",
                    f"{each.texts:,}",
                    f"{each.tokens:,}",
                    f"{each.speed:,.0f}",
                    *(f"{value:,.1f} s" for value in (each.load, each.forward, each.waiting)),
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
    """Cells of a row as wide as their columns: names to the left, numbers to the right."""
    for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
        yield cell.ljust(width) if place < 2 else cell.rjust(width)
