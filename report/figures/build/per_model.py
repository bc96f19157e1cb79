"""A figure of one model, given data of several: the same figure with a switch "Model".

Each model has a specification of its own, since scales and sliders differ; the page changes from
one to the other.

`names`, `controls_of` and `reach` are called with the figure of one model (`Figure.one_model`).
"""

import functools
from dataclasses import replace
from itertools import chain, takewhile

from report.errors import ReportError
from report.figures.build import defaults
from report.figures.parts import choices, grid, token_names
from report.figures.parts.figure import Figure
from report.kinds.passage.data import PassageData, PassageModels
from report.text import split_sentences

PARAM = "model"


@functools.lru_cache(maxsize=256)  # the same one when it is asked for again: see pages/drawn.py
def per_model(figure: Figure) -> Figure:
    """The figure of `PassageModels` that shows one model at a time, from a completed `Figure`."""

    def chart(data, model, **state):
        return _chart(figure, data, model, state)

    def alt(data, model, **state):
        return f"{_labels(data)[model]}: {figure.alt(data.by_name[model], **state)}"

    return replace(
        figure,
        left_out=lambda data: _left_out(figure, data),
        title=lambda data: _title(figure, data),
        caption=lambda data: _caption(figure, data),
        finds=lambda data: _finds(figure, data),
        use=lambda data: max(map(figure.use, _drawable(figure, data).values()), key=len),
        controls=lambda data: controls_of(figure, data),
        chart=chart,
        rows=lambda data, model, **state: figure.rows(data.by_name[model], **state),
        alt=alt,
        seen=lambda data, model, **state: _seen(figure, data, model, state),
        boxes=lambda data: _boxes(figure, data),
        one_model=figure,
    )


def names(figure: Figure, data: PassageModels) -> list[str]:
    """Names of the models that a figure can be drawn of."""
    return list(_drawable(figure, data))


def controls_of(
    figure: Figure, data: PassageModels, model: str | None = None
) -> list[choices.Control | choices.Switch]:
    """The switch, and the controls of one model: the one given, else the first.

    raises: ReportError if the figure cannot be drawn of that model, or of none
    """
    drawable, labels = _drawable(figure, data), _labels(data)
    first = next(iter(drawable))
    switch = choices.Switch(PARAM, "Model", {name: labels[name] for name in drawable}, first)
    chosen = switch.check(first if model is None else model)
    return [switch, *figure.controls(drawable[chosen])]


def reach(
    figure: Figure, data: PassageModels, controls: list[choices.Control | choices.Switch]
) -> list[choices.Control | choices.Switch]:
    """Controls that reach what any of the models has: sliders with the labels of each, switches
    with the options of all; then those that only other models have."""
    of_models = {}
    for name, model in _drawable(figure, data).items():
        for control in figure.controls(model):
            of_models.setdefault(control.param, {})[name] = control
    there = {control.param for control in controls}
    others = [next(iter(of.values())) for param, of in of_models.items() if param not in there]
    return [
        _of_any(control, of_models[control.param]) if control.param in of_models else control
        for control in (*controls, *others)
    ]


def _of_any(control, of_models):
    """A control over what any model has; of_models: name of a model -> its own."""
    if isinstance(control, choices.Switch):
        options = dict(chain.from_iterable(each.options.items() for each in of_models.values()))
        return replace(control, options=control.options | options)
    widest = max(each.maximum for each in of_models.values())
    labels = {name: each.labels for name, each in of_models.items()}
    differ = any(each != control.labels for each in labels.values())
    return replace(control, maximum=widest, labels_of=labels if differ else None)


def fits(controls: list[choices.Control | choices.Switch], state: choices.State) -> choices.State:
    """The values of a state that controls reach: sliders at their nearest, others left out."""
    fitting = {}
    for control in controls:
        value = state.get(control.param, control.value)
        if isinstance(control, choices.Control):
            value = min(max(value, control.minimum), control.maximum)
        elif value not in control.options:
            value = control.value
        fitting[control.param] = value
    return fitting


