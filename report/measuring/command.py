"""The command that measures the same again, as manifests and pages quote it."""

import shlex
from collections.abc import Sequence

from report.kinds import owner
from report.measuring.kind import SOMEWHERE
from report.measuring.settings import preset_of
from report.models.find.names import Source
from report.models.find.ollama import is_named
from report.study.front_matter import APART, QUESTIONS, FrontMatter
from report.study.study import Study


def command(study: Study, source: Source, words: Sequence[str], settings: dict) -> str:
    """The command that measures a model of an article again.

    words: options for the kind's inputs; settings: as of `measuring_settings`
    """
    wanted, model = study.front_matter, named_anywhere(source)
    option = "--models" if wanted.models or wanted.revisions else "--model"
    verb = "freeze" if wanted.kind in APART else "measure"
    arguments = ["--study", study.name]
    if option.removeprefix("--") not in QUESTIONS[owner(wanted.kind)].not_for:
        arguments += [option, model]  # else the article alone can name them
    options = {}
    if settings["layers"]:
        options["layers"] = f"0-{settings['layers'] - 1}"
    elif preset_of(source):
        options["layers"] = "all"
    if wanted.label:
        options["label"] = wanted.label
    for name in ("dtype", "device", "trust_remote_code", "alibi_factor"):
        if settings[name] != FrontMatter.model_fields[name].default:
            options[name] = settings[name]
    arguments += words
    for name, value in options.items():
        arguments += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(["python", "-m", "report", verb, *arguments])


def named_anywhere(source: Source) -> str:
    """What a command calls a model; a folder or file without the folders of this machine around
    it."""
    model = source.command_name
    on_disk = source.origin in ("folder", "file") and not is_named(model)
    return f"{SOMEWHERE}/{model}" if on_disk else model
