"""What a build will do about each model of an article: use datasets that are there, or measure.

Runs no model, downloads nothing, and needs none of the libraries that measure.
"""

import importlib.util
from dataclasses import dataclass, field
from pathlib import Path

from report.datasets import store
from report.datasets.verify import whole as freezing
from report.errors import ReportError
from report.measuring import key as keys
from report.measuring import kinds
from report.measuring.changes import changes
from report.models.find import known, names
from report.models.find.known import number_of_layers

PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "huggingface_hub")
"""What measuring needs and rendering does not."""

MODELS = ("revisions", "models", "model")
"""Keys of front matter that name models."""

NEVER = "never measured"


@dataclass(frozen=True)
class Plan:
    """What will be done about one model of an article."""

    state: str
    """"unchanged": its datasets fit and are the files that were measured. "frozen": frozen ones
    fit. "kept": they fit as far as can be told without the libraries that measure. "measure":
    none fit."""
    model: str
    """What pages call it."""
    folder: Path | None = None
    """Of datasets that fit; where they are to be written for "measure", if that is known."""
    source: object = None
    """`names.Source`, for "unchanged" and "measure"."""
    parts: dict = field(default_factory=dict)
    """What `key.determined_by` returns, for "unchanged" and "measure"."""
    settings: dict = field(default_factory=dict)
    reasons: list = field(default_factory=list)
    """Why it has to be measured, phrases; see `report.measuring.changes`."""


def plans(study, project, inputs, force=False, use_frozen=True, ask=True):
    """One `Plan` a model of an article, in the order of its front matter.

    inputs: what the `inputs` of its kind gave
    force: measure whatever is there
    use_frozen: whether frozen datasets count where the model is here; those of a folder that is
        not here always do, also with `force`
    ask: whether the hub may be asked for a commit that is not recorded
    raises: ReportError if a model cannot be found and no frozen datasets stand in for it
    """
    planner = _Planner(study, project, inputs, force, use_frozen, ask)
    with study.blaming(*MODELS):
        wanted = study.front_matter.all_models
    return [planner.plan(name) for name in wanted]


def measuring_settings(wanted, source):
    """How an article's model is measured, as dict for its key: the article's word, else the
    preset's, else everything in float32.

    wanted: `FrontMatter`; source: `names.Source`
    """
    preset = preset_of(source)
    layers = wanted.layers or (number_of_layers(preset.layers) if preset else None)
    return {
        "layers": None if layers == "all" else layers,
        "dtype": wanted.dtype,
        "device": wanted.device,
        "trust_remote_code": wanted.trust_remote_code,
        "alibi_factor": wanted.alibi_factor,
    }


def preset_of(source):
    """The `names.Preset` of a model, or None."""
    return known.presets().get(source.name) if source.origin == "hub" else None


def missing_package():
    """The first package that measuring needs and is not installed, or None."""
    return next((name for name in PACKAGES if importlib.util.find_spec(name) is None), None)


