"""What a command said, and what an error message must say."""

import re
from types import SimpleNamespace


def assert_matches(pattern, text):
    assert re.search(pattern, text), f"{text!r} does not say {pattern!r}"


def ended(done):
    """How a command ended, a CompletedProcess: code, what it said, the sentence of an error."""
    said = done.stdout + done.stderr
    lines = done.stderr.rstrip().splitlines()
    says = [line for line in lines if line.startswith("error: ")]
    if done.returncode:
        assert "Traceback" not in said
        assert len(says) == 1, said
        assert lines[-1] == says[0], f"more than one sentence: {said}"
        assert len(says[0]) < 1000  # the longest one names all figures of a kind
    return SimpleNamespace(code=done.returncode, said=said, error=(says or [""])[0])
