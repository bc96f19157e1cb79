"""From an article's front matter to its folder of datasets; runs the model only when needed."""

import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from report import key as keys
from report import store
from report.datasets.write import write_datasets
from report.errors import ReportError
from report.passages import corpus, passage


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


def datasets(study, folder, progress, force=False):
    """Folder with the datasets of one article; measures them if none fits.

    study: `Study`; folder: where the datasets of all articles live
    progress: called as progress(what, done, total)
    returns: (path, True if the model was run)
    raises: ReportError for everything wrong with model, passage or disk
    """
    text, texts = passage(study.front_matter.passage), corpus()
    model = keys.model_folder(study.front_matter.model)
    parts = keys.determined_by(model, text, texts)
    key = keys.key(parts)
    target = folder / study.name / key
    if not force and (target / "manifest.json").is_file():
        _remove_others(target)  # what a killed build may have left
        return target, False
    with store.new_folder(target) as temporary:
        measured, facts = measure(model, text, texts, progress)
        provenance = {
            "key": key,
            "determined_by": parts,
            **facts,
            "versions": _versions(),
            # By names: where the model or the passage is a path, it is nobody else's.
            "command": f"python -m report measure --model {model.name} --passage {text.name}",
        }
        write_datasets(temporary, measured, provenance, lambda *n: progress("Writing", *n))
    _remove_others(target)
    return target, True


def measure(model, text, texts, progress):
    """Run a model over a passage and a corpus.

    model: name or folder; text: `Passage`; texts: sequence of `Passage`
    returns: (`Measured`, dict of the manifest's model, corpus, self_check and seed)
    """
    try:
        from report.models import load, measure, self_check, tokens
    except ModuleNotFoundError as error:
        raise ReportError(
            f"measuring needs the package {error.name!r}; run `make setup` or "
            "`pip install -e '.[measure]' -c constraints.txt`."
        ) from error
    loaded = load.load_model(str(model))
    checked = self_check.checked(loaded)
    read = tokens.tokenize(loaded, text.text)
    corpus_ids = [tokens.encode(loaded, one.text) for one in texts]
    measured = Measured(
        passage=text,
        pieces=read.pieces,
        measurement=measure.measure_passage(
            loaded, read.token_ids, progress=lambda *n: progress("Passage", *n)
        ),
        corpus=measure.measure_corpus(
            loaded, corpus_ids, progress=lambda *n: progress("Corpus", *n)
        ),
    )
    return measured, {
        "model": loaded.identity,
        "corpus": {"texts": len(corpus_ids), "tokens": sum(map(len, corpus_ids))},
        "self_check": checked,
        "seed": self_check.SEED,
    }


def _versions():
    names = ("attention-focus-plots", *keys.LIBRARIES)
    return {"python": platform.python_version()} | {name: keys.version(name) for name in names}


def _remove_others(target):
    """Remove datasets of the same article that belong to an earlier key."""
    for folder in target.parent.iterdir():
        if folder != target and folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)
