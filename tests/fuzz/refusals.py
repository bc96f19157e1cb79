"""What becomes of an input: a result, or the one sentence that refuses it."""

import warnings

from report.errors import ReportError

LONGEST = 1200
"""Characters of a sentence that somebody still reads."""


def tried(function, *arguments, **options):
    """(result, None), or (None, the sentence); any other exception passes, and so does a warning.

    raises: AssertionError for a refusal that is more or less than a sentence
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return function(*arguments, **options), None
    except ReportError as error:
        said = str(error)
        assert "Traceback" not in said
        assert 10 < len(said) < LONGEST, said
        assert len(said.splitlines()) == 1, said
        said.encode()  # it can be printed
        return None, said
