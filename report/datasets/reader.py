"""The datasets of one article, whatever its kind.

What `open_study` gives has

    kind        a module of `report.kinds` and of `report.findings`
    models      list of objects with `manifest`, `layers`, `heads` and `capabilities`, one a model
    address     of its files below datasets/<article>/: a folder with a slash, or ""
"""

from importlib import import_module

from report import store


def open_study(paths, labels=()):
    """What was measured for one article.

    paths: folders of its datasets, one a model, as `report.measuring.datasets` names them
    labels: what an article about a passage calls its models, if not by their names
    raises: ReportError if a manifest is missing or damaged
    """
    kind = store.read(paths[0] / "manifest.json")["kind"]
    more = [labels] if labels else []
    return import_module(f"report.datasets.{kind}_study").opened(paths, *more)
