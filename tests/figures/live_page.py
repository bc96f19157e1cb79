"""A page with all figures of a hand-made study, as an article has them, served to a browser."""

import functools
import http.server
import shutil
import threading
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import vl_convert

from report import pages, store

WEB = Path(__file__).parents[2] / "report" / "web"
POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
ORDER = (
    "attention_map",
    "attention_breakdown",
    "bias_vs_position",
    "attending_to_itself",
    "attending_to_first_token",
    "attention_concentration",
    "update_magnitude",
    "update_alignment",
    "alignment_vs_magnitude",
    "magnitude_by_position",
)
"""Figure 1, figure 2, …: the first three can be linked."""


def write(site, data):
    """Write the page, its specifications and the script below `site`; the datasets lie there."""
    article = pages.Article(SimpleNamespace(name="hand"), data)
    article.announced = list(ORDER)
    figures = "".join(article.figure(name) for name in ORDER)
    for placed in article.placed:
        spec = placed.module.chart(data, **placed.state).to_dict()
        store.write_text(site / "figures" / "hand" / f"{placed.name}.json", store.dumps(spec))
    shutil.copytree(WEB, site / "assets")
    bundle = vl_convert.javascript_bundle("export default vegaEmbed;", vl_version="6.4")
    store.write_text(site / "assets" / "vega-embed.js", bundle)
    page = f"""<!doctype html><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="../../assets/figures.css">
<script type="module" src="../../assets/figures.js"></script>
<style>body {{ max-width: 720px }}</style>
<body class="md-typeset" data-md-color-scheme="default">{article.passage()}{figures}"""
    store.write_text(site / "articles" / "hand" / "index.html", page)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@contextmanager
def served(folder):
    """Address of a server of `folder`, on a free port of this machine."""
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/articles/hand/"
        finally:
            server.shutdown()
