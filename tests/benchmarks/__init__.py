"""Benchmarks, which import each other as scripts beside each other do."""

import importlib
import sys
from contextlib import contextmanager

from tests.commands import ROOT


@contextmanager
def modules(*names):
    """Modules of benchmarks/ by their names, and none of them afterwards."""
    before = {*sys.modules}
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        yield tuple(importlib.import_module(name) for name in names)
    finally:
        sys.path.pop(0)
        for path in (ROOT / "benchmarks").glob("*.py"):
            if path.stem not in before:
                sys.modules.pop(path.stem, None)
