"""Measure what an article would ask for; what was measured once is kept in the folder of caches and
read from there the next time. A model that was loaded measures a passage in memory, at once."""

import json
import os
import shlex
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from report.datasets.read.study import open_study
from report.errors import ReportError
from report.inputs.passages import SUFFIXES, passage_names
from report.inputs.records import Records, is_file, of_rows
from report.kinds import folders
from report.measures import own_files
from report.measuring.alone import load_source, measure_with
from report.measuring.command import named_anywhere
from report.measuring.forecast import require_together, require_whole
from report.measuring.kept_check import KeptCheck
from report.measuring.kind import SOMEWHERE
from report.measuring.plan import plans
from report.measuring.run import MeasuringRun, carry_out, read, say_read
from report.measuring.settings import measuring_settings, require_layers
from report.models.find import names
from report.notebook.frames import Measurements
from report.project import Project, enclosing_project
from report.study.front_matter import FrontMatter, kind_of_article
from report.study.study import Study, reason
from report.text import nearest

if TYPE_CHECKING:
    import pandas

NAME = "notebook"
CACHE = "attention-focus-plots"

LOADING = {"layers", "dtype", "device", "trust_remote_code", "alibi_factor", "tokenizer"} | {
    "layer_by_layer"
}
"""Options that say how a model is loaded."""


def measure(
    model: str | Path = "falcon-8x8",
    passage: str | dict[str, Any] | None = None,
    *,
    table: "str | list[dict[str, Any]] | pandas.DataFrame | None" = None,
    force: bool = False,
    allow_local: bool = False,
    **options: Any,
) -> Measurements:
    """Measure every head of a model, or read what was measured before.

    The model reads a passage; or a table, in three renderings; or prompts under `conditions`.

    model: an embedded model, a folder, a GGUF file, "ollama:NAME[:TAG]", or
        "owner/model[@revision]" on the hub
    passage: the text itself, the name of a passage that ships, or the path of a .txt or .md file;
        or, as in front matter, a dict such as {"dataset": "seattle-weather", "row": 3}. Default:
        "the-lamp-on-the-hill"
    table: a data set inside vega_datasets, the path of a file of rows, or rows: dicts or a frame
    force: measure again even if nothing changed
    allow_local: whether a corpus may be fetched from this machine or a private network
    options: layers, dtype, device, chat, corpus, columns, rows, conditions, prompts and the like,
        as in front matter
    raises: ReportError, which says in one sentence what is wrong
    """
    question = _Question(model, passage, table, options, allow_local)
    return question.measured(MeasuringRun(Project(_cache()), _nothing, force=force))


def load(model: str | Path = "falcon-8x8", **options: Any) -> "Model":
    """Load a model once, to measure one text after the other with it.

    model: as of `measure`
    options: layers, dtype, device, trust_remote_code and the like, as in front matter; with
        layer_by_layer=True each text reads all weights again
    raises: ReportError, which says in one sentence what is wrong, also that all weights would not
        fit in memory
    """
    return Model(model, options)


def require_room_for(models: Sequence[str | Path], options: dict[str, Any]) -> None:
    """Refuse models that do not fit in memory together, before the first is loaded.

    models, options: as of `load`
    raises: ReportError, which says in one sentence what each needs
    """
    _, sources, settings = zip(*(_source(model, options) for model in models), strict=True)
    require_together(sources, settings)


def _source(model, options):
    """Front matter about a model, the model that it names, and how that is measured."""
    wanted = _front_matter(model, options)
    source = names.find_first(wanted.all_models[0], _cache() / names.COMMITS, wanted.layers)
    settings = measuring_settings(wanted, source)
    require_layers(source, settings["layers"])
    return wanted, source, settings


class Model:
    """A model that stays in memory."""

    def __init__(self, model: str | Path, options: dict[str, Any]):
        """As of `load`."""
        self.model, self.options = model, options
        wanted, self.source, self.settings = _source(model, options)
        loading = self.settings | {"layer_by_layer": wanted.layer_by_layer}
        # where each text reads all weights, a check takes no longer than their checksum
        self._check = None if wanted.layer_by_layer else KeptCheck(_cache(), self.source, loading)
        self.loaded = load_source(self.source, loading, print)
        if wanted.layer_by_layer is None:
            require_whole(self.loaded)

    def require_checked(self, announce: Callable[[str], object] = print) -> None:
        """Have it checked, unless it passed before.

        announce: called with what libraries warn of
        raises: ReportError if what is measured is not what the model computes
        """
        if self._check is not None:
            self._check.require(self.loaded, announce)

    def measure(
        self,
        passage: str | dict[str, Any] | None = None,
        *,
        table: "str | list[dict[str, Any]] | pandas.DataFrame | None" = None,
        corpus: str | dict[str, Any] | bool | None = None,
        force: bool = False,
        allow_local: bool = False,
        **options: Any,
    ) -> Measurements:
        """Measure a passage in the time of a few forward passes; or what else `measure` does.

        corpus: many texts that heads are measured on besides, as in front matter, or True for those
            that ship; what this, `predict`, a table or conditions give is kept in the folder of
            caches, what a passage alone gives in memory
        the others: as of `measure`, but for what `load` was given
        raises: ReportError, which says in one sentence what is wrong
        """
        if fixed := sorted({*options} & LOADING):
            raise ReportError(
                f"measure: {fixed[0]!r} is chosen when a model is loaded; give it to `load`"
            )
        more = {} if corpus in (None, True, False) else {"corpus": corpus}
        given = self.options | options | more
        question = _Question(self.model, passage, table, given, allow_local)
        wanted = question.study.front_matter
        if wanted.kind != "passage" or corpus or wanted.predict:
            run = MeasuringRun(Project(_cache()), _nothing, force=force, measurer=self._measurer)
            return question.measured(run)
        from report.kinds.passage.live import LivePassage

        self.require_checked()
        with question.study.blaming("passage"):
            return Measurements(LivePassage(self.loaded, question.inputs, print))

    def _measurer(self, tasks, progress, announce):
        for number, task in tasks.items():
            yield number, *measure_with(self.loaded, task, progress, announce)

    def __repr__(self) -> str:
        identity = self.loaded.identity
        return (
            f"<{identity['name']}: {identity['layers_measured']} layers of "
            f"{identity['num_attention_heads']} heads, {identity['dtype']} on {identity['device']}>"
        )


