"""One sentence for a mistake in front matter: file, line, key, and what is allowed."""

import re
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from report.inputs.yaml_lines import line_of
from report.study.front_matter import INSIDE, FrontMatter
from report.text import nearest, quoted


def explain(problem: ErrorDetails, header: list[str], path: Path, replaced: dict) -> str:
    """The sentence about a mistake.

    problem: as of `ValidationError.errors` of `FrontMatter`
    header: the lines of the front matter; path: of the template
    replaced: keys that options of the command line set
    """
    loc = problem["loc"]
    if not loc:
        return _of_several_keys(problem, header, path)
    if loc[0] in ("passage", "prompts"):  # without the alternative, which pydantic names too
        loc = loc[:1] + loc[2:]
    option = str(loc[0])
    if replaced.get(option) is not None:
        return f"--{option.replace('_', '-')}: {_reason(problem)}"
    return f"{path}, line {line_of(header, loc)}: {_mistake(problem, loc)}"


def _of_several_keys(problem, header, path):
    """The sentence about keys that do not go together, which the message names."""
    keys = re.findall(r"`(\w+)[:`]", problem["msg"])
    line = max(line_of(header, [key]) for key in keys)
    return f"{path}, line {line}: front matter {_reason(problem)}"


def _mistake(problem, loc):
    key = str(loc[-1])
    model, owner = _owner(loc)
    if problem["type"] == "extra_forbidden":
        of = f" of {owner}" if owner else ""
        return f"unknown key {quoted(key)}{of}; {_hint(key, model)}"
    if problem["type"] == "missing":
        return f"the key {key!r} is missing from {_whole(loc)}; add it."
    return f"{_named(loc, owner)}: {_reason(problem)}"


def _owner(loc: Sequence[str | int]) -> tuple[type[BaseModel], str]:
    """What has the keys at a place, and what a sentence calls it; "" for the front matter."""
    if len(loc) == 1 or loc[0] not in INSIDE:
        return FrontMatter, ""
    model, part = INSIDE[loc[0]]
    return model, f"{'a' if part in ('condition', 'prompt') else 'the'} {part}"


def _whole(loc):
    """What lacks a key, in words."""
    _, owner = _owner(loc)
    return f"the {INSIDE[loc[0]][1]}" if owner else "the front matter"


def _hint(key, model):
    known = list(model.model_fields)
    near = nearest(key, known)
    return f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}."


def _named(loc, owner):
    """What is wrong, in words: a key, a key of a part, or a part."""
    if not owner:
        return repr(str(loc[0]))
    words = [part for part in loc[1:] if isinstance(part, str)]
    return f"{words[-1]!r} of {owner}" if words else owner


def _reason(problem):
    reason = problem["msg"].removeprefix("Value error, ")
    if problem["loc"][:1] == ("device",):  # instead of the pattern
        reason = "must be auto, cpu, cuda, or one GPU such as cuda:1"
    if problem["type"] == "list_type":
        reason = "must be a list, such as [one, two]"
    if problem["type"] == "string_pattern_mismatch" and problem["loc"][-1] == "name":
        reason = "must be a small letter, then small letters, digits, - or _"
    if problem["loc"][:1] == ("cover",):
        reason = "must be the name of a figure: letters, digits, - or _"
    if isinstance(problem["input"], dict | list):  # the sentence names what is wrong with it
        return f"{reason}."
    return f"{reason} (got {quoted(problem['input'])})."
