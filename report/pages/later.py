"""Templates of articles of which some numbers are still to be measured: what asks for these is
left out, and marked, so that no other number stands in their place."""

from collections.abc import Callable

from jinja2 import nodes
from jinja2.compiler import CodeGenerator

from report.authored.later import Later, LaterError

MARK = '<span class="later" title="This follows: it is still being measured.">…</span>'
"""Stands for what is left out, in Markdown and in HTML. No page of a site has it."""


def or_mark(show: Callable[[], str]) -> str:
    """What a function gives, or `MARK` where that asks for what is still to be measured."""
    try:
        return show()
    except LaterError:
        return MARK


WITHIN = {"LaterError": LaterError, "Later": Later, "or_mark": or_mark}
"""What the code of `Deferring` calls, by names that its templates must have."""


class Deferring(CodeGenerator):
    """Code of a template that goes on after a `LaterError`: `MARK` stands in place of a value that
    raises it, and in place of all within a tag that does. What `set` would set is a `Later`."""

    def blockvisit(self, parts, frame):
        super().blockvisit([], frame)
        for node in parts:
            if isinstance(node, nodes.Output):
                super().blockvisit([node], frame)
                continue
            self.writeline("try:")
            self.indent()
            super().blockvisit([node], frame)
            self.outdent()
            self.writeline("except context.resolve('LaterError'):")
            self.indent()
            self._after(node, frame)
            self.outdent()

    def _after(self, node, frame):
        if not isinstance(node, nodes.Assign | nodes.AssignBlock):
            self.simple_write(repr(MARK), frame)
            return
        self.writeline("pass")
        for name in node.find_all(nodes.Name):
            if name.ctx == "store":
                self.writeline(f"{frame.symbols.ref(name.name)} = context.resolve('Later')()")

    def _output_child_pre(self, node, frame, finalize):
        self.write("context.resolve('or_mark')(lambda: ")
        super()._output_child_pre(node, frame, finalize)

    def _output_child_post(self, node, frame, finalize):
        super()._output_child_post(node, frame, finalize)
        self.write(")")
