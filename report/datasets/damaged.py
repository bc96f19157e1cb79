"""What is said of a dataset that is not as it was written."""

from collections.abc import Sized

from report.errors import DamagedError, command


def damaged(problem: str) -> DamagedError:
    """The error for a damaged dataset.

    problem: a clause without its full stop, e.g. "term 'bias' has 11 values, not 12"
    """
    return DamagedError(f"{problem}; delete the dataset and run `{command('site')}`.")


def require_number(what: str, values: Sized, expected: int) -> None:
    """Stop if there are not as many values as expected.

    what: names the values, e.g. "term 'bias'"
    raises: ReportError
    """
    if len(values) != expected:
        raise damaged(f"{what} has {len(values)} values, not {expected}")
