"""Attention Focus Plots: from a language model and a passage to an interactive publication."""

from importlib import import_module

from report.errors import VERSION, end_quietly

__version__ = VERSION

__all__ = ["__version__", "figure", "measure"]


def __getattr__(name):
    """`from report import measure, figure`: what notebooks use, loaded when it is asked for."""
    if name in ("figure", "measure"):
        return getattr(import_module("report.notebook"), name)
    raise AttributeError(f"module 'report' has no attribute {name!r}")


def program():
    """The command line in a process of its own."""
    end_quietly()
    import_module("report.__main__").program()
