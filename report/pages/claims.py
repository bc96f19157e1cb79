"""`{% claim CONDITION %}…{% endclaim %}`: sentences, and what must hold of the data for them.

    {% claim devoted > total / 2 %}
    Most heads look mainly at the first token: {{ devoted }} of {{ total }}.
    {% else %}
    …
    {% endclaim %}

Where the condition does not hold, the words after `{% else %}` stand in the article. If there are
none, the article is not written, and the error names the sentence and the numbers; `why` names all
such sentences. A condition that cannot be computed, as where the data have no such head, does not
hold. All numbers in a claim come from the data: none is typed, in digits or as a word.
"""

import re
from collections.abc import Iterator

from jinja2 import UndefinedError, nodes
from jinja2.compiler import CodeGenerator
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
        claim = nodes.If(condition, body, [], otherwise).set_lineno(line, override=True)
        if not _sentence(otherwise):
            about = f"{parser.filename}, line {line}", _sentence(body), source_of(condition)
            parts = [*_values(condition)]
            values = nodes.Dict([nodes.Pair(nodes.Const(name), part) for name, part in parts])
            given = [*map(nodes.Const, about), values]
            call = nodes.Call(nodes.Name(FAILED, "load"), given, [], None, None)
            claim.else_ = [nodes.Output([call]).set_lineno(line, override=True)]
            claim.about = claim.else_[0].about = about, parts  # read by `ThroughErrors`
        return claim


class ThroughErrors(CodeGenerator):
    """Code of a template that goes on after an error with what stands next, so that it comes to all
    claims: those that cannot be tried do not hold, and what errors would have set is not known."""

    def blockvisit(self, nodes, frame):
        super().blockvisit([], frame)
        for node in nodes:
            self._tried(lambda node=node: super(ThroughErrors, self).blockvisit([node], frame))
            self.writeline("except (MemoryError, RecursionError): raise")
            self.writeline("except Exception as error:")
            self.indent()
            self._after(node, frame)
            self.outdent()

    def _tried(self, write):
        self.writeline("try:")
        self.indent()
        write()
        self.outdent()

    def _after(self, node, frame):
        reason = "error" if isinstance(node, nodes.If) else "None"  # of a condition
        self.writeline(f"reason, values = {reason}, {{}}")
        for name in node.find_all(nodes.Name) if isinstance(node, nodes.Assign) else ():
            if name.ctx == "store":
                self.writeline(f"{frame.symbols.ref(name.name)} = undefined(hint=str(error))")
        if isinstance(node, nodes.CallBlock):
            self.writeline("caller()")
        about, parts = getattr(node, "about", (None, ()))
        for name, part in parts:
            self._tried(lambda name=name, part=part: self._keep(name, part, frame))
            self.writeline(f"except Exception as error: values[{name!r}] = error")
        if about:
            self.writeline(f"context.resolve({FAILED!r})(*{about!r}, values, reason)")

    def _keep(self, name, part, frame):
        self.writeline(f"values[{name!r}] = ")
        self.visit(part, frame)


def failure(
    place: str,
    sentence: str,
    condition: str,
    values: dict[str, object],
    error: Exception | None = None,
) -> str:
    """What is wrong with a claim that does not hold, in words.

    place: file and line; sentence: its words, with "…" for what is computed
    condition: as it is written; values: what each part of the condition is, or the error that it
        raised; error: what the condition raised
    """
    where = ", ".join(f"{name} {_value(value)}" for name, value in values.items())
    reason = "" if error is None else f", which cannot be computed ({_words(error)})"
    return (
        f"{place}: this does not hold: {quoted(sentence)}. It needs {condition}{reason}"
        f"{f', and {where}' if where else ''}. Change the sentence, or say after {{% else %}} "
        "what holds instead."
    )


def _value(value):
    if isinstance(value, float):
        return f"is {value:.3g}" if value == value else "is no number"
    try:
        return "is not known" if isinstance(value, Exception) else f"is {shortened(str(value), 80)}"
    except UndefinedError:
        return "is not known"


def _words(error):
    if "Undefined" in str(error):
        return "it is made of what is not known"
    return shortened(" ".join(str(error).split()).rstrip("."), 160) or type(error).__name__


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


PRODUCTS = nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod
RANKS = (nodes.Or, nodes.And, nodes.Not, nodes.Compare, (nodes.Add, nodes.Sub), PRODUCTS)
RANKS += (nodes.UnaryExpr, nodes.Pow, (nodes.Filter, nodes.Test), nodes.Expr)
"""Classes of expressions, from what binds least to what binds most."""


def source_of(node: nodes.Node) -> str:
    """An expression of a template as it might be written there."""
    match node:
        case nodes.Name():
            return node.name
        case nodes.Const():
            return repr(node.value)
        case nodes.Getattr():
            return f"{_within(node, node.node)}.{node.attr}"
        case nodes.Getitem():
            arg = source_of(node.arg)
            arg = arg[1:-1] if isinstance(node.arg, nodes.Tuple) else arg
            return f"{_within(node, node.node)}[{arg}]"
        case nodes.Slice():
            ends = (node.start, node.stop, node.step)
            return ":".join(source_of(end) if end else "" for end in ends).removesuffix(":")
        case nodes.Tuple() | nodes.List():
            items = ", ".join(map(source_of, node.items))
            return f"[{items}]" if isinstance(node, nodes.List) else f"({items})"
        case nodes.Call():
            return f"{_within(node, node.node)}({_given(node)})"
        case nodes.Filter() | nodes.Test():
            sign, given = "|" if isinstance(node, nodes.Filter) else "is", _given(node)
            return f"{_within(node, node.node)} {sign} {node.name}{given and f'({given})'}"
        case nodes.Compare():
            operands = [node.expr, *(each.expr for each in node.ops)]
            first, *others = (_within(node, each, same=False) for each in operands)
            signs = (SIGNS.get(each.op, each.op) for each in node.ops)
            return " ".join([first, *map(" ".join, zip(signs, others, strict=True))])
        case nodes.BinExpr():
            left, right = _within(node, node.left), _within(node, node.right, same=False)
            return f"{left} {node.operator} {right}"
        case nodes.UnaryExpr():
            sign = "not " if node.operator == "not" else node.operator
            return sign + _within(node, node.node)
    return "…"


def _within(outer, node, same=True):
    """A part of an expression, in brackets where it binds less, or, unless `same`, as much."""
    rank, least = (
        next(n for n, of in enumerate(RANKS) if isinstance(each, of)) for each in (node, outer)
    )
    return source_of(node) if rank >= least + (not same) else f"({source_of(node)})"


def _given(call):
    named = [f"{pair.key}={source_of(pair.value)}" for pair in call.kwargs]
    return ", ".join([*map(source_of, call.args), *named])
