"""A figure of one model, in an article of several: the same figure with a switch "Model".

Each model has a specification of its own, since scales and sliders differ; the page changes from
one to the other.
"""

from dataclasses import replace

from report.errors import ReportError
from report.figures.parts import choices

PARAM = "model"


class PerModel:
    """Has what a figure's module has, of `PassageModels` instead of one model's data."""

    def __init__(self, module):
        self.module = module
        self.ASPECT = module.ASPECT
        self.PHONE_ASPECT = getattr(module, "PHONE_ASPECT", module.ASPECT)
        self.PAINTS_PIXELS = getattr(module, "PAINTS_PIXELS", False)
        self.__doc__ = module.__doc__

    def left_out(self, data):
        """Why it can be drawn of none of the models; "" if it can of one."""
        reasons = [self._reason(model) for model in data.models]
        return reasons[0] if all(reasons) else ""

    def title(self, data):
        return self.module.title(self._drawable(data)[0][1])

    def caption(self, data):
        """The caption that fits all models, or one for each that differs."""
        labels = dict(zip(data.names, data.labels, strict=True))
        said = {}
        for name, model in self._drawable(data):
            said.setdefault(self.module.caption(model), []).append(labels[name])
        texts = list(said)
        if len(texts) > 1:
            texts = [f"Of {', '.join(names)}: {text}" for text, names in said.items()]
        missing = [
            f"Of {label} it is not drawn. {reason}"
            for label, model in zip(data.labels, data.models, strict=True)
            if (reason := self._reason(model))
        ]
        return " ".join([*texts, *missing])

    def use(self, data):
        """What a reader can do, in the words of the first model that has most to say of it."""
        return max((self.module.use(model) for _, model in self._drawable(data)), key=len)

    def controls(self, data, model=None):
        """The switch, and the controls of one model: the one given, else the first."""
        offered = dict(self._drawable(data))
        labels = dict(zip(data.names, data.labels, strict=True))
        first = next(iter(offered))
        switch = choices.Switch(PARAM, "Model", {name: labels[name] for name in offered}, first)
        at = switch.check(first if model is None else model)
        return [switch, *self.module.controls(offered[at])]

    def names(self, data):
        """Names of the models that it can be drawn of."""
        return [name for name, _ in self._drawable(data)]

    def chart(self, data, model, **state):
        """The specification of one model, as dict; its addresses begin with the model's."""
        one = data.by_name[model]
        spec = self.module.chart(one, **state).to_dict()
        report = spec["usermeta"]["report"]
        told = report["data"]
        told["url"] = one.address + told["url"]
        told["tokens"] = one.address + told.get("tokens", "passage.json")
        switch = self.controls(data, model)[:1]
        report["controls"] = (
            choices.as_json(choices.at_state(switch, {PARAM: model})) + (report["controls"])
        )
        return spec

    def rows(self, data, model, **state):
        return self.module.rows(data.by_name[model], **state)

    def alt(self, data, model, **state):
        label = dict(zip(data.names, data.labels, strict=True))[model]
        return f"{label}: {self.module.alt(data.by_name[model], **state)}"

    def seen(self, data, model, **state):
        return self.module.seen(data.by_name[model], **state)

    def reach(self, data, controls):
        """Controls whose sliders reach what any of the models has."""
        widest = {}
        for name in self.names(data):
            for each in self.controls(data, name)[1:]:
                if isinstance(each, choices.Control):
                    widest[each.param] = max(widest.get(each.param, 0), each.maximum)
        return [
            replace(each, maximum=widest[each.param]) if each.param in widest else each
            for each in controls
        ]

    def _reason(self, model):
        return self.module.left_out(model) if hasattr(self.module, "left_out") else ""

    def _drawable(self, data):
        """(name, `PassageData`) of the models that have what it shows, at least one."""
        found = [(name, one) for name, one in data.by_name.items() if not self._reason(one)]
        if not found:
            raise ReportError(self._reason(data.models[0]))
        return found


def fits(controls, state):
    """The values of a state that controls reach: sliders at their nearest, others left out."""
    found = {}
    for control in controls:
        value = state.get(control.param, control.value)
        if isinstance(control, choices.Control):
            value = min(max(value, control.minimum), control.maximum)
        elif value not in control.options:
            value = control.value
        found[control.param] = value
    return found
