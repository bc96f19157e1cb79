"""In a notebook: measure a model on a text, have the numbers as pandas frames, draw the figures.

    from report import figure, measure
    m = measure("falcon-8x8", "The lamp on the hill was lit.")
    figure("attention_map", m, layer=3, head=2)

What was measured once is kept in the folder of caches and read from there the next time.
"""

import functools
import os
import shlex
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair
import numpy as np

from report.datasets.read.passage import PassageData
from report.datasets.read.study import open_study
from report.errors import ReportError
from report.figures.build import still
from report.figures.parts import score_terms
from report.inputs.passages import SUFFIXES, passage_names
from report.measuring import kinds
from report.measuring.plan import plans
from report.measuring.run import Run, carry_out, named_anywhere
from report.pages.article import figure_for
from report.project import Project
from report.study.front_matter import FrontMatter
from report.study.study import Study
from report.text import nearest

if TYPE_CHECKING:
    import pandas

NAME = "notebook"
CACHE = "attention-focus-plots"


def measure(
    model: str | Path = "falcon-8x8",
    passage: str | dict[str, Any] = "the-lamp-on-the-hill",
    *,
    force: bool = False,
    **options: Any,
) -> "Measurements":
    """Measure every head of a model on a passage, or read what was measured before.

    model: an embedded model, a folder, or "owner/model[@revision]" on the hub
    passage: the text itself, the name of a passage that ships, or the path of a .txt or .md file;
        or, as in front matter, a dict such as {"dataset": "seattle-weather", "row": 3}
    force: measure again even if nothing changed
    options: layers, dtype, device, chat and the like, as in front matter
    raises: ReportError, which says in one sentence what is wrong
    """
    wanted = _front_matter(model, passage, options)
    study = Study(NAME, wanted, Path(NAME), "")
    inputs = kinds.kind(wanted.kind).inputs(wanted)
    kept = Project(_cache())
    chosen = plans(study, kept, inputs, force)
    again = _command(wanted, chosen[0], options)
    run = Run(kept, lambda *_: None, force=force)
    (done,) = carry_out(chosen, study, inputs, run, again)
    return Measurements(open_study([done.folder]))


def figure(name: str, measurements: "Measurements", **state: int | str) -> altair.Chart:
    """A figure of `measure`'s result as an Altair chart, with its data inside.

    A notebook shows the chart, and its method `save` writes it to a file.

    name: of a file in `report/figures`, e.g. "attention_map"
    state: where its controls stand, e.g. layer=3, head=2
    raises: ReportError for an unknown figure, one that this model has no data for, or a state out
        of reach
    """
    data = measurements.data
    shown = figure_for(name, data)
    if shown.panels:
        raise ReportError(
            f"figure {name!r} compares several models or prompts; it needs an article."
        )
    reason = shown.left_out(data)
    if reason:
        raise ReportError(f"figure {name!r} cannot be drawn of this model: {reason}")
    spec = still.specification(shown, data, **state)
    spec.pop("usermeta", None)  # is for the script of a page
    return altair.Chart.from_dict(spec)