class _Question:
    """What is to be measured, read and checked."""

    def __init__(self, model, passage, table, options, allow_local):
        self.options = options
        self.rows = None if table is None or isinstance(table, str) else _rows(table)
        texts = {"passage": passage, "table": self.rows.name if self.rows else table}
        given = {name: value for name, value in texts.items() if value is not None}
        wanted = _front_matter(model, given | options)
        self.study = Study(NAME, wanted, Path(NAME), "", allow_local=allow_local)
        given = self.rows and folders.kind("table").given(self.rows, wanted)
        self.inputs = given or read(self.study)

    def measured(self, run: MeasuringRun) -> Measurements:
        """Measured by a run, or read of the folder of caches."""
        say_read(self.study, self.inputs, print)
        chosen = plans(self.study, run.project, self.inputs, run.force)
        again = _command(self.study.front_matter, chosen[0], self.options, self.rows)
        (done,) = carry_out(chosen, self.study, self.inputs, run, again)
        return Measurements(open_study([done.folder]))


def _nothing(*_):
    """No progress is told."""


def _front_matter(model, options):
    from pydantic import ValidationError

    passage = options.get("passage")
    if isinstance(passage, str) and not (
        passage in passage_names() or passage.lower().endswith(SUFFIXES)
    ):
        near = nearest(passage, passage_names(), similarity=0.85)
        if near:
            raise ReportError(f"unknown passage {passage!r}; did you mean {near[0]!r}?")
        options = options | {"passage": {"text": passage}}
    project = enclosing_project()
    if project and kind_of_article(options) == "passage":
        files = own_files(project.root / "measures")
        options = {"measures": [str(path) for path in files]} | options
    about = {"title": NAME, "date": date.today(), "author": NAME, "summary": NAME}
    try:
        wanted = FrontMatter(**about, model=str(model), **options)
    except (ValidationError, TypeError) as error:
        fault = str(error)
        if isinstance(error, ValidationError):
            problem = error.errors()[0]
            fault = f"{problem['loc'][0]}: {reason(problem)}" if problem["loc"] else reason(problem)
        raise ReportError(f"measure: {fault}") from None
    if wanted.sweep or len(wanted.all_models) > 1:
        raise ReportError(
            "measure: a notebook measures one model at a time; call measure() for each, or write "
            "an article that compares them"
        )
    return wanted


def _rows(table) -> Records:
    """Rows that were given in memory, dicts or a frame; ReportError if they are neither."""
    try:
        if hasattr(table, "to_json"):
            text = table.to_json(orient="records", date_format="iso", double_precision=15)
        else:
            text = json.dumps(list(table), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ReportError(
            f"measure: table: {error}; give the name of a data set, the path of a file of rows, a "
            "list of dicts, or a frame with a name for each column"
        ) from error
    return of_rows(text)


def _command(wanted, plan, options, rows):
    """A shell command that measures the same again; None where nothing is measured.

    options: as given to `measure`; rows: those given in memory, or None
    """
    if plan.state != "measure":
        return None
    listed = [repr(named_anywhere(plan.source))]
    if rows:
        options = options | {"table": rows.plain}
    elif wanted.kind == "passage":
        listed.append(repr(_anywhere(wanted.passage)))
    else:
        options = {"table": wanted.table} | options if wanted.table else options
    stated = options | {name: plan.settings[name] for name in options if name in plan.settings}
    listed += [
        f"{name}={_anywhere(value)!r}" for name, value in stated.items() if name != "passage"
    ]
    code = f"from report import measure; measure({', '.join(listed)})"
    return shlex.join(["python", "-c", code])


def _anywhere(value):
    """A value of front matter, files without the folders of this machine."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(exclude_unset=True)
        return value["text"] if set(value) == {"text"} else _anywhere(value)
    if isinstance(value, dict):
        return {k: _anywhere(v) if k == "file" else v for k, v in value.items()}
    if isinstance(value, str) and (value.lower().endswith(SUFFIXES) or is_file(value)):
        return f"{SOMEWHERE}/{Path(value).name}"
    return value


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
