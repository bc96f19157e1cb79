"""What is said of a dataset that is not as it was written."""

from collections.abc import Iterator, Sized
from contextlib import contextmanager

from report.errors import DamagedError, ReportError, command


def damaged(problem: str) -> DamagedError:
    """The error for a damaged dataset.

    problem: a clause without its full stop, e.g. "term 'bias' has 11 values, not 12"
    """
    return DamagedError(f"{problem}; delete the dataset and run `{command('site')}`.")


@contextmanager
def fitting(where: object) -> Iterator[None]:
    """Within the context, numbers of a dataset that do not fit together are a ReportError, whatever
    a decoder raises over them: it need not look at each number twice.

    where: the dataset, which every message names
    """
    try:
        yield
    except ReportError as error:
        if str(where) in str(error):
            raise
        raise DamagedError(f"{where}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise damaged(f"{where}: its numbers do not fit together ({reason})") from error


def require_number(what: str, values: Sized, expected: int) -> None:
    """Stop if there are not as many values as expected.

    what: names the values, e.g. "term 'bias'"
    raises: ReportError
    """
    if len(values) != expected:
        raise damaged(f"{what} has {len(values)} values, not {expected}")
