"""One sentence for a mistake in front matter: file, line, key, and what is allowed."""

import re
from difflib import get_close_matches

from report.inputs.yaml_lines import line_of
from report.study.front_matter import INSIDE, FrontMatter
from report.text import quoted


def explain(problem, header, path, replaced):
    loc = problem["loc"]
    if not loc:  # keys that do not go together
        keys = re.findall(r"`(\w+)`", problem["msg"])
        line = max(line_of(header, [key]) for key in keys)
        return f"{path}, line {line}: front matter {_reason(problem)}"
    if loc[0] == "passage":  # pydantic names the alternative, too
        loc = loc[:1] + loc[2:]
    first, key = str(loc[0]), str(loc[-1])
    if replaced.get(first) is not None:
        return f"--{first.replace('_', '-')}: {_reason(problem)}"
    line = line_of(header, loc)
    model, part = INSIDE.get(first, (FrontMatter, ""))
    if len(loc) == 1 and part == "condition":
        model, part = FrontMatter, ""
    inside = part and (len(loc) > 1 or problem["type"] != "string_type")
    of = f"{'a' if part == 'condition' else 'the'} {part}"
    where = f" of {of}" if inside and len(loc) > 1 else ""
    if problem["type"] == "extra_forbidden":
        known = list((model if where else FrontMatter).model_fields)
        near = get_close_matches(key, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}."
        return f"{path}, line {line}: unknown key {quoted(key)}{where}; {hint}"
    if problem["type"] == "missing":
        missing = f"the {part}" if where else "the front matter"
        return f"{path}, line {line}: the key {key!r} is missing from {missing}; add it."
    named = repr(first)
    words = [each for each in loc[1:] if isinstance(each, str)]
    if where and words:
        named = f"{words[-1]!r}{where}"
    elif where:
        named = of
    return f"{path}, line {line}: {named}: {_reason(problem)}"


def _reason(problem):
    said = problem["msg"].removeprefix("Value error, ")
    if problem["loc"][:1] == ("device",):  # a pattern is no sentence
        said = "must be auto, cpu, cuda, or one GPU such as cuda:1"
    if problem["type"] == "list_type":
        said = "must be a list, such as [one, two]"
    if problem["type"] == "string_pattern_mismatch" and problem["loc"][-1] == "name":
        said = "must be a small letter, then small letters, digits, - or _"
    if isinstance(problem["input"], dict | list):  # what was found wrong is in the sentence
        return f"{said}."
    return f"{said} (got {quoted(problem['input'])})."
