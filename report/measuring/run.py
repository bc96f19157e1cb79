"""From an article's front matter to its folders of datasets; runs a model only when needed."""

import platform
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from report import files
from report.errors import ReportError
from report.measuring import frozen, kinds, pieces
from report.measuring import key as keys
from report.measuring.plan import plans, preset_of
from report.models.find import known
from report.study.front_matter import FrontMatter


@dataclass(frozen=True)
class Found:
    """The datasets of one model of an article."""

    folder: Path
    """Below site_src/datasets."""
    state: str
    """"measured" now, or as in `report.measuring.plan.Plan`: "unchanged", "frozen" or "kept"."""
    reasons: list = field(default_factory=list)
    """Why they were measured."""

    @property
    def ran(self):
        """Whether the model was run."""
        return self.state == "measured"


def datasets(study, project, progress, force=False, use_frozen=True, announce=print, run=None):
    """The datasets of one article; measures those that do not fit.

    study: `Study`; project: `Project`, in whose site_src/datasets they live
    progress: called as progress(what, done, total)
    force: measure whatever is there; use_frozen: whether frozen datasets stand in for measuring
    announce: called with a sentence about what is going to be downloaded
    run: what measures, as `alone` does, which is the default
    returns: list of `Found`, one a model of the article
    raises: ReportError for everything wrong with a model, what it reads, or the disk
    """
    inputs = read(study)
    chosen = plans(study, project, inputs, force, use_frozen)
    found = carry_out(chosen, study, inputs, project, progress, announce, run or alone, force)
    _keep_only(project.site_src / "datasets" / study.name, [each.folder for each in found])
    return found


def read(study):
    """What an article is measured on, as its kind reads it.

    raises: ReportError with file and line if it cannot be read
    """
    wanted = study.front_matter
    key = {"conditions": "prompts"}.get(wanted.kind, wanted.kind)
    with study.blaming(key):
        return kinds.kind(wanted.kind).inputs(wanted)


def carry_out(plans, study, inputs, project, progress, announce, run=None, force=False, again=None):
    """The `Found` of models of an article, measured where a `Plan` says so: list, in their order.

    plans: list of `Plan`; inputs: what `read` gave; force: forget what an unfinished run left
    again: the command that measures it again; default: the one of the command line
    other arguments as of `datasets`
    """
    folder, kind = project.site_src / "datasets" / study.name, study.front_matter.kind
    found = {}
    for number, plan in enumerate(plans):
        if plan.state == "frozen":
            copied = frozen.copy_datasets(plan.folder, folder / plan.folder.name)
            found[number] = Found(copied, "frozen")
        elif plan.state != "measure":
            found[number] = Found(plan.folder, plan.state)
    missing = {number: plan for number, plan in enumerate(plans) if number not in found}
    tasks = {number: _task(plan, study, inputs, project) for number, plan in missing.items()}
    for task in tasks.values():
        if force:
            task.kept.remove()
    for number, measured, facts in (run or alone)(tasks, progress, announce):
        plan = plans[number]
        provenance = {
            "key": plan.folder.name,
            "kind": kind,
            "determined_by": plan.parts,
            **facts,
            "versions": _versions(plan.parts["libraries"]),
            "command": again
            or command(study, plan.source, kinds.kind(kind).words(inputs), plan.settings),
        }
        with files.new_folder(plan.folder) as temporary:
            kinds.kind(kind).write(
                temporary, measured, provenance, lambda *n: progress("Writing", *n)
            )
        found[number] = Found(plan.folder, "measured", plan.reasons)
    for task in tasks.values():
        task.kept.remove()
    return [found[number] for number in range(len(plans))]


def _task(plan, study, inputs, project):
    """The `Task` of a plan to measure."""
    wanted = study.front_matter
    options = plan.settings | {"layer_by_layer": wanted.layer_by_layer}
    kept = pieces.Kept(project.root, study.name, plan.parts)
    return pieces.Task(plan.source, wanted.kind, inputs, options, plan.parts, kept, wanted.cluster)


def alone(tasks, progress, announce):
    """Measure in this process, one model after the other.

    tasks: dict of number to `Task`
    progress: called with (what, done, total); announce: with a sentence about what is read
    yields: (number, what the kind's `write` takes, entries of the manifest)
    """
    for number, task in tasks.items():
        yield number, *measure(task, progress, announce)


def measure(task, progress, announce):
    """Load the model of a `Task`, check it, and measure all pieces in this process.

    returns: (what the kind's `write` takes, dict of the manifest's entries about this run)
    """
    try:
        from report.models.load import load
    except ModuleNotFoundError as error:
        raise ReportError(
            f"measuring needs the package {error.name!r}; run `make setup` or "
            "`pip install -e '.[measure]'`."
        ) from error
    if preset := preset_of(task.source):
        announce(known.about(preset, task.options["layers"]))
    loaded = load.load_model(task.source, announce=announce, **task.options)
    gathering = pieces.Gathering(task)
    several = pieces.has_corpus(gathering.kind)
    for piece in gathering.pieces():
        before = gathering.done

        def show(what, done, total, before=before):
            progress(what, *((before + done, gathering.total) if several else (done, total)))

        result = pieces.measure_piece(loaded, gathering.kind, task.inputs, piece, show, announce)
        gathering.add(piece, result)
    return gathering.finished()


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
    return f"{kinds.SOMEWHERE}/{model}" if source.origin == "folder" else model


def _versions(libraries):
    ours = keys.version("attention-focus-plots")
    return {"python": platform.python_version(), "attention-focus-plots": ours} | libraries


def _keep_only(folder, kept):
    """Remove datasets of the same article that belong to earlier keys."""
    for path in folder.iterdir():
        if path not in kept and path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
