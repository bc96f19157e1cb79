"""The kinds of article: what each is measured on, how, and into which datasets.

A kind is a module of this folder, with

    inputs(wanted) -> object             what a front matter names, read and checked
    parts(inputs, before=None) -> dict   what of it the datasets depend on, for their key; what is
                                         not on this machine counts as in earlier `before`
    words(inputs) -> list                the options of a command that names the same inputs
    measure(loaded, inputs, progress, announce) -> (measured, facts)
                                         one run; facts are entries of the manifest
or, where texts of a corpus may be measured apart from each other and on other machines, instead of
`measure`, see report/measuring/pieces.py,

    measure_shard(loaded, inputs, piece, progress, announce) -> (own, tally)
                                         some texts, and perhaps what is measured once a model
    joined(inputs, own, tally) -> (measured, facts)

and

    write(folder, measured, provenance, progress)
                                         the datasets, the manifest last

`wanted` is a `report.study.front_matter.FrontMatter`, `loaded` a
`report.models.load.load.LoadedModel`; `announce` is called with a sentence about what is read. Only
`measure` may need torch, and imports it when called.
"""

from importlib import import_module

SOMEWHERE = "path/to"
"""Stands in a command for the folders of a model or passage of the reader's own."""


def kind(name):
    """The module of a kind, by `FrontMatter.kind`."""
    return import_module(f"report.measuring.kinds.{name}")