@dataclass(frozen=True)
class _Planner:
    study: object
    project: object
    inputs: object
    force: bool
    use_frozen: bool
    ask: bool

    @property
    def kind(self):
        return self.study.front_matter.kind

    def plan(self, name):
        """The `Plan` for a model's name, or for alternatives "a or b"."""
        frozen = _manifests(self.project.frozen / self.study.name, careful=True)
        there = _manifests(self.project.site_src / "datasets" / self.study.name)
        fitting, misfits = self._fitting(name, frozen)
        wanted = self.use_frozen and not self.force
        if fitting and (wanted or self._is_gone(name, fitting[1])):
            return Plan("frozen", fitting[1]["model"]["name"], fitting[0])
        misfits = misfits if wanted else []
        missing = missing_package()
        if missing and not self.force:
            fitting, more = self._fitting(name, there)
            found = freezing.damage(fitting[0]) if fitting else []
            if fitting and not found:
                return Plan("kept", fitting[1]["model"]["name"], fitting[0])
            misfits = misfits or found or more
        try:
            if missing and misfits:
                raise ReportError(f"measuring needs the package {missing!r}")
            return self._measured_here(name, there)
        except ReportError as error:
            if not misfits:
                raise
            raise ReportError(
                f"{self.study.name}: its datasets do not fit any more ({'; '.join(misfits)}), and "
                f"it cannot be measured here: {str(error).rstrip('.')}. Run `python -m report "
                "freeze` where it can be, and commit what that writes."
            ) from error

    def _is_gone(self, name, manifest):
        """Whether datasets are of a folder that is not here, so that nothing can measure again."""
        of_hub = "hub" in manifest["determined_by"]["model"]
        return not of_hub and not any(map(names.is_here, names.alternatives(name)))

    def _measured_here(self, name, there):
        """The `Plan` for a model whose key can be computed."""
        wanted = self.study.front_matter
        commits = self.project.root / names.COMMITS
        with self.study.blaming(*MODELS):
            source = names.find_first(name, commits, wanted.layers, self.ask)
        settings = measuring_settings(wanted, source)
        if source.origin == "hub" and source.revision is None:
            return Plan("measure", source.name, None, source, {}, settings, [NEVER])
        with self.study.blaming("corpus"):
            given = kinds.kind(self.kind).parts(self.inputs)
        parts = keys.determined_by(source, self.kind, given, settings)
        folder = self.project.site_src / "datasets" / self.study.name / keys.key(parts)
        about = source.name, folder, source, parts, settings
        if self.force:
            return Plan("measure", *about, ["asked for by --force"])
        if not (folder / "manifest.json").is_file():
            return Plan("measure", *about, self._reasons(parts, there))
        found = freezing.damage(folder)
        return Plan("measure" if found else "unchanged", *about, found[:1])

    def _reasons(self, parts, there):
        """What changed since datasets were measured that come nearest."""
        before = [manifest["determined_by"] for _, manifest in there]
        same = [each for each in before if each["model_name"] == parts["model_name"]]
        if len(self.study.front_matter.all_models) == 1:
            same = same or before
        return min((changes(each, parts) for each in same), key=len, default=[]) or [NEVER]

    def _fitting(self, name, manifests):
        """((folder, manifest) of the first datasets that fit a model, or None; why others do not).

        What cannot be told here counts as unchanged: the code and the libraries that measured, and
        of the model what is not on this machine.
        """
        misfits = []
        for alternative in names.alternatives(name):
            for folder, manifest in manifests:
                before = manifest["determined_by"]
                now = self._as_far_as_known(alternative, before)
                if now is None:
                    continue
                found = changes(before, now)
                if not found:
                    return (folder, manifest), []
                misfits = misfits or found
        return None, misfits

    def _as_far_as_known(self, name, before):
        """`key.determined_by` of today, completed from `before`; None if that is another model."""
        source = _source(name, before, self.project.root / names.COMMITS)
        if source is None:
            return None
        settings = measuring_settings(self.study.front_matter, source)
        given = kinds.kind(self.kind).parts(self.inputs, before)
        model = keys.known_model(source, settings["layers"], before["model"])
        kept = {part: before[part] for part in ("code", "libraries")}
        about = {"model": model, "model_name": source.name, "settings": settings}
        return about | given | kept


def _source(name, before, commits):
    """The model of recorded datasets, if a name stands for it, as far as it is here; else None.

    before: their `determined_by`
    """
    hub, called = before["model"].get("hub"), before["model_name"]
    here = names.is_here(name)
    if hub is not None:
        if hub != name.partition("@")[0] or here:
            return None
        return names.find(name, commits, ask=False)
    if here:
        source = names.find(name)
        return source if source.name == called else None
    return names.Source(called, "folder") if names.called(name) == called else None


def _manifests(folder, careful=False):
    """[(folder, manifest)] of the datasets of an article, sorted by key.

    careful: raise ReportError for a manifest that cannot be read; else it counts as not there
    """
    found = []
    for path in sorted(folder.glob("[!.]*/manifest.json")):
        try:
            found.append((path.parent, store.read(path)))
        except ReportError:
            if careful:
                raise
    return found
