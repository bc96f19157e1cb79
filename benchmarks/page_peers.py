"""The same heads in other tools: size of the file, time to open it and to switch to another head.

`pages.py --peers PYTHON` runs this: it builds the site of 24 layers x 32 heads on 170 tokens, takes
the probabilities out of our own files, and has PYTHON, which may be of another environment, write
what each tool makes of them (this file, run as a program). What PYTHON lacks is left out, with a
line that says so. Each file is opened in Chromium, all requests to other hosts being refused.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 60
"""Seconds that a page is waited for, and then once more for switching."""

WRITE_LIMIT = 90
"""Seconds that a tool may take to write its file."""


# --- Writing: with the tools' own Python, which needs none of this project's packages -----------


def bertviz_head(attention, tokens):
    from bertviz import head_view

    return head_view(_tensors(attention), tokens, html_action="return").data


def bertviz_model(attention, tokens):
    from bertviz import model_view

    return model_view(_tensors(attention), tokens, html_action="return").data


def _tensors(attention):
    import torch

    return [torch.from_numpy(layer)[None] for layer in attention]


def circuitsvis_heads(attention, tokens):
    from circuitsvis.attention import attention_heads

    layer = attention[0]  # it shows the heads of one layer
    shown = attention_heads(layer, tokens)
    return shown.local_src


def inspectus_attention(attention, tokens):
    import inspectus
    from IPython import display

    parts = []
    shown, display.display = display.display, lambda *given: parts.extend(one.data for one in given)
    try:
        inspectus.attention(attention, tokens)
    finally:
        display.display = shown
    return "".join(parts)


TOOLS = {
    "BertViz head view": bertviz_head,
    "BertViz model view": bertviz_model,
    "CircuitsVis attention heads, layer 0 alone": circuitsvis_heads,
    "Inspectus": inspectus_attention,
}


def write(folder, tool):
    """Write a tool's page of the attention in a folder to `page.html` there."""
    import numpy as np

    folder = Path(folder)
    attention = np.load(folder / "attention.npy")
    tokens = json.loads((folder / "tokens.json").read_text("utf-8"))
    page = TOOLS[tool](attention, tokens)
    head = '<!doctype html><html><meta charset="utf-8"><body>'
    (folder / "page.html").write_text(f"{head}{page}</body></html>", "utf-8")


# --- Reading ------------------------------------------------------------------------------------

DRAWN = {
    "BertViz head view": "document.querySelectorAll('svg line, svg rect').length > 100",
    "BertViz model view": "document.querySelectorAll('svg line, svg rect').length > 100",
    "CircuitsVis attention heads, layer 0 alone": (
        "[...document.querySelectorAll('canvas')].filter(each => each.width > 400 && each"
        ".getContext('2d').getImageData(each.width / 2, each.height / 2, 1, 1).data[3]).length"
    ),
    "Inspectus": "document.querySelectorAll('svg.matrix rect.cell').length > 0",
    "Altair charts, inline, one head": (
        "[...document.querySelectorAll('.chart')].every("
        "each => each.querySelector('canvas, svg.marks'))"
    ),
}
"""What is true of a page once it shows something."""

SWITCH = {
    # a small head that is pointed at is shown large, below a title with its number
    "CircuitsVis attention heads, layer 0 alone": """async () => {
        window.turn = (window.turn ?? 0) + 1;
        const small = document.querySelectorAll('h4')[turn].parentNode.querySelector('canvas');
        const shown = () => document.evaluate(
            `boolean(//h3[. = "Head ${turn} Zoomed"])`, document, null, 3).booleanValue;
        if (shown()) return null;
        const from = performance.now();
        small.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
        while (!shown()) await new Promise(done => requestAnimationFrame(done));
        for (let n = 0; n < 2; n++) await new Promise(done => requestAnimationFrame(done));
        await new Promise(done => setTimeout(done));
        return performance.now() - from; }""",
    # a click on a head of its list shows that one
    "Inspectus": """async () => {
        const heads = [...document.querySelectorAll('.dimension-values .value')];
        window.turn = (window.turn ?? 0) + 1;
        const from = performance.now();
        heads.at(-turn).dispatchEvent(new MouseEvent('click', {bubbles: true}));
        for (let n = 0; n < 2; n++) await new Promise(done => requestAnimationFrame(done));
        await new Promise(done => setTimeout(done));
        return performance.now() - from; }""",
}


