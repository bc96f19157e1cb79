"""The conditions of a study as its front matter writes them: one line a condition."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

NAME = r"^[a-z][a-z0-9_-]*$"
"""What a condition may be called: data files and figures use it."""

MOST_TOKENS = 4096
"""A longer segment than this is a slip of the pen."""

PromptSegment = Literal["system", "question"]
"""The segments of a prompt, see `report.conditions.question_prompt`."""


class ConditionSpec(BaseModel):
    """One condition, a line of front matter: the prompt as it is, or with one segment changed.

    `before: question` adds a segment before one, `replace: system` puts it in its place,
    `remove: system` leaves one out.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=NAME)
    label: str = ""
    """What a reader sees; default: the name."""
    before: PromptSegment | None = None
    replace: PromptSegment | None = None
    remove: PromptSegment | None = None
    kind: Literal["repeated", "sentence", "random tokens", "text"] = "repeated"
    """What the segment is made of, see `report.fillers`; "text" stands there as it is, the others
    have a line of their own."""
    text: str | None = Field(None, min_length=1)
    """What is repeated (default: "/"), or stands there as it is."""
    times: int | None = Field(None, ge=1, le=MOST_TOKENS)
    """How often it is repeated; default: 55, or what `like` says."""
    tokens: int | None = Field(None, ge=1, le=MOST_TOKENS)
    """How many tokens it has, the end of its line included; default: what `like` says."""
    like: str | None = None
    """A condition whose new segment this one has exactly as many tokens as."""
    seed: int = Field(0, ge=0)

    @model_validator(mode="after")
    def _fits_together(self):
        changes = _given(self, "before", "replace", "remove")
        made_of = _given(self, "kind", "text", "times", "tokens", "like", "seed")
        sizes = _given(self, "times", "tokens", "like")
        if len(changes) > 1:
            raise ValueError(f"says {_listed(changes)}; a condition changes one segment, say one")
        if made_of and changes in ([], ["remove"]):
            raise ValueError(
                f"says {_listed(made_of)} of a segment that it does not have; say `before` or "
                "`replace` as well"
            )
        if changes in ([], ["remove"]):
            return self
        if len(sizes) > 1:
            raise ValueError(f"says {_listed(sizes)}; one of them tells how long the segment is")
        if self.kind == "text" and (self.text is None or sizes):
            raise ValueError("kind 'text' takes a `text`, which stands there as it is, and no size")
        if self.kind in ("sentence", "random tokens") and (self.text or self.times or not sizes):
            raise ValueError(
                f"kind {self.kind!r} is made up: say how long it is with `like` or `tokens`, and "
                "neither `text` nor `times`"
            )
        return self


def require_agreement(conditions):
    """Stop for conditions of one name, or one that is `like` none that has a length of its own.

    raises: ValueError saying what is allowed
    """
    names = [each.name for each in conditions]
    for number, each in enumerate(conditions):
        if each.name in names[:number]:
            raise ValueError(f"two conditions are called {each.name!r}; give each its own name")
        if each.like is None:
            continue
        sized = [other.name for other in conditions if other.like is None and _has_new(other)]
        if each.like not in sized:
            raise ValueError(
                f"condition {each.name!r} is like {each.like!r}, which is no condition with a "
                f"new segment of its own length; there are: {', '.join(sized) or 'none'}"
            )


def _has_new(spec):
    """Whether a `ConditionSpec` has a segment that the prompt itself has not."""
    return spec.before is not None or spec.replace is not None


def _given(spec, *names):
    """Those of some keys that front matter has."""
    return [name for name in names if name in spec.model_fields_set]


def _listed(names):
    return " and ".join(f"`{name}`" for name in names)
