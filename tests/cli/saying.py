"""What an error message must say."""

import re


def assert_matches(pattern, text):
    assert re.search(pattern, text), f"{text!r} does not say {pattern!r}"
