"""Models from the Hugging Face hub: only the files that are needed, at one pinned commit.

`resolve` asks the hub once which commit a branch is at; `fetch_settings` downloads configuration,
tokenizer and the index of the weights; `fetch_weights` also the weight files that hold the wanted
tensors. Both return a local folder that looks like a checkpoint, so nothing else in this package
knows of a network. Files land in the cache that all Hugging Face tools share; the folder links to
them. What is in the cache is used without asking the hub. Nothing here needs torch.
"""

import errno
import json
from collections.abc import Callable, Iterable
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path

from huggingface_hub import HfApi, constants, hf_hub_download, try_to_load_from_cache
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from report import files as store
from report.errors import ReportError, of_hub
from report.models.find.adapters import CONFIG, WEIGHTS
from report.models.find.inside import require_readable
from report.models.find.known import did_you_mean
from report.models.find.weights import (
    INDEX,
    SINGLE,
    files_for,
    first_layers,
    no_weights,
    read_index,
)
from report.text import sized

SETTINGS = (
    "config.json",
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.*",
    "vocab.*",
    "merges.txt",
    "*.model",
    INDEX,
    CONFIG,
)
"""Files besides the weights that loading a model may need; all small."""

CONVERTER = "SFconvertbot"
"""Account on the hub that converts pickled weights and offers the result as a pull request."""

TIMEOUT = 15
"""Seconds to wait for an answer of the hub; downloads have a limit of their own."""


def resolve(repository: str, revision: str = "main") -> str:
    """The commit, 40 hex digits, that a branch or tag of a model on the hub is at.

    If the hub cannot be reached, the commit that the shared cache has of that branch.
    raises: ReportError that says what to do
    """
    info, folder = _info(repository, revision)
    return info.sha if folder is None else folder.name


def _info(repository, revision, **options):
    """(what the hub says of a model, None); where it cannot be reached, (None, the folder in the
    shared cache)."""
    with _one_sentence(repository, revision):
        try:
            return HfApi().model_info(
                repository, revision=revision, timeout=TIMEOUT, **options
            ), None
        except (HTTPError, OfflineModeIsEnabled) as error:
            cached = cached_config(repository, revision)
            if _status(error) or cached is None:
                raise
            return None, cached.parent


def cached_commit(repository: str, revision: str = "main", layers: int | None = None) -> str | None:
    """The commit of a model if the shared cache holds its weights, else None; the hub is not asked.

    layers: how many layers, from the first, must be there; None: all
    """
    config = cached_config(repository, revision)
    if config is None:
        return None
    commit = config.parent.name
    weights, index = [SINGLE], try_to_load_from_cache(repository, INDEX, revision=commit)
    if isinstance(index, str):
        held = read_index(Path(index))
        weights = files_for(held, None if layers is None else first_layers(list(held), layers))
    return commit if all(_cached(repository, commit, name) for name in weights) else None


def cached_config(repository: str, revision: str) -> Path | None:
    """The config.json of a model that the shared cache holds, or None; the hub is not asked."""
    config = try_to_load_from_cache(repository, "config.json", revision=revision)
    return Path(config) if isinstance(config, str) else None


