"""How a model is measured: what front matter asks for, else its preset, as far as the model has it.

Needs none of the libraries that measure.
"""

from dataclasses import replace

from report.errors import ReportError
from report.models.find import known, names
from report.models.find.known import number_of_layers
from report.models.find.names import Size, size_of
from report.project import Project
from report.study.front_matter import FrontMatter
from report.study.study import Study


def measuring_settings(
    wanted: FrontMatter, source: names.Source, before: dict | None = None
) -> dict:
    """How an article's model is measured, for its key.

    The layers are those of the front matter, else of the preset, else all. Of several models, one
    that has no more than the front matter asks for is measured whole.

    before: the settings of earlier datasets, which count where it is not known how many layers a
        model has
    """
    preset = preset_of(source)
    layers = wanted.layers or (number_of_layers(preset.layers) if preset else None)
    if layers == "all" or (wanted.layers and _is_whole(wanted, source, before)):
        layers = None
    return {
        "layers": layers,
        "dtype": wanted.dtype,
        "device": wanted.device,
        "trust_remote_code": wanted.trust_remote_code,
        "alibi_factor": wanted.alibi_factor,
        **({"tokenizer": wanted.tokenizer.model_dump()} if wanted.tokenizer else {}),
    }


def _is_whole(wanted, source, before):
    """Whether one model of several has no more layers than are asked for."""
    if len(wanted.all_models) == 1:
        return False
    there = size_of(source).layers
    if there is None:
        return before is not None and before["layers"] is None
    return there <= wanted.layers


def size_measured(study: Study, project: Project, name: str) -> Size:
    """The layers that are measured of a model, and its heads, as far as its config states them.

    name: of the model, as front matter gives it
    """
    wanted = study.front_matter
    try:
        source = names.find_first(name, project.root / names.COMMITS, wanted.layers, ask=False)
    except ReportError:  # it is told where the model is looked for
        return Size()
    size, asked = size_of(source), measuring_settings(wanted, source)["layers"]
    if size.heads is not None and wanted.heads is not None:
        size = replace(size, heads=min(size.heads, wanted.heads))
    return replace(size, layers=asked) if asked is not None else size


def require_some(study: Study, project: Project) -> None:
    """Refuse more layers than any of several models has; ReportError."""
    wanted = study.front_matter
    sizes = [size_measured(study, project, name).layers for name in wanted.all_models]
    if not isinstance(wanted.layers, int) or len(sizes) == 1 or None in sizes:
        return
    if max(sizes) < wanted.layers:
        raise ReportError(
            f"the models have at most {max(sizes)} layers, asked for were the first "
            f"{wanted.layers}; ask for fewer, or leave `layers` out"
        )


def require_layers(source: names.Source, asked: int | None) -> None:
    """Refuse more layers than a model's config states; ReportError."""
    there = size_of(source).layers
    if asked is not None and there is not None and asked > there:
        raise ReportError(
            f"model '{source.name}' has {there} layers (0 to {there - 1}), asked for were the "
            f"first {asked}; ask for fewer, or leave `layers` out"
        )


def preset_of(source: names.Source) -> known.Preset | None:
    """The preset of a model, or None."""
    return known.presets().get(source.name) if source.origin in ("hub", "package") else None
