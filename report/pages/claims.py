"""`{% claim CONDITION %}…{% endclaim %}`: sentences, and what must hold of the data for them.

    {% claim devoted > total / 2 %}
    Most heads look mainly at the first token: {{ devoted }} of {{ total }}.
    {% else %}
    …
    {% endclaim %}

Where the condition does not hold, the words after `{% else %}` stand in the article. If there are
none, the article is not written, and the error names the sentence and the numbers; `why` names all
such sentences. All numbers in a claim come from the data: none is typed, in digits or as a word.
"""

import re
from collections.abc import Iterator

from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser

from report.text import quoted, shortened

FAILED = "claim_fails"
"""The function that templates call where a claim does not hold; see `ArticleFigures`."""

WORDS = (
    *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"),
    *("hundred", "thousand", "million", "twice", "dozen"),
)
"""Numbers in words. One, half and the like are words of sentences, too."""

NUMBER = re.compile(rf"\bL\d+H\d+\b|(?<![\w.])[\d.,]*\d|\b(?:{'|'.join(WORDS)})s?\b", re.IGNORECASE)
"""Digits in other names than those of heads are no numbers: SmolLM2."""

NO_PROSE = re.compile(r"<[^>]*>|\]\([^)]*\)|\[\^[^\]]*\]|`[^`]*`", re.DOTALL)
"""Tags, addresses, names of notes and code in Markdown."""


class Claims(Extension):
    """The tag `claim` of templates; it becomes an `{% if %}`."""

    tags = {"claim"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        if parser.stream.current.type == "block_end":
            parser.fail("write what must hold after `claim`: {% claim devoted > total / 2 %}", line)
        condition = parser.parse_expression()
        body = parser.parse_statements(("name:else", "name:endclaim"))
        otherwise = []
        if next(parser.stream).value == "else":
            otherwise = parser.parse_statements(("name:endclaim",), drop_needle=True)
        for typed in _typed(body):
            parser.fail(
                f"the claim says {quoted(typed)}, a number that no data are asked for; compute it: "
                "{{ find.count(…) }}, or leave it out.",
                line,
            )
        if not _sentence(otherwise):
            call = nodes.Call(
                nodes.Name(FAILED, "load"),
                [
                    nodes.Const(f"{parser.filename}, line {line}"),
                    nodes.Const(_sentence(body)),
                    nodes.Const(source_of(condition)),
                    nodes.Dict([nodes.Pair(nodes.Const(w), v) for w, v in _values(condition)]),
                ],
                *([], None, None),
            )
            otherwise = [nodes.Output([call])]
        return nodes.If(condition, body, [], otherwise).set_lineno(line, override=True)


def failure(place: str, sentence: str, condition: str, values: dict[str, object]) -> str:
    """What is wrong with a claim that does not hold, in words.

    place: file and line; sentence: its words, with "…" for what is computed
    condition: as it is written; values: what each part of the condition is
    """
    where = ", ".join(f"{name} is {_value(value)}" for name, value in values.items())
    return (
        f"{place}: this does not hold: {quoted(sentence)}. It needs {condition}"
        f"{f', and {where}' if where else ''}. Change the sentence, or say after {{% else %}} "
        "what holds instead."
    )


def _value(value):
    return f"{value:.3g}" if isinstance(value, float) else shortened(str(value), 80)


def _pieces(body) -> Iterator[nodes.Node]:
    """What a body shows, in its order: words as they are, and expressions."""
    for node in body:
        outputs = [node] if isinstance(node, nodes.Output) else node.find_all(nodes.Output)
        for output in outputs:
            yield from output.nodes


def _typed(body) -> Iterator[str]:
    """Numbers that are typed in a body, in its words or as what an expression shows."""
    for piece in _pieces(body):
        for text in _shown_texts(piece):
            yield from NUMBER.findall(NO_PROSE.sub(" ", text))


def _sentence(body):
    """The words of a body, with "…" for what is computed."""
    pieces = _pieces(body)
    texts = (each.data if isinstance(each, nodes.TemplateData) else "…" for each in pieces)
    return " ".join("".join(texts).split())


def _shown_texts(node) -> Iterator[str]:
    """Texts and numbers that an expression may show as they are written."""
    if isinstance(node, nodes.TemplateData):
        yield node.data
    elif isinstance(node, nodes.Const):
        yield str(node.value)
    elif isinstance(node, nodes.Filter):
        yield from _shown_texts(node.node)
    elif isinstance(node, nodes.CondExpr):
        yield from _shown_texts(node.expr1)
        yield from _shown_texts(node.expr2)
    elif isinstance(node, nodes.Concat | nodes.BinExpr):
        for child in node.iter_child_nodes():
            yield from _shown_texts(child)


def _values(node) -> Iterator[tuple[str, nodes.Expr]]:
    """The parts of a condition that have values of their own, with how they are written."""
    if isinstance(node, nodes.Compare | nodes.Operand | nodes.BinExpr | nodes.UnaryExpr):
        for child in node.iter_child_nodes():
            yield from _values(child)
    elif not isinstance(node, nodes.Const):
        yield source_of(node), node


SIGNS = {
    "eq": "==",
    "ne": "!=",
    "gt": ">",
    "gteq": ">=",
    "lt": "<",
    "lteq": "<=",
    "notin": "not in",
}


def source_of(node: nodes.Node) -> str:
    """An expression of a template as it might be written there."""
    match node:
        case nodes.Name():
            return node.name
        case nodes.Const():
            return repr(node.value)
        case nodes.Getattr():
            return f"{source_of(node.node)}.{node.attr}"
        case nodes.Getitem():
            return f"{source_of(node.node)}[{source_of(node.arg)}]"
        case nodes.Tuple() | nodes.List():
            return ", ".join(map(source_of, node.items))
        case nodes.Call():
            named = [f"{pair.key}={source_of(pair.value)}" for pair in node.kwargs]
            return f"{source_of(node.node)}({', '.join([*map(source_of, node.args), *named])})"
        case nodes.Filter():
            return f"{source_of(node.node)} | {node.name}"
        case nodes.Test():
            return f"{source_of(node.node)} is {node.name}"
        case nodes.Compare():
            rest = (f" {SIGNS.get(each.op, each.op)} {source_of(each.expr)}" for each in node.ops)
            return source_of(node.expr) + "".join(rest)
        case nodes.BinExpr():
            return f"{source_of(node.left)} {node.operator} {source_of(node.right)}"
        case nodes.UnaryExpr():
            return f"{node.operator} {source_of(node.node)}"
    return "…"
