"""The commit of every model from the hub, as a project has recorded it."""

import json
import re
from pathlib import Path

from report import files
from report.errors import ReportError, setup

COMMIT = re.compile(r"[0-9a-f]{40}")


def commit_of(
    repository: str, revision: str, commits: str | Path | None, ask: bool = True
) -> str | None:
    """The commit to use: the one named, else the one recorded, else the hub's, recorded now.

    commits: path of the recorded commits, looked up there and added to; None for none
    ask: whether to ask the hub for a commit that is not recorded; if not, it is None
    returns: 40 hex digits
    raises: ReportError if the hub must be asked and cannot be, or the record is damaged
    """
    if COMMIT.fullmatch(revision):
        return revision
    wanted = f"{repository}@{revision}" if revision else repository
    recorded = recorded_commits(commits) if commits else {}
    if wanted not in recorded and not ask:
        return None
    if wanted not in recorded:
        try:
            from report.models.find import hub
        except ModuleNotFoundError as error:
            raise ReportError(
                f"asking the hub for {repository} needs the package {error.name!r}; run "
                f"`{setup()}`."
            ) from error
        commit = hub.resolve(repository, revision or "main")
        if not COMMIT.fullmatch(str(commit)):
            raise ReportError(
                f"the hub says that {wanted} is at {str(commit)[:80]!r}, which is no commit of 40 "
                "hex digits; name a commit yourself, as in owner/model@commit."
            )
        recorded[wanted] = commit
        if commits:
            text = json.dumps(dict(sorted(recorded.items())), indent=2) + "\n"
            files.write_text(commits, text)
    return recorded[wanted]


def recorded_commits(path: str | Path) -> dict[str, str]:
    """The recorded commits: dict of name -> 40 hex digits; {} if there is no such file.

    raises: ReportError if the file holds anything else
    """
    path = Path(path)
    if not path.is_file():
        return {}
    try:
        commits = json.loads(path.read_text("utf-8"))
        if all(COMMIT.fullmatch(commit) for commit in commits.values()):
            return commits
    except (ValueError, AttributeError, TypeError):
        pass
    raise ReportError(
        f"{path.name} is not a list of models and commits of 40 hex digits; mend or delete it "
        "(deleting it means that the newest commits are used)."
    )
