"""The atlas of SmolLM2-135M that ships, for pages.py --atlas: its page, a head, a question."""

import re
import tempfile
from pathlib import Path
from statistics import mean, median

import page_reading as reading
import page_sites as sites

ARTICLE = "which-heads-do-what"
ADDRESS = f"articles/{ARTICLE}/"
EXAMPLES = "head_examples"
"""The figure of one head that shows texts, the heaviest."""

HEADVIS = {("all of one head", "KB gz", None): 1000}
"""What HeadVis says of itself: about 1 MB a head, 5 GB for 5,120 heads (2026-06)."""

MANY = 1024
"""Heads of the model that the goal of all files is set for."""


def columns(say, repeats, number):
    """The rows of the atlas and of HeadVis, as `pages.table` takes them."""
    with tempfile.TemporaryDirectory(prefix="pages-") as folder:
        say("building the article, of its frozen datasets")
        site = sites.build_frozen(Path(folder) / "atlas", ARTICLE)
        sizes = _sizes(site)
        with reading.browser() as chromium, sites.served(site) as (root, counter):
            say("reading")
            address = root + ADDRESS
            top = [reading.opened(chromium, address, counter) for _ in range(repeats)]
            at = [reading.opened_at_figure(chromium, address, counter) for _ in range(repeats)]
            steps = reading.head_steps(chromium, address, EXAMPLES, number)
            slow = reading.head_steps(chromium, address, EXAMPLES, number, slowed=4)
            asked = reading.questions(chromium, address, QUESTIONS)
            page = f"{root}embed/{ARTICLE}/head.html#"
            alone = [
                reading.head_opened(chromium, page + HEAD, counter, slowed)
                for slowed in (1, 4)
                for _ in range(repeats)
            ]
            after = reading.heads_after(chromium, page + HEAD, OTHERS)
    ours = {
        ("article before any scrolling", "KB gz", 120): median(x[0] for x in top),
        ("opened at the scatter, until it is live", "KB gz", None): median(x[0] for x in at),
        ("opened at the scatter, until it is live: time", "ms", 1000): median(x[1] for x in at),
        **sizes,
        ("another head, until it is painted, median", "ms", 100): median(steps),
        ("the same, 90 %", "ms", None): reading.worst_tenth(steps),
        ("the same, 4x slower CPU, median", "ms", None): median(slow),
        ("a question, until its table is painted, median", "ms", None): median(asked),
        ("page of a head, until its numbers are painted", "KB gz", 120): median(
            x[0] for x in alone[:repeats]
        ),
        ("page of a head, until its numbers are painted: time", "ms", 1000): median(
            x[1] for x in alone[:repeats]
        ),
        ("the page of a head, 4x slower CPU", "ms", None): median(x[1] for x in alone[repeats:]),
        ("another head on that page, until its numbers are painted, median", "ms", 100): median(
            after
        ),
    }
    return {"SmolLM2-135M, 270 heads": ours, "HeadVis, as published": HEADVIS}


QUESTIONS = ("previous > 50 %", "induction", "line ends", "L16H0", "like L18H6", "group 1")


HEAD, *OTHERS = (f"head=L{layer}H{head}" for layer in (18, 3, 16, 29) for head in (6, 0, 8))
"""What follows "#" in the address of a head on its page, and in those of others."""


def _sizes(site):
    """What one head weighs, all its files together, and what all heads of a large model would."""
    heads = {}
    for path in (site / "figures" / ARTICLE).rglob("*.json"):
        if place := re.fullmatch(r"(\d+)-(\d+)", path.stem):
            heads.setdefault(place.groups(), []).append(path)
    weighed = [
        sum(len(sites.gzipped(path.read_bytes())) for path in paths) / 1000
        for paths in heads.values()
    ]
    plain = sum(path.stat().st_size for paths in heads.values() for path in paths)
    tables = sum(path.stat().st_size for path in (site / "datasets").rglob("*") if path.is_file())
    return {
        ("all of one head", "KB gz", 40): mean(weighed),
        ("all of the largest head", "KB gz", 40): max(weighed),
        (f"all files of {MANY:,} heads", "MB", 50): (plain + tables) / len(heads) * MANY / 1e6,
    }
