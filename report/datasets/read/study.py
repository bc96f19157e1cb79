"""The datasets of one article, whatever its kind.

What `open_study` gives has

    kind        a module of `report.measuring.kinds` and of `report.findings`
    models      list of objects with `manifest`, `layers`, `heads` and `capabilities`, one a model
    address     of its files below datasets/<article>/: a folder with a slash, or ""
"""

from importlib import import_module

from report.datasets import store


def open_study(paths, labels=()):
    """What was measured for one article.

    paths: folders of its datasets, one a model, as `report.measuring.run.datasets` names them
    labels: what an article calls each of its models; None: by its name
    raises: ReportError if a manifest is missing or damaged
    """
    kind = store.read_manifest(paths[0])["kind"]
    more = [labels] if any(labels) else []
    return import_module(f"report.datasets.read.{kind}").opened(paths, *more)
