"""What a user may do wrong, said in one sentence; `__main__` prints it without a traceback."""


class ReportError(Exception):
    """Something that came from outside cannot be used: what came, what is allowed, what to do."""

    exit_code = 1


class UsageError(ReportError):
    """The command line or a study file is wrong (nothing was run)."""

    exit_code = 2
