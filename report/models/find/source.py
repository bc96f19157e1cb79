"""A model that has been found, as `names.find` returns it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """A model that has been found."""

    name: str
    """Its name among ours, its folder's name, its id on the hub, or what a GGUF file says it is
    called."""
    origin: str
    """"embedded", "package" (GGUF too), "folder", "file" (GGUF) or "hub"."""
    folder: Path | None = None
    """Where its files are, or the path of its GGUF file (the first of several); None on the hub."""
    revision: str | None = None
    """Commit on the hub, 40 hex digits; None elsewhere."""
    file: str | None = None
    """Of a GGUF file, what finds it in its place again: its name, or "ollama:NAME:TAG"."""
    label: str | None = None
    """What an article calls it in place of `name`, if it says so."""
    base: "Source | None" = None
    """Where `folder` holds an adapter alone, the model that it belongs to."""

    @property
    def model(self) -> "Source":
        """Where config and weights are: the model itself, or what it is an adapter of."""
        return self.base or self

    @property
    def title(self) -> str:
        """What pages call it."""
        return self.label or self.name

    @property
    def command_name(self) -> str:
        """The name that finds the same model again, without the folders of this machine."""
        if self.origin == "hub":
            return f"{self.name}@{self.revision}"
        return self.file if self.origin == "file" else self.name
