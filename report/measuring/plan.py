"""What a build will do for each model of an article: use existing datasets, or measure.

Runs no model, downloads nothing, and needs none of the libraries that measure.
"""

import importlib.util
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from report import files
from report.datasets import store
from report.datasets.whole import damage
from report.errors import PROGRAM, ReportError
from report.kinds import folders
from report.measuring.changes import changes
from report.measuring.kept_heads import require_heads
from report.measuring.key import determined_by, key_of, known_model
from report.measuring.settings import measuring_settings, require_layers, require_some
from report.models.find import names
from report.models.find.names import size_of
from report.project import Project
from report.study.study import MODELS, Study

PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "regex", "huggingface_hub")
"""Packages that measuring needs and rendering does not."""

NEVER = "never measured"


@dataclass(frozen=True)
class Plan:
    """What will be done for one model of an article."""

    state: str
    """"unchanged": its datasets fit and are whole. "frozen": frozen datasets fit. "kept": the
    libraries that measure are not installed, and nothing else changed. "measure": none fit."""
    model: str
    """What pages call it."""
    folder: Path | None = None
    """Of the datasets that fit; for "measure" where they will be written, if that is known."""
    source: names.Source | None = None
    """For "unchanged" and "measure"."""
    parts: dict = field(default_factory=dict)
    """The result of `key.determined_by`, for "unchanged" and "measure"."""
    settings: dict = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    """Why it must be measured, as phrases; see `report.measuring.changes`."""


def plans(
    study: Study,
    project: Project,
    inputs: Any,
    force: bool = False,
    use_frozen: bool = True,
    ask: bool = True,
) -> list[Plan]:
    """One plan a model of an article, in the order of its front matter. A model `beside` that turns
    out to be the article's own, by an alternative, gets none.

    inputs: the result of the kind's `inputs`
    force: measure even if datasets fit
    use_frozen: whether frozen datasets count for a model that is on this machine; for a folder that
        is not on this machine they always count, even with `force`
    ask: whether the hub may be asked for a commit that is not recorded
    raises: ReportError if a model cannot be found and no frozen datasets stand in for it
    """
    planner = _Planner(study, project, inputs, force, use_frozen, ask)
    with study.blaming("layers"):
        require_some(study, project)
    with study.blaming("revisions", *MODELS):
        wanted = study.front_matter.all_models
    first, *others = [planner.plan(name) for name in wanted]
    if study.front_matter.beside:
        own = first.model, first.folder
        others = [plan for plan in others if (plan.model, plan.folder) != own]
    return [first, *others]


def left_out(studies: Iterable[Study], project: Project) -> list[str]:
    """A sentence for every model in a package that articles name, and whose place another takes, as
    the package is not installed."""
    sentences = {}
    for study in studies:
        manifests = _manifests(project.frozen / study.name, study.front_matter.kind)
        models = [manifest["model"] for _, manifest in manifests]
        frozen = {model.get("own_name", model["name"]) for model in models}
        for name in study.front_matter.all_models:
            tried = names.alternatives(name)
            for place, wanted in enumerate(tried[:-1], start=1):
                if wanted in frozen or names.is_here(wanted):
                    break
                if why := names.absent(wanted):
                    others, install = " or ".join(tried[place:]), names.installing(wanted)
                    sentences[wanted] = (
                        f"{why}; {others} takes its place (`{install}` installs it)."
                    )
    return list(sentences.values())


def missing_package() -> str | None:
    """The first package that measuring needs and that is not installed, or None."""
    return next((name for name in PACKAGES if importlib.util.find_spec(name) is None), None)


def known_plans(study: Study, project: Project, inputs: Any) -> list[Plan]:
    """The plans of those models that are here, or that have frozen datasets; no hub is asked."""
    planner = _Planner(study, project, inputs, force=False, use_frozen=True, ask=False)
    found = []
    for name in study.front_matter.all_models:
        with suppress(ReportError):  # it is not here, and nothing was measured that fits
            found.append(planner.plan(name))
    return found


