"""What a reader waits for and fetches: pages in headless Chromium, beside the goals.

    python benchmarks/pages.py             our pages, about 10 minutes on 2 quiet cores
    python benchmarks/pages.py --quick     170 tokens only, 3 minutes
    python benchmarks/pages.py --real      SmolLM2-135M and passages of 182, 512 and 2,048 tokens
    python benchmarks/pages.py --atlas    the atlas that ships, beside what HeadVis says of itself
    python benchmarks/pages.py --peers     other tools on the same heads, 8 minutes; see README.md
    python benchmarks/pages.py --real --peers    and on the first layer of SmolLM2-135M

The first article is built for passages of 64, 170 and 512 tokens of the embedded model and for 170
tokens of a random one with 24 layers x 32 heads, in a temporary folder. It is served compressed,
and read by a browser that has nothing cached: where bytes and opening count over 10 Mbit/s with
40 ms, where steps count from this machine. Timings are medians. Prints Markdown.
"""

import argparse
import platform
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean, median

import page_atlas
import page_peers
import page_reading as reading
import page_real
import page_sites as sites

LENGTHS = (64, 170, 512)
ADDRESS = f"articles/{sites.ARTICLE}/"
SLOWED = 4
ERROR = 0.0005
"""Of a probability that a figure shows."""


def say(text):
    """Tell how far it is, beside the tables."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def transfers(chromium, site, repeats):
    """What opening costs; rows as all functions here give them: {(what, unit, limit): number}."""
    with sites.served(site.folder) as (root, counter):
        address = root + ADDRESS
        top = [reading.opened(chromium, address, counter) for _ in range(repeats)]
        before = len(counter.sent)
        at = [reading.opened_at_figure(chromium, address, counter) for _ in range(repeats)]
        slow = [reading.opened_at_figure(chromium, address, counter, SLOWED) for _ in at]
        heads = [size / 1000 for _, path, size in counter.sent[before:] if "/attention/" in path]
    return {
        ("article before any scrolling", "KB gz", 90): median(x[0] for x in top),
        ("requests before any scrolling", "", None): median(x[1] for x in top),
        ("opened at figure 1, until it is live", "KB gz", 420): median(x[0] for x in at),
        ("of these, the file of its head", "KB gz", None): median(heads),
        ("opened at figure 1, until it is live: time", "ms", 900): median(x[1] for x in at),
        ("the same, 4x slower CPU", "ms", None): median(x[1] for x in slow),
    }


def shards(site):
    """What one head's file costs."""
    sizes = [len(sites.gzipped(path.read_bytes())) / 1000 for path in site.shards]
    limit = 27 if site.tokens == 170 else None
    return {
        ("a slider step of figure 1 fetches: mean of all heads", "KB gz", limit): mean(sizes),
        ("worst head", "KB gz", limit): max(sizes),
        ("largest error of a probability", "", ERROR): sites.largest_error(site),
    }


def steps(chromium, site, number):
    """What sliders and hovering cost on this machine."""
    limit = {170: 25, 512: 40}.get(site.tokens)
    with sites.served(site.folder) as (root, _):
        address = root + ADDRESS
        first, again = reading.slider_steps(chromium, address, site, number)
        slow, slow_again = reading.slider_steps(chromium, address, site, number, SLOWED)
        hovers = reading.hovers(chromium, address, number)
        slow_hovers = reading.hovers(chromium, address, number, SLOWED)
    tenth = reading.worst_tenth
    slow_limit, hover_limit = 100, 16
    return {
        ("slider step to painted, first visit, median", "ms", limit): median(first),
        ("slider step, first visit, 90 %", "ms", None): tenth(first),
        ("slider step, again, median", "ms", None): median(again),
        ("slider step, 4x slower CPU, first visit, median", "ms", None): median(slow),
        ("slider step, 4x slower CPU, first visit, 90 %", "ms", slow_limit): tenth(slow),
        ("slider step, 4x slower CPU, again, 90 %", "ms", None): tenth(slow_again),
        ("hover to tooltip, median", "ms", hover_limit): median(hovers),
        ("hover to tooltip, 90 %", "ms", None): tenth(hovers),
        ("hover to tooltip, 4x slower CPU, median", "ms", None): median(slow_hovers),
    }


def reads(chromium, site, repeats):
    """What reading the whole article costs."""
    phone = {"width": 390, "height": 844}
    with sites.served(site.folder) as (root, _):
        address = root + ADDRESS
        desk = [reading.read_whole(chromium, address) for _ in range(repeats)]
        slow = [reading.read_whole(chromium, address, SLOWED) for _ in range(repeats)]
        hand = [reading.read_whole(chromium, address, window=phone)]
    for read in desk + slow + hand:
        if read.still:
            say(f"figures that did not come to life: {read.still}")
        if read.shifted:
            say(f"moved: {', '.join(read.shifted)}")
    return {
        ("layout shift, article read, 1280 px", "", 0): max(x.shift for x in desk + slow),
        ("layout shift, article read, 390 px", "", 0): max(x.shift for x in hand),
        ("total blocking time, article read", "ms", 200): median(x.blocked for x in desk),
        ("longest task", "ms", None): median(x.longest for x in desk),
        ("total blocking time, 4x slower CPU", "ms", 1200): median(x.blocked for x in slow),
    }


