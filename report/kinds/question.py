"""What a kind of article declares of itself, before anything is read or measured."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel


@dataclass(frozen=True)
class Question:
    """What a kind of article asks of models, as its front matter and messages have it."""

    place: int
    """Where lists of kinds have it."""
    called: str
    """What messages call it, as in "It is drawn of a passage"."""
    keys: type[BaseModel]
    """The keys that its front matter has beside those of every article."""
    blamed: str
    """The key that is named when what it reads cannot be read."""
    borrowed: tuple[str, ...] = ()
    """Keys of other kinds that it reads as well."""
    models: tuple[str, ...] = ()
    """Its keys that name models."""
    implied: bool = False
    """Whether a key of its own name makes an article one of this kind; else `kind` says so."""
    beside: bool = False
    """Whether it may have models beside the one that it is about."""
    several: bool = True
    """Whether it may be about several models."""
    in_turn: bool = False
    """Whether figures of one model then have a switch between them."""
    whole: bool = False
    """Whether a model is always measured with all its layers."""
    not_for: tuple[str, ...] = ()
    """Options of the command line that do not concern it."""
    require: Callable[[BaseModel], object] = lambda front_matter: None
    """Raises ValueError for keys that do not fit together."""
    implies: Callable[[Mapping], Mapping] = lambda values: {}
    """Keys and values that follow from the keys that are given, before these are checked; raises
    ValueError for those that do not go together."""
    changes: Mapping[str, str] = field(default_factory=dict)
    """Part of a key that is a hash -> the phrase about its change."""
    inside: Mapping[str, tuple[type[BaseModel], str]] = field(default_factory=dict)
    """Key that has keys of its own -> their model, and what messages call it."""
    apart: Mapping[str, str] = field(default_factory=dict)
    """Key, and kind of measuring, of what takes so long that only `freeze` with an option measures
    it -> what articles do that want it, and how to ask for it."""
