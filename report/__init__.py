"""Attention Focus Plots: from a language model and a passage to an interactive publication."""

import signal
from importlib import import_module

__version__ = "0.1.0"

__all__ = ["figure", "measure"]


def __getattr__(name):
    """`from report import measure, figure`: what notebooks use, loaded when it is asked for."""
    if name in __all__:
        return getattr(import_module("report.notebook"), name)
    raise AttributeError(f"module 'report' has no attribute {name!r}")


def program():
    """The command line in a process of its own. Ctrl-C ends it without a word from here on: imports
    take a second, and would end in a traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    import_module("report.__main__").program()
