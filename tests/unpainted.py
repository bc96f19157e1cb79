"""Builds without still pictures, for tests of what figures show once they are live.

To draw the pictures takes longer than all else that a build of tiny models does. What they look
like is tested in tests/figures, and on the site that most tests of tests/site look at.
"""

from contextlib import contextmanager

import pytest

from report.figures.build import still

EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 300"></svg>'


@contextmanager
def unpainted():
    """Meanwhile, an empty picture stands for every one that a build in this process draws."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(still, "drawn", lambda spec: EMPTY)
        yield
