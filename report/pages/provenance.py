"""Where the numbers of an article come from, for machines; and how to cite it."""

import hashlib
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from report import files
from report.datasets import store
from report.errors import VERSION
from report.kinds import folders
from report.study.study import Study
from report.text import slug

NAME = "provenance.json"
"""Beside the folders of an article's datasets."""

GENERATOR = "Attention Focus Plots"

TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",  # BibTeX counts braces, those after a backslash too
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
} | {each: f"\\{each}" for each in "&%$#_"}


def write_release(data, folder: Path) -> dict[str, str]:
    """Write what the kind of an article publishes for others, and remove what it did before.

    data: what `open_study` gave; folder: beside the folders of its datasets
    returns: name of each file -> its SHA-256
    """
    contents = folders.release(data)
    for name, content in contents.items():
        write = files.write_text if isinstance(content, str) else store.write
        write(files.inside(folder, name), content)
    there = [*folder.glob("*.csv"), *folder.glob("*.json")]
    files.remove_others(there, {NAME, *contents})
    return {name: files.sha256(folder / name) for name in contents}


def provenance(
    study: Study,
    data,
    frozen: Collection[str] = (),
    url: str = "",
    release: Mapping[str, str] | None = None,
) -> dict:
    """The provenance/1 dataset of an article.

    data: what `open_study` gave
    frozen: keys of the datasets that were frozen
    url: address of the site, "" if it is not known
    release: what `write_release` gave
    """
    front = study.front_matter
    article = {"name": study.name, "title": front.title, "author": front.author}
    article |= {"date": front.date.isoformat()}
    if url:
        article["url"] = article_url(study, url)
    return {
        "schema": "provenance/1",
        "article": article,
        "generator": {"name": GENERATOR, "version": VERSION},
        "datasets": [_dataset(model, model.manifest["key"] in frozen) for model in _measured(data)],
        "bibtex": bibtex(study, data, url),
        **({"release": dict(release)} if release else {}),
    }


def article_url(study: Study, url: str) -> str:
    """The address of an article on a site whose address is known."""
    return f"{url}articles/{study.name}/"


def _measured(data):
    """The datasets of an article, one a model; then those that were measured apart."""
    return [*data.models, *getattr(data, "apart", ())]


def _dataset(model, frozen):
    manifest, folder = model.manifest, model.path.name
    names = ("model", "token_ids_sha256", "self_check", "seed", "versions", "command")
    return {
        "key": manifest["key"],
        "manifest": f"{folder}/manifest.json",
        "manifest_sha256": files.sha256(model.path / "manifest.json"),
        "measured_on": manifest["date"],
        "frozen": frozen,
        **{name: manifest[name] for name in names if name in manifest},
        "determined_by": manifest["determined_by"],
        "files": {f"{folder}/{name}": facts["sha256"] for name, facts in manifest["files"].items()},
    }


def bibtex(study: Study, data, url: str = "") -> str:
    """An entry for BibTeX that names the article and its `data_key`, text of several lines."""
    front = study.front_matter
    note = f"Made with {GENERATOR} {VERSION}; data {data_key(data)}"
    author = tex(front.author)
    fields = {
        "title": f"{{{tex(front.title)}}}",  # its capitals stay
        # names with a comma would be turned round
        "author": f"{{{author}}}" if "," in author else author,
        "year": front.date.year,
        "month": front.date.month,
        "day": front.date.day,
    }
    if url:
        fields["url"] = article_url(study, url)
    fields["note"] = tex(note)
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items()]
    return "\n".join([f"@misc{{{slug(study.name)}-{front.date.year},", ",\n".join(lines), "}"])


def data_key(data) -> str:
    """What tells the numbers of an article from any others, 12 hexadecimal digits.

    The key of its dataset; of several, the beginning of the SHA-256 of their keys, one a line, in
    the order of provenance.json.
    """
    keys = [model.manifest["key"] for model in _measured(data)]
    if len(keys) == 1:
        return keys[0]
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()[:12]


def tex(text: str) -> str:
    """Any text as TeX shows it, in one line."""
    plain = "".join(letter if letter.isprintable() else " " for letter in str(text))
    return "".join(TEX.get(letter, letter) for letter in re.sub(r"\s+", " ", plain).strip())
