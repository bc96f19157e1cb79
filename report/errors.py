"""Errors that a user can mend, each said in one sentence; `__main__` prints no traceback."""


class ReportError(Exception):
    """Something from outside cannot be used.

    The message says what came, what is allowed and what to do.
    """

    exit_code = 1


class UsageError(ReportError):
    """The command line or a study file is wrong; nothing was run."""

    exit_code = 2
