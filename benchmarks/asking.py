"""What an answer of `explore` costs, from a key to the painted map, beside a plain forward pass.

    python benchmarks/asking.py [MODEL] [--tokens 50 180 500] [--busy N] [--before FOLDER]

For each length, in turns, the fastest and the median of the rounds: a plain forward pass of
transformers; measuring in memory, as a notebook does; an answer of `explore`, the passage and its
map that a page asks for first, and whole; from a key in the page to the painted map in Chromium,
the pause for typing left out; another head of the same text; and where they are installed, what
BertViz and CircuitsVis take from the text to the HTML of their views, unless that would take more
than a minute. Before that, in turns: from the start of the program to its first picture in a
browser that is open, and from the start of Python to a loaded model. The first start has the model
checked, if it was not before. --busy: as many processes that never rest run beside. --before: a
checkout of an older version, with its environment in .venv, whose notebook is asked once for each
length, after a text that warms it up: from a text to the chart of a head. Prints Markdown.
"""

import argparse
import multiprocessing
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import torch
from page_peers import TOOLS

sys.path.append(str(Path(__file__).parents[1]))  # a program's own folder is all that is there

from report.exploring import server
from report.exploring.page import Explorer, Question, content_of
from report.kinds.passage.live import LivePassage
from report.notebook.measurement import load
from tests import browsers

ROUNDS = 5
PATIENCE = 20
"""Seconds after which another tool is not run again."""
LIMIT = 60
"""Seconds of another tool's run, at most, as its last length lets expect."""
STARTS = 3
OLD = """
import sys, time
from report.notebook import figure, measure

for text in sys.argv[2:]:
    began = time.perf_counter()
    figure("attention_map", measure(sys.argv[1], text), layer=1, head=0).to_dict()
    print("took", time.perf_counter() - began, flush=True)
"""
"""What an older notebook does for each text."""
PAUSE = 0.25
"""Seconds that the page waits after a key."""

WORDS = (
    "The lamp on the hill was lit. Martha saw the lamp from the train, and the train went on past "
    "the hill until she could no longer see the lamp. Nobody knew who had lit it. "
)
PEERS = {
    "BertViz, head view": ("bertviz", "BertViz head view"),
    "CircuitsVis, first layer": ("circuitsvis", "CircuitsVis attention heads, layer 0 alone"),
}
BUDGETS = {50: 0.5, 180: 1.2, 500: 3.0}
"""Tokens of a text -> seconds from a key to the painted map, for SmolLM2-135M."""


def text_of(explorer, tokens):
    """A text of about as many tokens; no other has it, as rounds differ at the end."""
    words = (WORDS * 40).split()
    low, high = 1, len(words)
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (middle + 1, high)
            if explorer.tokens(" ".join(words[:middle])) < tokens
            else (low, middle)
        )
    return " ".join(words[:low])


def plain(explorer, text):
    loaded = explorer.model.loaded
    ids = torch.tensor([loaded.tokenizer(text)["input_ids"]])
    with torch.no_grad():
        loaded.model(ids, use_cache=False)


def measured(explorer, text):
    LivePassage(explorer.model.loaded, explorer._inputs(text), lambda said: None)


def answered(explorer, text, first=False):
    return explorer.answer(Question(1, text, first=first), lambda *_: None, lambda said: None)


def first_part(explorer, text):
    answered(explorer, text, first=True)


def next_head(answer, round_):
    name = f"datasets/text-1/text-1/attention/{round_ % 2 + 1}/{round_ % 3}.json"
    content_of(answer.files[name]())


def peer(tool):
    """From the text to the HTML of a tool's view: an eager forward pass, and the view."""

    def run(explorer, text):
        loaded = explorer.model.loaded
        encoded = loaded.tokenizer(text, return_tensors="pt")
        before = loaded.model.config._attn_implementation
        loaded.model.set_attn_implementation("eager")
        try:
            with torch.no_grad():
                out = loaded.model(**encoded, output_attentions=True, use_cache=False)
        finally:
            loaded.model.set_attn_implementation(before)
        attention = [layer[0].float().numpy() for layer in out.attentions]
        tool(attention, loaded.tokenizer.convert_ids_to_tokens(encoded["input_ids"][0]))

    return run


PAINTED = """() => { window.began = window.painted = null;
    const text = document.querySelector('[name=text]');
    text.addEventListener('input', () => { window.began = performance.now(); }, { once: true });
    document.querySelector('.explore__answer').addEventListener('figureshown', ({ target }) => {
        if (target.id !== 'fig-1') return;
        window.painted ??= performance.now() - window.began; }, true); }"""


def painted(page, text):
    """Seconds from a key to the painted map, without the pause."""
    page.evaluate(PAINTED)
    page.fill("[name=text]", text)
    while not page.evaluate("window.painted"):
        page.wait_for_timeout(20)
    return page.evaluate("window.painted") / 1000 - PAUSE


LOADING = "import sys; from report.notebook import load; load(sys.argv[1])"