class Measurements:
    """What was measured, as pandas frames by name: `m["heads"]`, `m["attention"]` …"""

    def __init__(self, data: PassageData):
        self.data = data
        """The datasets, as figures see them."""

    @property
    def names(self) -> list[str]:
        """Names of the frames that there are."""
        has_updates = self.data.capabilities["updates"] is not None
        return ["tokens", "heads", "attention", *(["updates"] if has_updates else [])]

    def __getitem__(self, name: str) -> "pandas.DataFrame":
        """A frame by its name: `tokens`, `heads`, `attention` or `updates`.

        raises: ReportError for an unknown name
        """
        if name not in self.names:
            raise ReportError(f"unknown table {name!r}; there are: {', '.join(self.names)}.")
        return getattr(self, name)

    @functools.cached_property
    def tokens(self) -> "pandas.DataFrame":
        """A row for each token of the passage: token (index), id, text, special."""
        tokens = self.data.tokens
        return _frame(
            {
                "token": [token.index for token in tokens],
                "id": [token.id for token in tokens],
                "text": [token.text for token in tokens],
                "special": [token.special for token in tokens],
            }
        )

    @functools.cached_property
    def heads(self) -> "pandas.DataFrame":
        """A row for each head and source (passage or corpus).

        itself and first_token are fractions of tokens: of those whose largest target is the token
        itself, or token 0. concentration is how far the largest probability is above the second,
        on average.
        """
        table = self.data.head_statistics
        return _frame({name: table[name] for name in table if not name.startswith("rank_")})

    @functools.cached_property
    def attention(self) -> "pandas.DataFrame":
        """A row for each head, current token and target token that the current token can see.

        score is that before softmax; its terms content, bias and position follow as far as the
        model has them, then probability.
        """
        heads = []
        for layer, head in np.ndindex(self.data.layers, self.data.heads):
            attention = self.data.attention(layer, head)
            current, target = np.nonzero(attention.visible.mask())
            columns = {"layer": np.full(len(current), layer), "head": np.full(len(current), head)}
            columns |= {"current_token": current, "target_token": target}
            columns["score"] = attention.capped[current, target]
            columns |= {
                name: score_terms.matrix(attention, name)[current, target]
                for name in self.data.terms
                if name not in ("score", "row_constant")
            }
            columns["probability"] = attention.probability[current, target]
            heads.append(columns)
        return _frame(_joined(heads))

    @functools.cached_property
    def updates(self) -> "pandas.DataFrame":
        """A row for each layer, head and token, of what the head adds to the hidden state.

        magnitude is the length of this update over that of the hidden state, alignment the cosine
        of the two, and largest_target the index of a token.
        """
        layers = [self.data.updates(layer)["points"] for layer in range(self.data.layers)]
        layer = np.repeat(np.arange(len(layers)), [len(table["token"]) for table in layers])
        return _frame({"layer": layer} | _joined(layers))

    def __repr__(self):
        data = self.data
        return (
            f"<{data.manifest['model']['name']}: {data.layers} layers of {data.heads} heads over "
            f"{data.length} tokens; tables: {', '.join(self.names)}>"
        )


def _front_matter(model, passage, options):
    from pydantic import ValidationError

    if isinstance(passage, str) and not (
        passage in passage_names() or passage.lower().endswith(SUFFIXES)
    ):
        near = nearest(passage, passage_names(), similarity=0.85)
        if near:
            raise ReportError(f"unknown passage {passage!r}; did you mean {near[0]!r}?")
        passage = {"text": passage}
    about = {"title": NAME, "date": date.today(), "author": NAME, "summary": NAME}
    try:
        return FrontMatter(**about, model=str(model), passage=passage, **options)
    except (ValidationError, TypeError) as error:
        problem = error.errors()[0] if isinstance(error, ValidationError) else {"msg": str(error)}
        said = ": ".join(map(str, [*problem.get("loc", ())[:1], problem["msg"]]))
        raise ReportError(f"measure: {said}") from None


def _command(wanted, plan, options):
    """A shell command that measures the same again; None where nothing is measured."""
    if plan.state != "measure":
        return None
    passage = wanted.passage
    if not isinstance(passage, str):
        passage = passage.model_dump(exclude_unset=True)
        if set(passage) == {"text"}:
            passage = passage["text"]
        elif "file" in passage:
            passage["file"] = f"{kinds.SOMEWHERE}/{Path(passage['file']).name}"
    elif passage.lower().endswith(SUFFIXES):
        passage = f"{kinds.SOMEWHERE}/{Path(passage).name}"
    said = {name: value for name, value in plan.settings.items() if name in options}
    said |= {name: options[name] for name in ("chat", "layer_by_layer") if name in options}
    listed = [repr(named_anywhere(plan.source)), repr(passage)]
    listed += [f"{name}={value!r}" for name, value in said.items()]
    code = f"from report import measure; measure({', '.join(listed)})"
    return shlex.join(["python", "-c", code])


def _cache():
    """The folder in which measurements are kept, made if need be."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / CACHE
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportError(
            f"{folder}: cannot be made ({error.strerror}); set XDG_CACHE_HOME to a folder that can."
        ) from error
    return folder


def _joined(tables):
    """Tables of the same columns, one below the other: dict of name to array."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def _frame(columns):
    import pandas  # slow to import, and only needed here

    return pandas.DataFrame(columns)
