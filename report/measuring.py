"""From an article's front matter to its folders of datasets; runs a model only when needed."""

import platform
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from report import frozen, kinds, store
from report import key as keys
from report.errors import ReportError
from report.models import names
from report.plan import plans, preset_of
from report.study import FrontMatter


@dataclass(frozen=True)
class Found:
    """The datasets of one model of an article."""

    folder: Path
    """Below site_src/datasets."""
    state: str
    """"measured" now, or as in `report.plan.Plan`: "unchanged", "frozen" or "kept"."""
    reasons: list = field(default_factory=list)
    """Why they were measured."""

    @property
    def ran(self):
        """Whether the model was run."""
        return self.state == "measured"


def datasets(study, project, progress, force=False, use_frozen=True, announce=print):
    """The datasets of one article; measures those that do not fit.

    study: `Study`; project: `Project`, in whose site_src/datasets they live
    progress: called as progress(what, done, total)
    force: measure whatever is there; use_frozen: whether frozen datasets stand in for measuring
    announce: called with a sentence about what is going to be downloaded
    returns: list of `Found`, one a model of the article
    raises: ReportError for everything wrong with a model, what it reads, or the disk
    """
    kind = kinds.kind(study.front_matter.kind)
    inputs = read(study)
    folder = project.site_src / "datasets" / study.name
    found = [
        carry_out(plan, study, kind, inputs, folder, progress, announce)
        for plan in plans(study, project, inputs, force, use_frozen)
    ]
    _keep_only(folder, [each.folder for each in found])
    return found


def read(study):
    """What an article is measured on, as its kind reads it.

    raises: ReportError with file and line if it cannot be read
    """
    wanted = study.front_matter
    key = {"conditions": "prompts"}.get(wanted.kind, wanted.kind)
    with study.blaming(key):
        return kinds.kind(wanted.kind).inputs(wanted)


def carry_out(plan, study, kind, inputs, folder, progress, announce, again=None):
    """The `Found` of one model of an article, measured if its `Plan` says so.

    folder: of the article's datasets
    again: the command that measures it again; default: the one of the command line
    """
    if plan.state == "frozen":
        return Found(frozen.copy_datasets(plan.folder, folder / plan.folder.name), "frozen")
    if plan.state != "measure":
        return Found(plan.folder, plan.state)
    source, settings = plan.source, plan.settings
    if preset := preset_of(source):
        announce(names.about(preset, settings["layers"]))
    with store.new_folder(plan.folder) as temporary:
        options = settings | {"layer_by_layer": study.front_matter.layer_by_layer}
        measured, facts = measure(source, kind, inputs, progress, options, announce)
        provenance = {
            "key": plan.folder.name,
            "kind": study.front_matter.kind,
            "determined_by": plan.parts,
            **facts,
            "versions": _versions(plan.parts["libraries"]),
            "command": again or command(study, source, kind.words(inputs), settings),
        }
        kind.write(temporary, measured, provenance, lambda *n: progress("Writing", *n))
    return Found(plan.folder, "measured", plan.reasons)


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
    wanted, model = study.front_matter, named_anywhere(source)
    option = "--models" if wanted.models or wanted.revisions else "--model"
    said = ["--study", study.name, option, model]
    options = {}
    if settings["layers"]:
        options["layers"] = f"0-{settings['layers'] - 1}"
    elif preset_of(source):
        options["layers"] = "all"
    for name in ("dtype", "device", "trust_remote_code", "alibi_factor"):
        if settings[name] != FrontMatter.model_fields[name].default:
            options[name] = settings[name]
    said += words
    for name, value in options.items():
        said += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(["python", "-m", "report", "measure", *said])


def named_anywhere(source):
    """What a command calls a model: of a folder, those of this machine are left out."""
    model = source.command_name
    return f"{kinds.SOMEWHERE}/{model}" if source.kind == "folder" else model


def _versions(libraries):
    ours = keys.version("attention-focus-plots")
    return {"python": platform.python_version(), "attention-focus-plots": ours} | libraries


def _keep_only(folder, kept):
    """Remove datasets of the same article that belong to earlier keys."""
    for path in folder.iterdir():
        if path not in kept and path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