def _finds(figure, data):
    """The measures that all models have."""
    first, *others = map(figure.finds, _drawable(figure, data).values())
    names = [{each["name"] for each in other} for other in others]
    return [each for each in first if all(each["name"] in other for other in names)]


def _boxes(figure, data):
    """The room of each chart: as high as the model that needs most."""
    if not figure.panels:
        return grid.equal_boxes(1, 1, figure.aspect, figure.phone_aspect)
    of_models = map(figure.boxes, _drawable(figure, data).values())
    return [min(boxes, key=lambda box: box.aspect) for boxes in zip(*of_models, strict=True)]


def _labels(data):
    """dict of the name of each model to what figures call it."""
    return dict(zip(data.names, data.labels, strict=True))


def _drawable(figure, data) -> dict[str, PassageData]:
    """The models, by name, that have what a figure shows, at least one.

    raises: ReportError if there is none
    """
    drawable = {name: model for name, model in data.by_name.items() if not figure.left_out(model)}
    if not drawable:
        raise ReportError(figure.left_out(data.models[0]))
    return drawable


def _title(figure, data):
    """The title that fits all models, or one for each that differs."""
    titles = _of_models(figure, data, figure.title)
    if len(titles) == 1:
        return next(iter(titles))
    return "; ".join(f"{title} ({', '.join(among)})" for title, among in titles.items())


def _of_models(figure, data, text):
    """dict of a text to the labels of the models that it is of."""
    labels, of_models = _labels(data), {}
    for name, model in _drawable(figure, data).items():
        of_models.setdefault(text(model), []).append(labels[name])
    return of_models


def _left_out(figure, data):
    """Why a figure can be drawn of none of the models; "" if it can of one."""
    reasons = [figure.left_out(model) for model in data.models]
    return reasons[0] if all(reasons) else ""


def _seen(figure, data, model, state):
    """What is to be seen; at another model than the first, also how the first tokens differ."""
    seen = figure.seen(data.by_name[model], **state)
    if "first token" not in seen or model == next(iter(_drawable(figure, data))):
        return seen
    return " ".join(filter(None, (seen, token_names.first_tokens(data))))


def _caption(figure, data):
    """The caption that fits all models, or one for each that differs."""
    of_models = _of_models(figure, data, figure.caption)
    shared, captions = _shared(list(of_models))
    if len(captions) > 1:
        apart = zip(captions, of_models.values(), strict=True)
        captions = [f"Of {', '.join(among)}: {text}" for text, among in apart if text]
    missing = [
        f"Of {label} it is not drawn. {reason}"
        for label, model in zip(data.labels, data.models, strict=True)
        if (reason := figure.left_out(model))
    ]
    return " ".join([*shared, *captions, *missing])


def _shared(texts):
    """The sentences with which all texts begin, and what remains of each text."""
    split = [split_sentences(text) for text in texts]
    number = 0
    if len(split) > 1:
        alike = (len(set(some)) == 1 for some in zip(*split, strict=False))
        number = sum(takewhile(bool, alike))
    return split[0][:number], [" ".join(some[number:]) for some in split]


def _chart(figure, data, model, state):
    """The specification of one model, as dict; its addresses begin with the model's."""
    shown = data.by_name[model]
    spec = defaults.spec_of(figure, shown, **state)
    report = spec["usermeta"]["report"]
    source = report["data"]
    source["url"] = shown.address + source["url"]
    of_text = "passage.json" if getattr(shown, "tokens", ()) else None
    tokens = source.get("tokens", of_text)
    source["tokens"] = tokens and shown.address + tokens  # None: the chart names none
    switch = controls_of(figure, data, model)[:1]
    told = choices.as_json(choices.at_state(switch, {PARAM: model}))
    report["controls"] = told + report["controls"]
    return spec
