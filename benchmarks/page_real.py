"""The article about SmolLM2-135M and passages of up to thousands of tokens, for pages.py --real."""

import re
import tempfile
from pathlib import Path
from statistics import mean, median

import page_reading as reading
import page_sites as sites

MODEL = "smollm2-135m"
LENGTHS = (182, 512, 2048)
ADDRESS = f"articles/{sites.ARTICLE}/"
SLOWED = 4

GOALS = {
    "within": (14, 42, 150),
    "to another": (21, 60, 225),
    "step": (25, 40, 120),
    "slow step": (100, 150, 500),
    "article": (90, 92, 110),
    "disk": (None, 16, 60),
}
"""By length; kilobytes and megabytes after gzip, milliseconds."""


def columns(say, lengths, layers, repeats, number):
    """The rows of every length, as `pages.table` takes them.

    layers: as of the command; heads of others are not counted, sizes are scaled to all of them
    """
    found = {}
    with tempfile.TemporaryDirectory(prefix="pages-") as folder:
        built = {}
        for length in lengths:
            say(f"building the article about {length} tokens of {MODEL}")
            # its last section is far below what is read here, and takes minutes to measure
            place = Path(folder) / str(length)
            built[length] = sites.build(place, length, MODEL, layers, predict=False)
        with reading.browser() as chromium:
            for length, site in built.items():
                say(f"{length} tokens: reading")
                goals = {what: of[LENGTHS.index(length)] for what, of in GOALS.items()}
                rows = _sizes(site, goals) | _opening(chromium, site, goals, repeats)
                found[f"T = {length}"] = rows | _steps(chromium, site, goals, number)
    return found


def _sizes(site, goals):
    """What heads and keys fetch."""
    weighed = {
        path: len(sites.gzipped(path.read_bytes())) / 1000
        for path in site.folder.glob(f"datasets/{sites.ARTICLE}/*/*/*/*.json")
        if path.parts[-3] in ("attention", "keys")
    }
    heads = {path: size for path, size in weighed.items() if path.parts[-3] == "attention"}
    pattern = re.compile(rb'"keys":"(keys/\d+/\d+\.json)"')
    both = []
    for path, size in heads.items():
        named = pattern.search(path.read_bytes())
        both.append(size + (weighed[path.parents[2] / named[1].decode()] if named else 0))
    whole = sum(weighed.values()) * site.all_layers / site.layers / 1000
    return {
        ("a slider step within a group of heads, mean", "KB gz", goals["within"]): mean(
            heads.values()
        ),
        ("the same, largest", "KB gz", None): max(heads.values()),
        ("a slider step to another group, mean", "KB gz", goals["to another"]): mean(both),
        ("the same, largest", "KB gz ", None): max(both),
        ("all heads on disk", "MB gz", goals["disk"]): whole,
        ("largest error of a probability", "", 0.0005): sites.largest_error(site),
    }


def _opening(chromium, site, goals, repeats):
    with sites.served(site.folder) as (root, counter):
        top = [reading.opened(chromium, root + ADDRESS, counter) for _ in range(repeats)]
        at = [reading.opened_at_figure(chromium, root + ADDRESS, counter) for _ in range(repeats)]
    return {
        ("article before any scrolling", "KB gz", goals["article"]): median(x[0] for x in top),
        ("layout shift", "", 0): max(x[2] for x in top),
        ("opened at figure 1, until it is live: time", "ms", None): median(x[1] for x in at),
    }


def _steps(chromium, site, goals, number):
    with sites.served(site.folder) as (root, _):
        address = root + ADDRESS
        first, whole = reading.finished_steps(chromium, address, site, number)
        slow, slow_whole = reading.finished_steps(chromium, address, site, number, SLOWED)
        hovers = reading.hovers(chromium, address, number)
    coarse = 40 if site.tokens == max(LENGTHS) else None
    return {
        ("slider step to the first picture, median", "ms", coarse): median(first),
        ("slider step to the finished picture, median", "ms", goals["step"]): median(whole),
        ("the same two, 4x slower CPU: first", "ms", None): median(slow),
        ("finished", "ms", goals["slow step"]): median(slow_whole),
        ("hover to tooltip, median", "ms", 16): median(hovers),
        ("hover to tooltip, 90 %", "ms", None): reading.worst_tenth(hovers),
    }
