"""From an article's front matter to its folders of datasets; runs a model only when needed."""

import platform
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from report import files, kinds
from report.datasets import store
from report.datasets.write.folder import write_folder
from report.inputs.corpora import Corpus
from report.inputs.specs import PassageSpec
from report.kinds import folders
from report.measuring import frozen, pieces
from report.measuring.alone import alone
from report.measuring.command import command
from report.measuring.kept import Kept
from report.measuring.key import version
from report.measuring.kind import Announce, Progress
from report.measuring.plan import Plan, known_plans, missing_package, plans
from report.measuring.settings import preset_of, size_measured
from report.project import Project
from report.study.study import Study

Measurer = Callable[[dict[int, pieces.Task], Progress, Announce], Iterator[tuple[int, Any, dict]]]
"""Measures tasks and yields (number, measured, facts) of each: `alone.alone` in this process,
`cluster.driver.on_cluster` on Ray."""


@dataclass(frozen=True)
class ModelDatasets:
    """The datasets of one model of an article."""

    folder: Path
    """Below site_src/datasets."""
    state: str
    """"measured" now, or as in `report.measuring.plan.Plan`: "unchanged", "frozen" or "kept"."""
    reasons: list[str] = field(default_factory=list)
    """Why they were measured."""

    @property
    def ran(self) -> bool:
        """Whether the model was run."""
        return self.state == "measured"


@dataclass(frozen=True)
class MeasuringRun:
    """Where and how the models of an article are measured."""

    project: Project
    """The datasets are written into its site_src/datasets."""
    progress: Progress
    announce: Announce = print
    force: bool = False
    """Whether to forget what was measured of the texts of a corpus."""
    measurer: Measurer | None = None
    """Default: `alone`."""


def datasets(
    study: Study,
    project: Project,
    progress: Progress,
    force: bool = False,
    use_frozen: bool = True,
    announce: Announce = print,
    measurer: Measurer | None = None,
) -> list[ModelDatasets]:
    """The datasets of one article, one a model; measures those that do not fit.

    project: the datasets are in its site_src/datasets
    force: measure even if datasets fit; use_frozen: whether frozen datasets replace measuring
    measurer: default: `alone`
    raises: ReportError for everything wrong with a model, what it reads, or the disk
    """
    inputs = read(study)
    say_read(study, inputs, announce)
    chosen = plans(study, project, inputs, force, use_frozen)
    run = MeasuringRun(project, progress, announce, force, measurer)
    measured = carry_out(chosen, study, inputs, run)
    kept = [model.folder for model in measured]
    _keep_only(project.site_src / "datasets" / study.name, kept, study.front_matter.kind)
    return measured


def measured_apart(study: Study, project: Project) -> list[ModelDatasets]:
    """The datasets of what an article has measured apart, one a model of which they are there and
    fit.

    Nothing is measured: `freeze` does that with an option, since it takes long.
    """
    part = study.apart
    if part is None:
        return []
    inputs = read(part)
    there = [plan for plan in known_plans(part, project, inputs) if plan.state != "measure"]
    datasets = project.site_src / "datasets"
    found = [_existing(plan, datasets, study.name) for plan in there]
    _keep_only(datasets / study.name, [model.folder for model in found], part.front_matter.kind)
    return found


def read(study: Study) -> Any:
    """What an article is measured on: the result of its kind's `inputs`.

    raises: ReportError with file and line if it cannot be read
    """
    wanted = study.front_matter
    with study.blaming(_blamed(wanted.kind)):
        inputs = folders.kind(wanted.kind).inputs(wanted)
    if study.allow_local and isinstance(getattr(inputs, "corpus", None), Corpus):
        return replace(inputs, corpus=replace(inputs.corpus, allow_local=True))
    return inputs


def _blamed(kind):
    """The key that is named when what a kind reads cannot be read."""
    question = kinds.questions().get(kind)
    return question.blamed if question else kind


def largest(study: Study, project: Project) -> dict[str, int | None]:
    """The most "layers" that are measured of a model of an article, and the most "heads" of one.

    returns: None for what cannot be known before the models are loaded
    """
    sizes = [size_measured(study, project, name) for name in study.front_matter.all_models]
    return {
        name: None if None in numbers else max(numbers)
        for name, numbers in (
            ("layers", [size.layers for size in sizes]),
            ("heads", [size.heads for size in sizes]),
        )
    }


