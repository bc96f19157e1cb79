"""Front matter as YAML: one value a key, dates as text, and the line in which each value stands."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError
from yaml.events import AliasEvent

from report.errors import ReportError
from report.files import LARGEST_YAML
from report.text import quoted, whole

FIRST = 2
"""The line of a file that front matter begins at, below its mark."""


class _Loader(yaml.SafeLoader):
    """As YAML's own, but a key that comes twice is an error, and a date stays text.

    So is an alias: some lines of them can stand for more values than any memory holds.
    """

    def compose_node(self, parent, index):
        if self.check_event(AliasEvent):
            event = self.peek_event()
            raise ComposerError(
                None,
                None,
                f"{quoted('*' + event.anchor)} stands for a value elsewhere; write the value",
                event.start_mark,
            )
        return super().compose_node(parent, index)


def _mapping(loader, node, deep=False):
    seen = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
            if key.value in seen:
                raise ConstructorError(
                    None,
                    None,
                    f"the key {quoted(key.value)} comes twice; keep one",
                    key.start_mark,
                )
            seen.add(key.value)
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


def once(loader: yaml.Loader, node: yaml.MappingNode) -> Iterator[dict]:
    """A constructor of YAML's for mappings in which every key comes once."""
    mapping = {}
    yield mapping
    mapping.update(_mapping(loader, node))


_Loader.add_constructor("tag:yaml.org,2002:map", once)
_Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load(text: str) -> Any:
    """The value of a YAML text, its halves of characters joined or replaced.

    raises: yaml.YAMLError, ValueError or RecursionError
    """
    return _whole(yaml.load(text, _Loader))  # noqa: S506 (a safe loader)


def _whole(value):
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, list):
        return [_whole(each) for each in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(each) for key, each in value.items()}
    return value


def parse(header: Sequence[str], path: str | Path) -> dict[str, Any]:
    """The keys and values of front matter.

    header: its lines, list of str; path: of the file, for messages
    raises: ReportError with file and line
    """
    length = sum(map(len, header))
    if length > LARGEST_YAML:
        raise ReportError(
            f"{path}, line {FIRST}: front matter has {length:,} characters, allowed are "
            f"{LARGEST_YAML:,}; keep texts in files of their own, and name these."
        )
    try:
        values = load("\n".join(header)) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + FIRST
        lines = str(getattr(error, "problem", None) or error).splitlines()
        problem = lines[0][:200] if lines else "it ends in the middle"
        if "'\\t'" in problem:
            problem = "a tab, where YAML wants spaces"
        raise ReportError(f"{path}, line {line}: front matter is not YAML: {problem}.") from error
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ReportError(f"{path}, line {FIRST}: front matter must be lines of `key: value`.")
    return values


def blocks(header: Sequence[str]) -> set[str]:
    """The keys whose values are lines below `|` or `>`, with any sign after it; a set.

    header: lines of front matter that `parse` has read
    """
    node = yaml.compose("\n".join(header))
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return {key.value for key, value in pairs if getattr(value, "style", None) in ("|", ">")}


def line_of(header: Sequence[str], loc: Sequence[str | int]) -> int:
    """The line of the file in which a value stands, or the innermost of what it is a part of.

    loc: keys and indices that lead to it, e.g. ("conditions", 2, "text")
    """
    line, node = 1, yaml.compose("\n".join(header))
    for part in loc:
        inner = None
        if isinstance(node, yaml.MappingNode):
            pairs = [pair for pair in node.value if pair[0].value == part]
            # of a key that is missing, the line of what it is missing from
            line, inner = (
                (pairs[0][0].start_mark.line + FIRST, pairs[0][1]) if pairs else (line, None)
            )
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            inner = node.value[part]
            line = inner.start_mark.line + FIRST
        if inner is None:
            break
        node = inner
    return line
