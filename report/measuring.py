"""From an article's front matter to its folders of datasets; runs a model only when needed."""

import platform
import shlex
import shutil

from report import key as keys
from report import kinds, store
from report.errors import ReportError
from report.models import names
from report.models.names import number_of_layers
from report.study import FrontMatter


def datasets(study, project, progress, force=False, announce=print):
    """Folders with the datasets of one article; measures those that do not fit.

    study: `Study`; project: `Project`, in whose site_src/datasets they live
    progress: called as progress(what, done, total)
    announce: called with a sentence about what is going to be downloaded
    returns: list of (path, True if the model was run), one a model of the article
    raises: ReportError for everything wrong with a model, what it reads, or the disk
    """
    wanted = study.front_matter
    kind = kinds.kind(wanted.kind)
    inputs = read(study)
    lock = project.root / names.LOCK
    with study.blaming("revisions", "models", "model"):
        sources = [names.find_first(name, lock, wanted.layers) for name in wanted.all_models]
    folder = project.site_src / "datasets" / study.name
    found = [
        _one(study, kind, inputs, source, folder, progress, force, announce) for source in sources
    ]
    _keep_only(folder, [path for path, _ in found])
    return found


def read(study):
    """What an article is measured on, as its kind reads it.

    raises: ReportError with file and line if it cannot be read
    """
    wanted = study.front_matter
    key = {"conditions": "prompts"}.get(wanted.kind, wanted.kind)
    with study.blaming(key):
        return kinds.kind(wanted.kind).inputs(wanted)


def _one(study, kind, inputs, source, folder, progress, force, announce):
    """(folder of the datasets of one model, whether it was run)."""
    wanted = study.front_matter
    settings = measuring_settings(wanted, source)
    parts = keys.determined_by(source, kind.parts(inputs), settings)
    key = keys.key(parts)
    target = folder / key
    if not force and (target / "manifest.json").is_file():
        return target, False
    if preset := _preset(source):
        announce(names.about(preset, settings["layers"]))
    with store.new_folder(target) as temporary:
        options = settings | {"layer_by_layer": wanted.layer_by_layer}
        measured, facts = measure(source, kind, inputs, progress, options, announce)
        provenance = {
            "key": key,
            "kind": wanted.kind,
            "determined_by": parts,
            **facts,
            "versions": _versions(),
            "command": command(study, source, kind.words(inputs), settings),
        }
        kind.write(temporary, measured, provenance, lambda *n: progress("Writing", *n))
    return target, True


def measuring_settings(wanted, source):
    """How an article's model is measured, as dict for its key: the article's word, else the
    preset's, else everything in float32.

    wanted: `FrontMatter`; source: `names.Source`
    """
    preset = _preset(source)
    layers = wanted.layers or (number_of_layers(preset.layers) if preset else None)
    return {
        "layers": None if layers == "all" else layers,
        "dtype": wanted.dtype,
        "device": wanted.device,
        "trust_remote_code": wanted.trust_remote_code,
        "alibi_factor": wanted.alibi_factor,
    }


def _preset(source):
    return names.presets().get(source.name) if source.kind == "hub" else None


def measure(source, kind, inputs, progress, options, announce):
    """Load a model, check it, and let a kind of article measure it.

    source: `names.Source`; kind: module of `report.kinds`, inputs: what its `inputs` gave
    options: dict of how to load the model, see `load_model`
    returns: (what the kind's `write` takes, dict of the manifest's entries about this run)
    """
    try:
        from report.models import load, self_check
    except ModuleNotFoundError as error:
        raise ReportError(
            f"measuring needs the package {error.name!r}; run `make setup` or "
            "`pip install -e '.[measure]'`."
        ) from error
    loaded = load.load_model(source, announce=announce, **options)
    measured, facts = kind.measure(loaded, inputs, progress, announce)
    checked = self_check.checked(loaded)  # what was found when it was first measured
    return measured, {
        "model": loaded.identity | {"weights_sha256": loaded.weights_sha256},
        **facts,
        "self_check": {name: checked[name] for name in checked if name != "capabilities"},
        "seed": self_check.SEED,
    }


def command(study, source, words, settings):
    """The command that measures a model of an article again.

    words: of the kind's inputs; of a path, the folders of this machine are left out
    """
    wanted = study.front_matter
    model = source.command_name
    if source.kind == "folder":
        model = f"{kinds.SOMEWHERE}/{model}"
    option = "--models" if wanted.models or wanted.revisions else "--model"
    said = ["--study", study.name, option, model]
    options = {}
    if settings["layers"]:
        options["layers"] = f"0-{settings['layers'] - 1}"
    elif _preset(source):
        options["layers"] = "all"
    for name in ("dtype", "device", "trust_remote_code", "alibi_factor"):
        if settings[name] != FrontMatter.model_fields[name].default:
            options[name] = settings[name]
    said += words
    for name, value in options.items():
        said += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(["python", "-m", "report", "measure", *said])


def _versions():
    libraries = ("attention-focus-plots", *keys.LIBRARIES)
    return {"python": platform.python_version()} | {name: keys.version(name) for name in libraries}


def _keep_only(folder, kept):
    """Remove datasets of the same article that belong to earlier keys."""
    for path in folder.iterdir():
        if path not in kept and path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