def files(repository: str, commit: str) -> dict[str, int]:
    """A model's files on the hub, name -> bytes; the hub is asked once for each commit.

    raises: ReportError as `resolve`
    """
    record = _home(repository, commit) / "files.json"
    with suppress(OSError, ValueError, RecursionError):  # a damaged record is written anew
        sizes = json.loads(record.read_text("utf-8"))
        if isinstance(sizes, dict) and all(type(size) is int for size in sizes.values()):
            return sizes
    info, folder = _info(repository, commit, files_metadata=True)
    if folder is not None:
        return {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
    sizes = {file.rfilename: file.size or 0 for file in info.siblings}
    store.write_text(record, json.dumps(sizes, sort_keys=True))
    return sizes


def fetch_settings(repository: str, commit: str, code: bool = False) -> Path:
    """Download a model's configuration, tokenizer and index into the shared cache.

    code: whether its Python files come too; only for a model whose code is trusted
    returns: folder of the cache that holds them
    raises: ReportError if there is no config.json, or as `resolve`
    """
    sizes = files(repository, commit)
    names = _settings(sizes, code)
    for name in names:
        require_readable(Path(name), sizes[name], repository)
    if "config.json" not in names:
        adapter = "give a folder that `hf download` brings its adapter into"
        instead = adapter if CONFIG in names else "name another"
        raise ReportError(
            f"'{repository}' on the hub has no config.json, so it is not a model for transformers; "
            f"{instead}"
        )
    folders = {_download(repository, commit, name).parent for name in names}
    return folders.pop()


def fetch_weights(
    repository: str,
    commit: str,
    wanted: Callable[[list[str]], Iterable[str]] | None = None,
    code: bool = False,
    announce: Callable[[str], None] = print,
) -> Path:
    """Download a model's settings and weights, or only the weight files with the wanted tensors.

    wanted: function of the names of all tensors -> the names wanted; None for all. A model in one
        file comes whole.
    announce: called with one sentence before a download: how many bytes it is
    returns: folder of links with settings and weights, its index reduced to these weight files
    raises: ReportError if there are no weights or only pickled ones, or as `resolve`
    """
    sizes = files(repository, commit)
    weights, index = [SINGLE], None
    if SINGLE not in sizes:
        if INDEX not in sizes:
            instead = _conversion(repository)
            raise no_weights(f"'{repository}' on the hub", list(sizes), instead)
        index = read_index(fetch_settings(repository, commit, code) / INDEX)
        weights = files_for(index, None if wanted is None else list(wanted(list(index))))
    names = _settings(sizes, code) + weights + ([WEIGHTS] if WEIGHTS in sizes else [])
    planned = sum(sizes.get(name, 0) for name in names if not _cached(repository, commit, name))
    if planned:
        held = f"{len(weights)} of {len(set(index.values()))}" if index else "1 of 1"
        announce(
            f"{repository} at {commit[:7]}: downloading {sized(planned)} "
            f"(weights: {held} files, {sized(sum(sizes.get(name, 0) for name in weights))})"
        )
    paths = {name: _download(repository, commit, name) for name in names}
    return _linked(repository, commit, paths, index, weights)


def _conversion(repository):
    """What to do about a model on the hub that has pickled weights only.

    The hub's converter offers safetensors as a pull request. It is named and not taken: weights
    that are not the owner's are for the reader to choose.
    """
    try:
        offered = HfApi().get_repo_discussions(
            repository, author=CONVERTER, discussion_type="pull_request"
        )
        request = next((request for request in offered if request.author == CONVERTER), None)
    except Exception:  # whatever the hub's library raises
        request = None
    if request is None:
        return "convert them to safetensors in a local folder"
    return f"the hub's converter offers safetensors: {repository}@{request.git_reference}"


def _linked(repository, commit, paths, index, weights):
    """A folder of links into the shared cache, with an index of these weight files alone."""
    folder = _home(repository, commit) / sha256("\n".join(sorted(paths)).encode()).hexdigest()[:12]
    if not all((folder / name).is_file() for name in paths):
        with store.new_folder(folder) as temporary:
            for name, path in paths.items():
                if name != INDEX:
                    store.inside(temporary, name).symlink_to(path.resolve())
            if index:
                needed = {name: file for name, file in index.items() if file in weights}
                (temporary / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": needed}))
    return folder


def _settings(sizes, code):
    """Names of the settings files among a model's files, config.json first."""
    patterns = (*SETTINGS, "*.py") if code else SETTINGS
    names = {name for name in sizes if any(fnmatch(name, pattern) for pattern in patterns)}
    return sorted(
        (name for name in names if "/" not in name), key=lambda name: (name != "config.json", name)
    )


def _download(repository, commit, name):
    with _one_sentence(repository, commit):
        return Path(hf_hub_download(repository, name, revision=commit))


def _cached(repository, commit, name):
    return isinstance(try_to_load_from_cache(repository, name, revision=commit), str)


def _home(repository, commit):
    """Our own folder for a model's commit: the list of its files, and folders of links."""
    home = Path(constants.HF_HOME) / "attention-focus-plots"
    return home / repository.replace("/", "--") / commit


def _status(error):
    """The HTTP status of the hub's answer, or None if no answer came."""
    response = getattr(error, "response", None)
    return getattr(response, "status_code", None)


@contextmanager
def _one_sentence(repository, revision):
    """Turn errors of the hub into a ReportError of one sentence; theirs may hold signed addresses.

    raises: ReportError
    """
    page = f"https://huggingface.co/{repository}"
    folder = "or give a local folder"
    try:
        yield
    except GatedRepoError as error:
        raise ReportError(
            f"'{repository}' is gated: accept its licence on {page}, log in with `hf auth login`, "
            f"and run the command again; {folder}"
        ) from error
    except RevisionNotFoundError as error:
        raise ReportError(
            f"'{repository}' on the hub has no revision '{revision}'; see {page}/tree/main for "
            "its branches and commits"
        ) from error
    except RepositoryNotFoundError as error:
        raise ReportError(
            f"unknown model '{repository}': there is no such folder here and no such public model "
            f"on the hub.{did_you_mean(repository)} Check the spelling, log in with `hf auth "
            f"login` if it is private, {folder}"
        ) from error
    except (HTTPError, OSError, EntryNotFoundError) as error:
        raise _failed(repository, error, folder) from error
    except ReportError:
        raise
    except Exception as error:  # of any class, by what the environment says
        raise of_hub(error) from error


def _failed(repository, error, folder):
    """The ReportError for a hub that refuses, fails, is out of reach, or a disk that is full."""
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
        return ReportError(
            f"cannot store '{repository}' in {constants.HF_HUB_CACHE}: {error.strerror}. "
            "Free some disk space, or name another folder in HF_HOME."
        )
    reasons = [error, error.__cause__, error.__context__]
    status = next(filter(None, map(_status, reasons)), None)
    if status in (401, 403):
        return ReportError(
            f"the hub refuses '{repository}' ({status}): log in with `hf auth login` and see that "
            f"its page says you have access; {folder}"
        )
    if status == 404:
        return ReportError(f"'{repository}' on the hub lacks a file that it lists; {folder}")
    if status:
        return ReportError(
            f"the hub answered {status} for '{repository}'; try again later, {folder}"
        )
    if constants.HF_HUB_OFFLINE:
        return ReportError(
            f"'{repository}' is not on this machine, and HF_HUB_OFFLINE forbids asking the hub; "
            f"unset it, {folder}"
        )
    return ReportError(
        f"'{repository}' is not on this machine, and {constants.ENDPOINT} cannot be reached; "
        f"check the connection, {folder}"
    )