def large(chromium, site, repeats):
    """What only a large model shows."""
    with sites.served(site.folder) as (root, counter):
        address = root + ADDRESS
        drags = [reading.dragged(chromium, address, counter, site.heads) for _ in range(repeats)]
    return {
        ("site, 24 layers x 32 heads", "MB", 60): site.bytes() / 1e6,
        ("drag over 31 heads in 0.5 s, requests", "", 10): max(x[0] for x in drags),
        ("final state after the drag's end", "ms", 150): median(x[1] for x in drags),
        **shards(site),
    }


def table(columns):
    """Columns, dict of a title to rows, as Markdown, each row with its goals and a verdict."""
    lines = [
        f"| | {' | '.join(columns)} | goal | |",
        f"| --- |{' ---: |' * len(columns)} --- | --- |",
    ]
    for what, unit in dict.fromkeys(key[:2] for rows in columns.values() for key in rows):
        found = [
            next(
                ((limit, rows[w, u, limit]) for w, u, limit in rows if (w, u) == (what, unit)), None
            )
            for rows in columns.values()
        ]
        cells = [shown(each[1], unit) if each else "" for each in found]
        goals = [each for each in found if each and each[0] is not None]
        limits = " / ".join(dict.fromkeys(f"{limit:g}" for limit, _ in goals))
        verdict = "met" if all(number <= limit for limit, number in goals) else "**missed**"
        name = f"{what}, {unit}" if unit else what
        goal = [f"<= {limits}", verdict] if goals else ["", ""]
        lines.append(f"| {' | '.join([name, *cells, *goal])} |")
    return "\n".join(lines)


def shown(number, unit):
    """A number as a table shows it."""
    if not unit and number != int(number):
        return f"{number:.5f}"
    return f"{number:.1f}" if unit and number < 100 else f"{number:.0f}"


def ours(quick):
    """Measure our pages and print their tables."""
    repeats, number = (2, 15) if quick else (3, 40)
    lengths = (170,) if quick else LENGTHS
    columns = {}
    with tempfile.TemporaryDirectory(prefix="pages-") as folder:
        built = {}
        for length in lengths:
            say(f"building the article about {length} tokens")
            built[length] = sites.build(Path(folder) / str(length), length)
        stand_in = None
        if not quick:
            say("building a site of 24 layers x 32 heads")
            model = sites.stand_in(Path(folder) / "stand-in")
            stand_in = sites.build(Path(folder) / "large", 170, str(model))
            say("building one of a model with rotary positions")
            rotary = sites.build(Path(folder) / "rotary", 170, "qwen2-5x28")
        with reading.browser() as chromium:
            say(f"Chromium {chromium.version}")
            for length, site in built.items():
                say(f"{length} tokens: opening")
                rows = transfers(chromium, site, repeats) | shards(site)
                say(f"{length} tokens: sliders and hovering")
                rows |= steps(chromium, site, number)
                say(f"{length} tokens: reading it whole")
                rows |= reads(chromium, site, repeats)
                columns[f"T = {length}"] = rows
            print(table(columns), flush=True)
            if stand_in:
                say("24 x 32 heads: dragging")
                print("\n" + table({"24 x 32 heads, T = 170": large(chromium, stand_in, repeats)}))
                print("\n" + table({"rotary positions, T = 170": shards(rotary)}), flush=True)
            print(f"\n{where(chromium)}")


def where(chromium):
    """The machine, in one line."""
    return f"Chromium {chromium.version}, Python {platform.python_version()}, no GPU."


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--quick",
        action="store_true",
        help="170 tokens, fewer runs; with --peers, 64 tokens of the embedded model",
    )
    parser.add_argument(
        "--peers",
        nargs="?",
        const=sys.executable,
        metavar="PYTHON",
        help="other tools instead, by a Python that has them",
    )
    parser.add_argument("--real", action="store_true", help="a real model and long passages")
    parser.add_argument("--atlas", action="store_true", help="the atlas that ships")
    parser.add_argument("--lengths", type=int, nargs="+", default=page_real.LENGTHS)
    parser.add_argument("--layers", default="all", help="of the real model; sizes are scaled")
    options = parser.parse_args()
    reading.require_browser()
    if options.real and options.peers:
        page_peers.compare_long(options.peers, say, page_real.MODEL, options.lengths)
    elif options.atlas:
        print(table(page_atlas.columns(say, *((1, 10) if options.quick else (3, 40)))))
    elif options.real:
        repeats, number = (1, 5) if options.quick else (3, 17)
        print(table(page_real.columns(say, options.lengths, options.layers, repeats, number)))
    elif options.peers:
        page_peers.compare(options.peers, say, options.quick)
    else:
        ours(options.quick)


if __name__ == "__main__":
    main()