def opened(tool, page_file):
    """Open a tool's page, refusing all requests to other hosts; prints what it found line by line,
    as JSON, since a page that is too much for a browser has to be stopped from outside."""
    import page_reading as reading

    def refuse(route):
        tell(asks=route.request.url.split("/")[2])
        route.abort()

    def tell(**found):
        print(json.dumps(found), flush=True)

    with reading.browser() as chromium:
        context = chromium.new_context(viewport={"width": 1280, "height": 800})
        context.route(lambda address: address.startswith("http"), refuse)
        page = context.new_page()
        page.set_default_timeout(LIMIT * 1000)
        start = time.monotonic()
        page.goto(Path(page_file).as_uri(), wait_until="commit")
        page.wait_for_function(DRAWN[tool], polling=50)
        tell(shown=time.monotonic() - start)
        if tool in SWITCH:
            times = [page.evaluate(SWITCH[tool]) for _ in range(3)]
            tell(switch=None if None in times else sorted(times)[1])


def altair_page(site, target):
    """The article's figures as a page of specifications with data in them, as Altair writes it;
    of a figure of several panels, the first."""
    import altair
    import vl_convert

    from report.datasets.read.study import open_study
    from report.figures.build import still
    from report.figures.build.find import figure_named, figure_names

    (manifest,) = site.folder.glob("datasets/*/*/manifest.json")
    data = open_study([manifest.parent])
    drawn = site.folder / "figures" / "attention-focus-plots"
    names = [name for name in figure_names() if any(drawn.glob(f"{name}[.-]*json"))]
    specs = []
    for name in names:
        figure = figure_named(name)
        spec = still.specification(figure, data, **({"panel": 0} if figure.panels else {}))
        if name == "attention_map":
            spec = _plain_map(data)
        specs.append(spec)
    bundle = vl_convert.javascript_bundle(
        "window.vegaEmbed = vegaEmbed;",
        vl_version=".".join(altair.SCHEMA_VERSION[1:].split(".")[:2]),
    )
    boxes = "".join(
        f'<div class="chart" id="c{n}" style="width: 720px"></div>' for n in range(len(specs))
    )
    texts = [json.dumps(spec).replace("</", r"<\/") for spec in specs]
    calls = "".join(f"vegaEmbed('#c{n}', {text});" for n, text in enumerate(texts))
    script = f'<script type="module">{bundle};{calls}</script>'
    target.write_text(f'<!doctype html><meta charset="utf-8"><body>{boxes}{script}', "utf-8")


def _plain_map(data):
    """Figure 1 as one would write it: a rectangle a cell, of rows."""
    import altair as alt

    found = data.attention(0, 0)
    labels = [token.label for token in data.tokens]
    rows = [
        {"current": i, "target": j, "current_token": labels[i], "target_token": labels[j],
         "score": float(found.score[i, j]), "probability": float(found.probability[i, j])}
        for i in range(data.length) for j in range(i + 1)
    ]  # fmt: skip
    alt.data_transformers.disable_max_rows()
    chart = alt.Chart(alt.InlineData(rows)).mark_rect().encode(
        x="target:O", y="current:O", color="score:Q",
        tooltip=["current_token:N", "target_token:N", "score:Q", "probability:Q"],
    )  # fmt: skip
    return chart.properties(width=660, height=660).to_dict()


def compare(python, say, small=False):
    """Build, write and open; prints a table in Markdown."""
    import page_sites as sites

    with tempfile.TemporaryDirectory(prefix="peers-") as name:
        folder = Path(name)
        if small:
            site = sites.build(folder / "site", 64)
        else:
            say("building a site of 24 layers x 32 heads")
            site = sites.build(folder / "site", 170, str(sites.stand_in(folder / "stand-in")))
        _table(python, say, folder, site)


