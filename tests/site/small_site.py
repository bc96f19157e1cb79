"""A small site made by hand: pages, a figure, scripts, styles, the datasets of two studies, and its
list of files. It is checked in a moment, and holds a file of each kind."""

import gzip
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from report import files as files_
from report.datasets import store
from report.figures.build.find import figure_named
from report.figures.parts import choices
from report.pages.policy import NAME, policy
from report.site.check import check_site
from report.site.sums import write_sums
from tests.datasets.read.test_conditions import written as conditions_written
from tests.figures import hand_made

DATASETS = "datasets/a/0123456789ab"
CONDITIONS = "datasets/b/ba9876543210"
POLICY = f'<meta http-equiv="{NAME}" content="{policy()}">'
HOME = f"""<!doctype html>{POLICY}<title>Home</title>
<link rel="canonical" href="https://example.org/"><link rel="stylesheet" href="assets/site.css">
<a href="a/">article</a> <a href="a/#fig-1">figure</a> <a href="https://example.com/">elsewhere</a>
<a href="mailto:ann@example.org">post</a> <a href="a/#fig-1:layer=1">state</a>"""
ARTICLE = f"""<!doctype html>{POLICY}<title>Article</title><h2 id="method">Method</h2>
<a href="#method">here</a> <a href="../">home</a>
<figure id="fig-1" data-figure="attention_map" data-spec="../figures/a/attention_map.json"
  data-datasets="../{DATASETS}/"><img src="../figures/a/map.svg#only-light" alt="A map"></figure>
<script src="../assets/figures.js"></script>"""
SEVERAL = f"""<!doctype html>{POLICY}<title>Several models</title>
<figure id="fig-1" data-figure="filler_lines" data-datasets="../datasets/b/">
<div data-spec="../figures/a/filler_lines-1.json"></div>
<div data-spec="../figures/a/filler_lines-2.json"></div></figure>"""
STYLE = "body { background: url('paper.svg') } @font-face { src: url(data:font/woff2;base64,AA) }"


SCRIPT = """import { loadJson } from "./loading.js";
const styles = new URL("site.css", import.meta.url);
const later = () => import("./loading.js");
"""
ADDRESS = "https://example.org/"
SITE_MAP = f"<urlset><url><loc>{ADDRESS}</loc></url><url><loc>{ADDRESS}a/</loc></url></urlset>"
INDEX = {"docs": [{"location": ""}, {"location": "a/"}, {"location": "a/#method"}]}


def write(site):
    """Write it into a folder: two pages and one of several panels, the datasets of two studies."""
    data = write_datasets(site / DATASETS)
    conditions_written(site / CONDITIONS)
    controls = figure_named("attention_map").controls(data)
    about = {
        "controls": choices.as_json(controls),
        "data": {"url": "attention/{layer}/{head}.json"},
    }
    texts = {
        "index.html": HOME,
        "a/index.html": ARTICLE,
        "several/index.html": SEVERAL,
        "assets/site.css": STYLE,
        "assets/paper.svg": "<svg/>",
        "assets/figures.js": SCRIPT,
        "assets/loading.js": "export const loadJson = fetch;",
        "figures/a/map.svg": "<svg/>",
        "sitemap.xml": SITE_MAP,
        "feed.xml": f"<rss><item><link>{ADDRESS}a/</link></item></rss>",
        "robots.txt": f"User-agent: *\nSitemap: {ADDRESS}sitemap.xml\n",
        "CNAME": "example.org\n",
        "search/search_index.json": json.dumps(INDEX),
        **specification("attention_map", about),
    }
    model = CONDITIONS.rpartition("/")[2]
    for panel, head in ((1, 0), (2, 2)):
        of_texts = {"param": "texts", "value": "conditions"}  # as where a reader chooses a sentence
        about = {"controls": [of_texts], "data": {"url": f"{model}/received/1/{head}.json"}}
        about["data"]["tokens"] = f"{model}/{{texts}}.json"
        texts |= specification(f"filler_lines-{panel}", about)
    for name, text in texts.items():
        files_.write_text(site / name, text)
    files_.write_bytes(site / "sitemap.xml.gz", gzip.compress(SITE_MAP.encode(), mtime=0))
    write_sums(site)
    return site


def write_datasets(folder):
    """`PassageData` over a hand-made study in a folder, with a manifest that lists its files."""
    data = hand_made.study(folder)
    files = {
        path.relative_to(folder).as_posix(): {
            "bytes": path.stat().st_size,
            "sha256": files_.sha256(path),
        }
        for path in sorted(folder.rglob("*.json"))
        if path.name != "manifest.json"
    }
    store.write(folder / "manifest.json", store.sealed(data.manifest | {"files": files}))
    return data


def specification(name, about):
    """A specification and the one compiled of it, dict of path to text."""
    text = json.dumps({"usermeta": {"report": about}})
    return {f"figures/a/{name}.json": text, f"figures/a/{name}.vega.json": text}


def checked(site):
    """What the check says of a site, as if a build had made every file of it."""
    write_sums(site)
    return check_site(site)


@contextmanager
def damaged(path: Path, way: str, chance: random.Random) -> Iterator[str]:
    """Damage a file, and put it back afterwards; yields what was done.

    way: "flip" (an empty file gets a byte instead) or "delete"
    """
    content = path.read_bytes()
    if way == "delete":
        path.unlink()
        what = f"{path} deleted"
    else:
        changed = bytearray(content or b"\0")
        bit = chance.randrange(8 * len(changed))
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        what = f"{path}, bit {bit} flipped"
    try:
        yield what
    finally:
        path.write_bytes(content)
