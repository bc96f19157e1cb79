"""What a saved sentence costs under `serve --watch`, from the file to the painted map, beside the
same text typed into `explore`, and beside a build that shows no drafts.

    python benchmarks/watching.py [MODEL] [--tokens 50 180 500] [--rounds 3]

A publication of one article, as `new` makes it, about a passage of its own. In turns, for each
length: from a key in the page of `explore` to its painted map, the pause for typing left out; from
the saved file to the painted map of the draft, in an open page that reloads; from there to the page
that is complete; and the whole of a build without drafts. Prints Markdown: the fastest, and the
median of the rounds.
"""

import argparse
import re
import statistics
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from urllib.parse import quote

from asking import WORDS, painted, text_of

from report import pipeline
from report.console import Terminal
from report.exploring import server
from report.exploring.page import Explorer
from report.notebook.measurement import load
from report.pages.new import ARTICLE, new_publication
from report.project import Project
from report.watching import watch
from report.watching.server import BuildState, serving
from tests import browsers

NAMES = {
    "explored": "explore: from a key to the painted map",
    "shown": "`serve --watch`: from the saved file to the painted map of the draft",
    "complete": "… to the complete page",
    "before": "without drafts: from the saved file to the complete page",
}
PATIENCE = 600
"""Seconds."""

LIVE = "#fig-1.live-figure--live"


class Quiet(Terminal):
    def say(self, sentence):
        if sentence.startswith(("Not to be shown", "error")):
            super().say(sentence)


def publication(folder, model, text):
    """A publication of one article, about `passage.md`."""
    [*_] = new_publication("watched", folder)
    project = Project(folder / "watched")
    path = project.articles / f"{ARTICLE}.md.j2"
    words = re.sub(r"(?m)^model: .*", f"model: {model}", path.read_text("utf-8"))
    words = re.sub(r"(?m)^passage: .*", "passage: passage.md", words)
    words = words.replace("{{ passage() }}", "")  # or the map would lie below the window
    path.write_text(f"{words}\n{{{{ passage() }}}}\n", "utf-8")
    (project.root / "passage.md").write_text(text, "utf-8")
    return project


def saved(page, project, text, state):
    """(seconds from the saved file to the painted map of its draft, to the complete page)"""
    builds, began = state.builds, time.perf_counter()
    (project.root / "passage.md").write_text(text, "utf-8")
    seen = text.split()[-1]
    page.locator(".passage", has_text=seen).wait_for(timeout=PATIENCE * 1000)
    page.locator(LIVE).wait_for(timeout=PATIENCE * 1000)
    shown = time.perf_counter() - began
    while state.builds == builds:
        time.sleep(0.02)
    return shown, time.perf_counter() - began


def rounds(explorer, pages, project, state, paused, tokens, number):
    """Name of `NAMES` -> seconds, of each round."""
    found = {name: [] for name in NAMES}
    rebuilder = watch.Rebuilder(pipeline.Request(project), Quiet())
    for turn in range(number + 1):  # the first warms up
        text = f"{text_of(explorer, tokens)} {tokens}x{turn}"
        found["explored"].append(painted(pages[0], f"{text}!"))
        shown, complete = saved(pages[1], project, f"{text}a", state)
        found["shown"].append(shown)
        found["complete"].append(complete)
    paused.set()
    for turn in range(2):
        text = f"{text_of(explorer, tokens)} {tokens}y{turn}"
        began = time.perf_counter()
        (project.root / "passage.md").write_text(text, "utf-8")
        rebuilder.rebuild(["passage.md"])
        found["before"].append(time.perf_counter() - began)
    return {name: values[1:] for name, values in found.items()}


def follow(request, state, rebuilder, paused):
    for names in watch.changes(request, watch.look(request)):
        if not paused.is_set():
            watch.attempt(rebuilder, names, state, rebuilder.terminal)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model", nargs="?", default="smollm2-135m")
    parser.add_argument("--tokens", type=int, nargs="+", default=[50, 180, 500])
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    explorer, state, paused = Explorer(load(chosen.model), None), BuildState(), threading.Event()
    with tempfile.TemporaryDirectory() as folder, browsers.chromium() as browser:
        project = publication(Path(folder), chosen.model, WORDS)
        request = pipeline.Request(project)
        rebuilder = watch.Rebuilder(request, Quiet(), state)
        rebuilder.rebuild()
        state.succeeded()
        about = request, state, rebuilder, paused
        threading.Thread(target=follow, args=about, daemon=True).start()
        view = {"viewport": {"width": 1280, "height": 1600}}  # the map is in the window
        with serving(request, 0, state) as site, server.page_of(explorer, 0) as (asked, address):
            threading.Thread(target=asked.serve_forever, daemon=True).start()
            pages = browser.new_page(**view), browser.new_page(**view)
            pages[0].goto(f"{address}?text={quote(WORDS)}")
            pages[1].goto(f"{site}articles/{ARTICLE}/")
            for page in pages:
                page.locator(LIVE).wait_for(timeout=PATIENCE * 1000)
            tables = {}
            for tokens in chosen.tokens:
                paused.clear()
                run = partial(rounds, explorer, pages, project, state, paused)
                tables[tokens] = run(tokens, chosen.rounds)
            asked.shutdown()
    print("| seconds: fastest (median) |", " | ".join(f"{n} tokens" for n in tables), "|")
    print("| --- |", " ---: |" * len(tables))
    for name, words in NAMES.items():
        cells = [f"{min(t[name]):.1f} ({statistics.median(t[name]):.1f})" for t in tables.values()]
        print(f"| {words} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