@dataclass(frozen=True)
class _Planner:
    study: Study
    project: Project
    inputs: Any
    force: bool
    use_frozen: bool
    ask: bool

    @property
    def kind(self):
        return self.study.front_matter.kind

    def plan(self, name: str) -> Plan:
        """The plan for a model's name, or for alternatives "a or b"."""
        frozen = _manifests(self.project.frozen / self.study.name, self.kind, careful=True)
        measured = _manifests(self.project.site_src / "datasets" / self.study.name, self.kind)
        fitting, misfits = self._fitting(name, frozen)
        wanted = self.use_frozen and not self.force
        if fitting and (wanted or self._is_gone(name, fitting[1])):
            return Plan("frozen", fitting[1]["model"]["name"], fitting[0])
        misfits = misfits if wanted else []
        missing = missing_package()
        if missing and not self.force:
            fitting, more = self._fitting(name, measured)
            damaged = damage(fitting[0]) if fitting else []
            if fitting and not damaged:
                return Plan("kept", fitting[1]["model"]["name"], fitting[0])
            misfits = misfits or damaged or more
        try:
            if missing and misfits:
                raise ReportError(f"measuring needs the package {missing!r}")
            return self._measured_here(name, measured)
        except ReportError as error:
            if not misfits:
                raise
            raise ReportError(
                f"{self.study.name}: its datasets do not fit any more ({'; '.join(misfits)}), and "
                f"it cannot be measured here: {str(error).rstrip('.')}. Run "
                f"`{PROGRAM} freeze` where it can be, and commit what that writes."
            ) from error

    def _is_gone(self, name, manifest):
        """Whether datasets are of a folder that is not on this machine any more."""
        of_hub = "hub" in manifest["determined_by"]["model"]
        return not of_hub and not any(map(names.is_here, names.alternatives(name)))

    def _measured_here(self, name, measured):
        """The plan for a model whose key can be computed; measured: as of `_manifests`."""
        wanted = self.study.front_matter
        commits = self.project.root / names.COMMITS
        with self.study.blaming("revisions", *MODELS):
            source = names.find_first(name, commits, wanted.layers, self.ask)
        source = replace(source, label=wanted.label)
        settings = measuring_settings(wanted, source)
        with self.study.blaming("layers"):
            require_layers(source, settings["layers"])
        with self.study.blaming("heads"):
            require_heads(source.name, size_of(source).heads, wanted.heads)
        if source.model.origin == "hub" and source.model.revision is None:
            return Plan("measure", source.title, None, source, {}, settings, [NEVER])
        with self.study.blaming("corpus"):
            given = folders.kind(self.kind).parts(self.inputs)
        parts = determined_by(source, self.kind, given, settings)
        datasets = self.project.site_src / "datasets"
        folder = files.inside(datasets, f"{self.study.name}/{key_of(parts)}")
        about = source.title, folder, source, parts, settings
        if self.force:
            return Plan("measure", *about, ["asked for by --force"])
        if not (folder / "manifest.json").is_file():
            return Plan("measure", *about, self._reasons(parts, measured))
        damaged = damage(folder)
        return Plan("measure" if damaged else "unchanged", *about, damaged[:1])

    def _reasons(self, parts, measured):
        """What changed since the most similar datasets were measured."""
        before = [manifest["determined_by"] for _, manifest in measured]
        same = [earlier for earlier in before if earlier["model_name"] == parts["model_name"]]
        if len(self.study.front_matter.all_models) == 1:
            same = same or before
        return min((changes(earlier, parts) for earlier in same), key=len, default=[]) or [NEVER]

    def _fitting(self, name, manifests):
        """Folder and manifest of datasets that fit a model, or None; and why others do not.

        What is unknown here counts as unchanged: the code and the libraries that measured, and
        files of the model that are not on this machine.
        """
        misfits = []
        for alternative in names.alternatives(name):
            for folder, manifest in manifests:
                before = manifest["determined_by"]
                now = self._as_far_as_known(alternative, before)
                if now is None:
                    continue
                changed = changes(before, now)
                if not changed:
                    return (folder, manifest), []
                misfits = misfits or changed
        return None, misfits

    def _as_far_as_known(self, name, before):
        """The present `key.determined_by`, completed from `before`; None for another model."""
        label = self.study.front_matter.label
        source = _source(name, label, before, self.project.root / names.COMMITS)
        if source is None:
            return None
        settings = measuring_settings(self.study.front_matter, source, before["settings"])
        given = folders.kind(self.kind).parts(self.inputs, before)
        model = known_model(source, settings["layers"], before["model"])
        kept = {part: before[part] for part in ("code", "libraries")}
        about = {"model": model, "model_name": source.title, "settings": settings}
        return about | given | kept


def _source(name, label, before, commits):
    """The model that a name stands for, if datasets are of it; else None.

    before: "determined_by" of the datasets
    """
    hub, called = before["model"].get("hub"), before["model_name"]
    here = names.is_here(name)
    if hub is not None:
        if hub != name.partition("@")[0] or here:
            return None
        return replace(names.find(name, commits, ask=False), label=label)
    in_file = "file" in before["model"]
    with suppress(*([ReportError] if in_file else [])):  # a damaged file counts as missing
        if here:
            source = replace(names.find(name, commits, ask=False), label=label)
            return source if source.title == called else None
    if in_file:
        same = names.file_called(name) == before["model"]["file"] and label in (None, called)
        return names.Source(called, "file", file=before["model"]["file"]) if same else None
    return names.Source(called, "folder") if (label or names.called(name)) == called else None


def _manifests(folder, kind, careful=False):
    """Pairs (folder, manifest) of the datasets of a kind of an article, sorted by key.

    careful: raise ReportError for a manifest that cannot be read; otherwise it counts as missing
    """
    manifests = []
    for path in sorted(folder.glob("[!.]*/manifest.json")):
        try:
            below = f"{folder.name}/{path.parent.name}/{path.name}"
            manifests.append((path.parent, store.read(files.inside(folder.parent, below))))
        except ReportError:
            if careful:
                raise
    return [pair for pair in manifests if pair[1]["kind"] == kind]