def loading(model):
    """Seconds from the start of Python to a loaded model."""
    began = time.perf_counter()
    command = [sys.executable, "-c", LOADING, model]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return time.perf_counter() - began


def first_picture(model, page):
    """Seconds from the start of `explore` to its first picture."""
    command = [sys.executable, "-m", "report", "explore", model]
    began = time.perf_counter()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, **pipes) as running:  # noqa: S603
        try:
            page.goto(next(line.strip() for line in running.stdout if line.startswith("http")))
            page.locator("#fig-1.live-figure--live").wait_for(timeout=120_000)
            return time.perf_counter() - began
        finally:
            running.send_signal(signal.SIGINT)


def before_it(checkout, model, texts):
    """Seconds from a text to the chart of a head, of each text, in an older version's notebook."""
    command = [Path(checkout) / ".venv/bin/python", "-c", OLD, model, WORDS, *texts]
    pipes = {"stdout": subprocess.PIPE, "text": True, "check": True}
    with tempfile.TemporaryDirectory() as elsewhere:  # no publication's files
        printed = subprocess.run(command, cwd=elsewhere, **pipes).stdout  # noqa: S603
    took = [line.split()[1] for line in printed.splitlines() if line.startswith("took")]
    return [float(each) for each in took[1:]]


def seconds(run, *given):
    began = time.perf_counter()
    run(*given)
    return time.perf_counter() - began


def rounds(explorer, page, tokens, before):
    """Row of the table -> seconds of each round; before: (tokens, the same) of a shorter text."""
    text, (fewer, shorter) = text_of(explorer, tokens), before
    ways = {
        "plain forward pass": plain,
        "measuring, as a notebook does": measured,
        "an answer of explore: passage and map": first_part,
        "an answer of explore, whole": answered,
    }
    ways |= {
        name: peer(TOOLS[tool]) for name, (package, tool) in PEERS.items() if find_spec(package)
    }
    found = {name: [] for name in [*ways, "from a key to the painted map", "the next head"]}
    last = {name: min(shorter.get(name) or [0]) * (tokens / fewer) ** 2 for name in PEERS}
    for number in range(ROUNDS + 1):  # the first warms up
        said = f"{text} {number}"
        for name, run in ways.items():
            if name in PEERS and (last[name] > LIMIT or sum(found[name]) > PATIENCE):
                continue
            found[name].append(seconds(run, explorer, f"{said} {len(name)}"))
        found["from a key to the painted map"].append(painted(page, f"{said}!"))
        answer = answered(explorer, said)
        found["the next head"].append(seconds(next_head, answer, number))
    return {name: values[1:] or values for name, values in found.items()}


def spin():
    while True:
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model", nargs="?", default="smollm2-135m")
    parser.add_argument("--tokens", type=int, nargs="+", default=[50, 180, 500])
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--before", type=Path)
    chosen = parser.parse_args()
    beside = [multiprocessing.Process(target=spin, daemon=True) for _ in range(chosen.busy)]
    for process in beside:
        process.start()
    starts, loads = [], []
    with browsers.chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        for _ in range(STARTS):
            loads.append(loading(chosen.model))
            starts.append(first_picture(chosen.model, page))
        explorer = Explorer(load(chosen.model), None)
        with server.page_of(explorer, 0) as (serving, address):
            threading.Thread(target=serving.serve_forever, daemon=True).start()
            page.goto(f"{address}?text={quote(WORDS)}")
            page.locator("#fig-1.live-figure--live").wait_for(timeout=120_000)
            tables, before = {}, (1, {})
            for tokens in chosen.tokens:
                tables[tokens] = rounds(explorer, page, tokens, before)
                before = tokens, tables[tokens]
            serving.shutdown()
            texts = [text_of(explorer, tokens) for tokens in chosen.tokens]
    if chosen.before:
        old = before_it(chosen.before, chosen.model, texts)
        for table, took in zip(tables.values(), old, strict=True):
            table["an older notebook, from a text to a chart"] = [took]
    for process in beside:
        process.kill()
    names = [*tables[chosen.tokens[0]]]
    print("| seconds: fastest (median) |", " | ".join(f"{n} tokens" for n in tables), "|")
    print("| --- |", " ---: |" * len(tables))
    for name in names:
        cells = [
            f"{min(found):.2f} ({statistics.median(found):.2f})" if found else "not run"
            for found in (table[name] for table in tables.values())
        ]
        print(f"| {name} |", " | ".join(cells), "|")
    if chosen.model == "smollm2-135m":
        goals = [f"{BUDGETS[n]:.1f}" if n in BUDGETS else "" for n in tables]
        print("| goal, from a key to the painted map |", " | ".join(goals), "|")
    more = [start - load_ for start, load_ in zip(starts, loads, strict=True)]
    told = [", ".join(f"{each:.1f}" for each in values) for values in (starts, loads, more)]
    print("\nFrom the start to the first picture: {} s; to a loaded model: {} s.".format(*told))
    print(f"The picture takes {told[2]} s more (goal: 1.5).")


if __name__ == "__main__":
    main()
