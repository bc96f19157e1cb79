"""What figures of a built site are drawn from: specifications, and the datasets that they name."""

import json
import re
from pathlib import Path

from report import files
from report.errors import ReportError
from report.site.links import leads_to

BROKEN = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What is raised on the way through JSON that is not as it should be."""


def check_figure(page: Path, specification: str, datasets: str, folder: Path) -> list[str]:
    """What is missing or broken of what one chart of a page is drawn from, as phrases.

    specification, datasets: addresses as the page has them; folder: of the site
    """
    path = leads_to(specification, page, folder)
    if path is None:
        return [f"no specification at {specification}"]
    try:
        paths = _of_all_models(path)
    except ReportError as error:
        return [str(error)]
    return [
        problem for each in paths for problem in _check_specification(page, each, datasets, folder)
    ]


def _of_all_models(path):
    """The specification at a path, and those of other models that its figure can change to."""
    try:
        others = _report(path).get("models", {})
        names = [name for name in others.values() if name != path.name]
    except (OSError, *BROKEN):
        return [path]  # it is broken, and will be said to be
    return [path, *(files.inside(path.parent, name) for name in names)]


def _check_specification(page, path, datasets, folder):
    """The same of one specification, and of the one that the build compiled of it, which is the one
    that a page's script draws."""
    try:
        report = _report(path)
        states = _extremes(report["controls"])
        urls = {_filled(report["data"]["url"], state) for state in states}
        tokens = report["data"].get("tokens", "passage.json")  # None: no token is named
        words = {_filled(tokens, state) for state in states} if tokens else ()
        needed = [*sorted(urls), *sorted(words), _manifest(datasets, urls)]
    except OSError:
        return [f"no specification {path.name}"]
    except BROKEN as error:
        return [f"specification is broken ({error!r})"]
    found = [
        f"no dataset at {url}"
        for url in dict.fromkeys(filter(None, needed))
        if leads_to(f"{datasets}{url}", page, folder) is None
    ]
    compiled = path.with_suffix(".vega.json")
    try:
        same = _report(compiled) == report
    except OSError:
        return [*found, f"no specification {compiled.name}"]
    except BROKEN as error:
        return [*found, f"specification {compiled.name} is broken ({error!r})"]
    return found if same else [*found, f"{compiled.name} was not compiled of {path.name}"]


def _report(path):
    """What a specification tells the page's script."""
    return json.loads(path.read_bytes().decode("utf-8"))["usermeta"]["report"]


def _filled(url, state):
    """The address of a state's dataset, as the page's script makes it."""
    return re.sub(r"{(\w+)}", lambda name: str(state[name[1]]), url)


def _manifest(address, urls):
    """Address of the manifest of a figure's datasets; below an article's there is one a model."""
    of_article = address.rstrip("/").rpartition("/")[0].endswith("datasets")
    below = [url for url in urls if not url.startswith("../")]  # others were written for the figure
    if of_article and not below:
        return None
    return f"{min(below).partition('/')[0]}/manifest.json" if of_article else "manifest.json"


def _extremes(controls):
    """States with every slider at its first and at its last value."""
    ends = ({}, {})
    for control in controls:
        first, last = control.get("minimum"), control.get("maximum")
        if first is None:
            first = last = control["value"]
        ends[0][control["param"]], ends[1][control["param"]] = first, last
    return ends