def compare_long(python, say, model, lengths):
    """The same of the first layer of a model on long passages, a table each: nobody could open all
    layers."""
    import page_sites as sites

    for length in lengths:
        with tempfile.TemporaryDirectory(prefix="peers-") as name:
            say(f"building a site of {length} tokens and the first layer of {model}")
            site = sites.build(Path(name) / "site", length, model, "1", predict=False)
            print(f"\n{length} tokens, {site.heads} heads\n")
            _table(python, say, Path(name), site)


def _table(python, say, folder, site):
    import numpy as np

    from report.kinds.passage.data import PassageData

    (manifest,) = site.folder.glob("datasets/*/*/manifest.json")
    data = PassageData(manifest.parent)
    maps = np.zeros((site.layers, site.heads, site.tokens, site.tokens), np.float32)
    for layer, head in np.ndindex(*maps.shape[:2]):
        maps[layer, head] = data.attention(layer, head).probability
    np.save(folder / "attention.npy", maps)
    tokens = [token.label for token in data.tokens]
    (folder / "tokens.json").write_text(json.dumps(tokens), "utf-8")
    print("| | file | opens, no network | switches to another head |\n| --- | ---: | ---: | ---: |")
    print(f"| ours: the whole site | {site.bytes() / 1e6:.0f} MB | {_ours(site)} |", flush=True)
    say("Altair charts")
    altair_page(site, folder / "page.html")
    _row("Altair charts, inline, one head", folder / "page.html")
    for tool in TOOLS:
        say(tool)
        (folder / "page.html").unlink(missing_ok=True)
        reason = _written(python, folder, tool)
        if reason:
            say(f"{tool}: left out, {reason}")
            print(f"| {tool} | {reason} | | |", flush=True)
            continue
        _row(tool, folder / "page.html")


def _ours(site):
    import page_reading as reading
    import page_sites as sites

    with sites.served(site.folder) as (root, counter), reading.browser() as chromium:
        address = f"{root}articles/{sites.ARTICLE}/"
        _, live = reading.opened_at_figure(chromium, address, counter, line=False)
        first, _ = reading.slider_steps(chromium, address, site, 15)
    return f"{live / 1000:.2f} s | {statistics.median(first):.0f} ms"


def _written(python, folder, tool):
    """Have a tool write its page; returns why it did not, or ""."""
    command = [python, __file__, "write", str(folder), tool]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, timeout=WRITE_LIMIT, env=environment
        )
    except subprocess.TimeoutExpired:
        return f"not written after {WRITE_LIMIT} s"
    if not done.returncode:
        return ""
    last = done.stderr.strip().rsplit("\n", 1)[-1]
    return "not installed" if "ModuleNotFoundError" in last else f"failed: {last[:80]}"


def _row(tool, page_file):
    """Open a page in a process of its own, and print its row."""
    size = page_file.stat().st_size / 1e6
    command = [sys.executable, __file__, "open", tool, str(page_file)]
    found = {"asks": set()}
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as child:
        try:
            said, _ = child.communicate(timeout=2 * LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            said, _ = child.communicate()
    for line in said.decode().splitlines():
        one = json.loads(line)
        if "asks" in one:
            found["asks"].add(one["asks"])
        else:
            found |= one
    shown, switch = found.get("shown"), found.get("switch")
    opens = f"{shown:.1f} s" if shown else f"nothing shown after {LIMIT} s"
    opens += f", asks {', '.join(sorted(found['asks']))}" if found["asks"] else ""
    switches = f"{switch:.0f} ms" if switch is not None else ""
    print(f"| {tool} | {size:.1f} MB | {opens} | {switches} |", flush=True)


if __name__ == "__main__":
    {"write": write, "open": opened}[sys.argv[1]](*sys.argv[2:])
