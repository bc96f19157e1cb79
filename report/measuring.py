"""From an article's front matter to its folder of datasets; runs the model only when needed."""

import platform
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from report import key as keys
from report import store
from report.datasets.write import write_datasets
from report.errors import ReportError
from report.models import names
from report.passages import SUFFIXES, corpus, passage
from report.study import FrontMatter, number_of_layers

SOMEWHERE = "path/to"
"""Stands in a command for the folders of a model or passage of the reader's own."""


@dataclass(frozen=True)
class Measured:
    """What `write_datasets` turns into files."""

    passage: object
    """`Passage`: name, title, source, licence, text."""
    pieces: Sequence[dict]
    """One dict a token: id, text, perhaps bytes and special."""
    measurement: object
    """`PassageMeasurement`, see report.measurements.passage."""
    corpus: object
    """`HeadStatistics` over the corpus."""


def datasets(study, project, progress, force=False, announce=print):
    """Folder with the datasets of one article; measures them if none fits.

    study: `Study`; project: `Project`, in whose site_src/datasets they live
    progress: called as progress(what, done, total)
    announce: called with a sentence about what is going to be downloaded
    returns: (path, True if the model was run)
    raises: ReportError for everything wrong with model, passage or disk
    """
    wanted = study.front_matter
    text, texts = passage(wanted.passage), corpus()
    source = names.find(wanted.model, project.root / names.LOCK)
    settings = measuring_settings(wanted, source)
    parts = keys.determined_by(source, text, texts, settings)
    key = keys.key(parts)
    target = project.site_src / "datasets" / study.name / key
    if not force and (target / "manifest.json").is_file():
        _remove_others(target)  # what a killed build may have left
        return target, False
    if preset := _preset(source):
        announce(names.about(preset, settings["layers"]))
    with store.new_folder(target) as temporary:
        loading = {"layer_by_layer": wanted.layer_by_layer, "announce": announce}
        measured, facts = measure(source, text, texts, progress, settings | loading)
        provenance = {
            "key": key,
            "determined_by": parts,
            **facts,
            "versions": _versions(),
            "command": _command(source, wanted.passage, settings),
        }
        write_datasets(temporary, measured, provenance, lambda *n: progress("Writing", *n))
    _remove_others(target)
    return target, True


def measuring_settings(wanted, source):
    """How an article's model is measured, as dict for its key: the article's word, else the
    preset's, else everything in float32.

    wanted: `FrontMatter`; source: `names.Source`
    """
    preset = _preset(source)
    layers = wanted.layers or (number_of_layers(preset.layers) if preset else None)
    return {
        "layers": None if layers == "all" else layers,
        "dtype": wanted.dtype,
        "device": wanted.device,
        "trust_remote_code": wanted.trust_remote_code,
        "alibi_factor": wanted.alibi_factor,
        "chat": wanted.chat,
    }


def _preset(source):
    return names.presets().get(source.name) if source.kind == "hub" else None


def measure(source, text, texts, progress, options):
    """Run a model over a passage and a corpus, of which texts too long for it are left out.

    source: `names.Source`; text: `Passage`; texts: sequence of `Passage`
    options: dict, those of `load_model` and "chat" (the passage only; a corpus is read as it is)
    returns: (`Measured`, dict of the manifest's model, corpus, self_check and seed)
    """
    try:
        from report.models import load, measure, self_check, tokens
        from report.models.memory import enough_memory
    except ModuleNotFoundError as error:
        raise ReportError(
            f"measuring needs the package {error.name!r}; run `make setup` or "
            "`pip install -e '.[measure]' -c constraints.txt`."
        ) from error
    options = dict(options)
    chat = options.pop("chat")
    loaded = load.load_model(source, **options)
    tokenized = tokens.tokenize(loaded, text.text, chat)
    corpus_ids = _fitting(loaded, [one.text for one in texts])
    if loaded.partial:
        ids = sum(corpus_ids, tokenized.token_ids)
        options["announce"](_planned(loaded.partial, ids, loaded.measured_layers))
    with enough_memory(f"measuring {len(tokenized.token_ids)} tokens"):
        checked = self_check.checked(loaded)
        measurement, statistics = measure.measure_all(
            loaded, tokenized.token_ids, corpus_ids, lambda *n: progress("Measuring", *n)
        )
    measured = Measured(text, tokenized.pieces, measurement, statistics)
    return measured, {
        "model": loaded.identity | {"weights_sha256": loaded.weights_sha256},
        "corpus": {
            "texts": len(corpus_ids),
            "tokens": sum(map(len, corpus_ids)),
            "left_out": len(texts) - len(corpus_ids),
        },
        "self_check": {name: checked[name] for name in checked if name != "capabilities"},
        "seed": self_check.SEED,
    }


def _planned(partial, token_ids, layers):
    """A sentence about what a model in part reads of its checkpoint."""
    planned = partial.planned(token_ids)
    way = ", one layer in memory at a time" if partial.layer_by_layer else ""
    number = f"{layers} layer{'s' if layers > 1 else ''}"
    total = f" of {planned['of'] / 1e6:,.1f}" if planned["of"] else ""
    return f"Reading {planned['bytes'] / 1e6:,.1f}{total} MB of weights: {number}{way}."


def _fitting(loaded, texts):
    """Token ids of the texts that a model can take whole; ReportError if it can take none."""
    from report.models.tokens import encode

    context = loaded.identity["context"]
    unlimited = replace(loaded, identity=loaded.identity | {"context": None})
    found = [encode(unlimited, text) for text in texts]
    fitting = [ids for ids in found if context is None or len(ids) <= context]
    if not fitting:
        raise ReportError(
            f"every text of the corpus has more tokens than the {context} that the model takes; "
            "the statistics over many texts need a model with a larger context"
        )
    return fitting


def _command(source, passage_name, settings):
    """The command that measures this again; of a path, the folders of this machine are left out.

    passage_name: as in the front matter, a name or a path
    """
    model = source.command_name
    if source.kind == "folder":
        model = f"{SOMEWHERE}/{model}"
    if passage_name.lower().endswith(SUFFIXES):
        passage_name = f"{SOMEWHERE}/{Path(passage_name).name}"
    options = {"model": model, "passage": passage_name}
    if settings["layers"]:
        options["layers"] = f"0-{settings['layers'] - 1}"
    elif _preset(source):
        options["layers"] = "all"
    for name in ("dtype", "device", "trust_remote_code", "alibi_factor"):
        if settings[name] != FrontMatter.model_fields[name].default:
            options[name] = settings[name]
    words = ["python -m report measure"]
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", shlex.quote(str(value))]
    return " ".join([*words, *["--chat"] * settings["chat"]])


def _versions():
    libraries = ("attention-focus-plots", *keys.LIBRARIES)
    return {"python": platform.python_version()} | {name: keys.version(name) for name in libraries}


def _remove_others(target):
    """Remove datasets of the same article that belong to an earlier key."""
    for folder in target.parent.iterdir():
        if folder != target and folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)