def say_read(study: Study, inputs: Any, announce: Announce) -> None:
    """Say what is known of the files of an article only once they are opened.

    Where its corpus is fetched from, if it is on another machine, and how rows were told apart.
    inputs: the result of `read`
    """
    corpus, passage = getattr(inputs, "corpus", None), study.front_matter.passage
    if isinstance(corpus, Corpus) and corpus.origin:
        announce(f"{study.name}: its corpus is fetched from {corpus.origin}")
    if isinstance(corpus, Corpus) and corpus.form:
        announce(f"{study.name}: its corpus is read as rows with {corpus.form}")
    rows = getattr(inputs, "table", None)
    if rows and rows.form:
        announce(f"{study.name}: {rows.name} is read as rows with {rows.form}")
    file = passage.file if isinstance(passage, PassageSpec) else None
    if file and inputs.passage.source != Path(file).name:
        announce(f"{study.name}: its passage is a row of {inputs.passage.source}")


def carry_out(
    plans: Sequence[Plan], study: Study, inputs: Any, run: MeasuringRun, again: str | None = None
) -> list[ModelDatasets]:
    """The datasets of the models of an article, measured where a plan says so; in their order.

    inputs: the result of `read`
    again: the command that measures them again; default: the one of the command line
    raises: ReportError for everything wrong with a model, what it reads, or the disk
    """
    kind = folders.kind(study.front_matter.kind)
    done = {
        number: _existing(plan, run.project.site_src / "datasets", study.name)
        for number, plan in enumerate(plans)
        if plan.state != "measure"
    }
    tasks = {
        number: task_of(plan, study, inputs, run.project)
        for number, plan in enumerate(plans)
        if plan.state == "measure"
    }
    for task in tasks.values():
        _require_read(task, study, run.announce)
    if run.force:
        for task in tasks.values():
            task.kept.remove()
    if tasks and len(plans) > 1:
        listed = ", ".join(plans[number].model for number in tasks)
        run.announce(f"{study.name}: measuring {len(tasks)} of {len(plans)} models: {listed}")
    measurer = run.measurer or alone
    for number, measured, facts in measurer(tasks, run.progress, run.announce):
        plan = plans[number]
        told = again or command(study, plan.source, kind.words(inputs), plan.settings)
        provenance = _provenance(plan, study.front_matter.kind, facts, told)
        store.require_datasets(plan.folder)
        with files.new_folder(plan.folder) as temporary:
            show = partial(run.progress, "Writing")
            write_folder(temporary, kind.write, measured, provenance, show)
        done[number] = ModelDatasets(plan.folder, "measured", plan.reasons)
    return [done[number] for number in range(len(plans))]


def _require_read(task, study, announce):
    """Stop for a text that a model cannot read, before any of an article's models runs."""
    tokenized = getattr(folders.kind(task.kind), "tokenized", None)
    if tokenized is None or missing_package():
        return
    from report.models.load.load import without_weights

    loaded = without_weights(task.source, announce, **task.options)
    with study.blaming("passage", "prompts", "table", _blamed(task.kind)):
        if loaded is not None:
            tokenized(loaded, task.inputs)


def _existing(plan, datasets, article):
    """The datasets that a plan found; frozen ones are copied to the article's other datasets."""
    if plan.state == "frozen":
        target = files.inside(datasets, f"{article}/{plan.folder.name}")
        return ModelDatasets(frozen.copy_datasets(plan.folder, target), "frozen")
    return ModelDatasets(plan.folder, plan.state)


def _provenance(plan, kind, facts, command):
    """The manifest's entries that are not about files."""
    return {
        "key": plan.folder.name,
        "kind": kind,
        "determined_by": plan.parts,
        **facts,
        "versions": _versions(plan.parts["libraries"], preset_of(plan.source)),
        "command": command,
    }


def task_of(plan: Plan, study: Study, inputs: Any, project: Project) -> pieces.Task:
    """The task of a plan to measure; inputs: the result of `read`."""
    wanted = study.front_matter
    options = plan.settings | {"layer_by_layer": wanted.layer_by_layer}
    not_in_sums = getattr(folders.kind(wanted.kind), "NOT_IN_SUMS", ())
    kept = Kept(project.root, plan.parts, not_in_sums)
    return pieces.Task(plan.source, wanted.kind, inputs, options, plan.parts, kept, wanted.cluster)


def _versions(libraries, preset):
    """Versions of what measured, and of the package that a model came in."""
    package = preset.package if preset else None
    names = ["attention-focus-plots", *([package] if package else [])]
    ours = {name: version(name) for name in names}
    return {"python": platform.python_version()} | ours | libraries


def _keep_only(folder, kept, kind):
    """Remove datasets of the article that have earlier keys, of this kind or of none.

    raises: ReportError for one that holds anything else
    """
    for path in folder.glob("*/"):
        if path not in kept and frozen.kind_of(path) in (kind, None):
            store.require_datasets(path)
            shutil.rmtree(path, ignore_errors=True)
