"""What a reader waits for and fetches, measured in headless Chromium; see pages.py."""

import statistics
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # a program's own folder is all that is there

from tests import browsers

LINE = {"latency": 40, "downloadThroughput": 10e6 / 8, "uploadThroughput": 10e6 / 8}
"""10 Mbit/s and 40 ms."""

WINDOW = {"width": 1280, "height": 800}
LOW = {"width": 1280, "height": 400}
"""Shows so little of figure 1 that its chart waits for an act of the reader."""

REST = 1500
"""Milliseconds for what a theme does when it has nothing else to do."""

TURN = 150
"""Milliseconds between two turns of the wheel."""

WATCH = """
window.seen = {shift: 0, shifted: [], tasks: [], drawn: 0, live: null};
new PerformanceObserver(list => { for (const entry of list.getEntries())
    if (!entry.hadRecentInput) {
        seen.shift += entry.value;
        seen.shifted.push(...entry.sources.map(({node}) => `${node?.nodeName}.${node?.className}`));
    } })
    .observe({type: 'layout-shift', buffered: true});
new PerformanceObserver(list => { for (const entry of list.getEntries())
    seen.tasks.push(entry.duration); }).observe({type: 'longtask', buffered: true});

// the picture of figure 1 is a new canvas at every step, drawn into that of the chart
const pictures = new WeakSet();
const drawImage = CanvasRenderingContext2D.prototype.drawImage;
CanvasRenderingContext2D.prototype.drawImage = function (picture, ...more) {
    drawImage.call(this, picture, ...more);
    if (!(picture instanceof HTMLCanvasElement) || pictures.has(picture)) return;
    pictures.add(picture);
    seen.drawn++;
    seen.last = performance.now();
    seen.canvas = this.canvas;
    seen.told?.();
};
// the end of the frame in which everything is drawn: one pixel is read back
const readBack = () => seen.canvas?.getContext('2d').getImageData(0, 0, 1, 1);
const frame = () => new Promise(done => requestAnimationFrame(() => { readBack();
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now());
    channel.port2.postMessage(0); }));
const drawnAfter = async count => {
    if (seen.drawn === count) await new Promise(done => { seen.told = done; });
    return frame(); };
document.addEventListener('DOMContentLoaded', () => {
    const figure = document.querySelector('#fig-1');
    if (!figure) return;
    const look = async () => {
        if (seen.live || !figure.classList.contains('live-figure--live')) return;
        seen.live = await frame();
    };
    new MutationObserver(look).observe(figure, {attributeFilter: ['class']});
});
const QUIET = 700; // ms after which no finer picture comes
window.measure = {
    frame,
    async step(values) {
        const count = seen.drawn;
        const from = performance.now();
        for (const [name, value] of Object.entries(values)) {
            const slider = document.querySelector(`#fig-1 input[name=${name}]`);
            if (slider.value === String(value)) continue;
            slider.value = value;
            slider.dispatchEvent(new Event('input', {bubbles: true}));
        }
        return await drawnAfter(count) - from;
    },
    // until the first picture is painted, and until the last is drawn, of a long passage
    async finished(values) {
        const from = performance.now();
        const first = await this.step(values);
        while (performance.now() - seen.last < QUIET)
            await new Promise(done => setTimeout(done, 50));
        return [first, Math.max(first, seen.last - from)];
    },
    async drag(values, milliseconds) {
        const slider = document.querySelector('#fig-1 input[name=head]');
        const wait = milliseconds / values.length;
        for (const value of values) {
            slider.value = value;
            slider.dispatchEvent(new Event('input', {bubbles: true}));
            if (value !== values.at(-1)) await new Promise(done => setTimeout(done, wait));
        }
        const from = performance.now();
        const last = `/${values.at(-1)}.json`;
        const link = document.querySelector('#fig-1 a[data-link-data]');
        while (!link.href.endsWith(last)) await new Promise(done => setTimeout(done));
        return await frame() - from;
    },
    hover() {
        return new Promise((done, fail) => {
            setTimeout(() => fail(new Error('no tooltip came')), 10_000);
            addEventListener('pointermove', () => {
                const from = performance.now();
                const watch = new MutationObserver(async () => {
                    watch.disconnect();
                    done(await frame() - from);
                });
                watch.observe(document.body, {childList: true, subtree: true});
            }, {capture: true, once: true});
        });
    },
};
"""


@dataclass(frozen=True)
class Read:
    """An article read to its end."""

    blocked: float
    """Total blocking time in ms: of every task, what is longer than 50 ms."""
    longest: float
    shift: float
    """Cumulative layout shift, all of it and not the worst window."""
    shifted: list
    """The elements that moved."""
    still: int
    """Figures that did not come to life."""


@contextmanager
def browser():
    """The Chromium of the tests, without a window; the program ends where it is missing."""
    with browsers.or_stopped(), browsers.chromium() as chromium:
        yield chromium


def require_browser():
    """End the program at once, not after all sites are built, where no browser is installed."""
    with browsers.or_stopped():
        browsers.path_of(browsers.CHROMIUM)


@contextmanager
def first_visit(chromium, *, line=False, slowed=1, window=WINDOW, watch=WATCH):
    """A page of a browser that has nothing cached.

    line: whether it is at the end of a `LINE`; slowed: how much slower its processor is
    """
    context = chromium.new_context(viewport=window)
    page = context.new_page()
    page.add_init_script(watch)
    devtools = context.new_cdp_session(page)
    if line:
        devtools.send("Network.enable")
        devtools.send("Network.emulateNetworkConditions", {"offline": False, **LINE})
    if slowed > 1:
        devtools.send("Emulation.setCPUThrottlingRate", {"rate": slowed})
    page.set_default_timeout(120_000)
    yield page
    context.close()


def settled(page):
    """Wait until nothing is loaded any more."""
    page.wait_for_load_state("load")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(REST)


def opened(chromium, address, counter, window=LOW):
    """kB before any scrolling, requests, and layout shift, without the chart of figure 1."""
    start = len(counter.sent)
    with first_visit(chromium, line=True, window=window) as page:
        page.goto(address)
        settled(page)
        sent = counter.sent[start:]
        return sum(size for _, _, size in sent) / 1000, len(sent), page.evaluate("seen.shift")


def opened_at_figure(chromium, address, counter, slowed=1, line=True):
    """kB and milliseconds until figure 1 is live, the page being opened there."""
    start = len(counter.sent)
    with first_visit(chromium, line=line, slowed=slowed) as page:
        page.goto(f"{address}#fig-1", wait_until="commit")
        while not page.evaluate("window.seen?.live"):
            time.sleep(0.02)
        live, origin = page.evaluate("[seen.live, performance.timeOrigin]")
        until = (origin + live) / 1000
        return sum(size for at, _, size in counter.sent[start:] if at <= until) / 1000, live


def at_figure_1(page, address):
    page.goto(f"{address}#fig-1")
    page.wait_for_selector("#fig-1.live-figure--live")
    settled(page)


def heads_in_turn(site):
    """Each head once, a step of one slider apart: as the reader of a whole model moves them."""
    there, back = range(site.heads), range(site.heads)[::-1]
    return [
        {"layer": layer, "head": head}
        for layer in range(site.layers)
        for head in (back if layer % 2 else there)
    ]


def slider_steps(chromium, address, site, number, slowed=1):
    """Milliseconds from a slider's input until painted: of a first visit to a head, and again."""
    with first_visit(chromium, slowed=slowed) as page:
        at_figure_1(page, address)
        states = heads_in_turn(site)[1 : number + 1]
        shown = page.evaluate(
            "['layer', 'head'].map(n => +document.querySelector(`#fig-1 input[name=${n}]`).value)"
        )
        states = [state for state in states if list(state.values()) != shown]
        times = []
        for _ in range(2):
            for state in states:
                times.append(page.evaluate("state => measure.step(state)", state))
                page.wait_for_timeout(40)
            page.evaluate("([layer, head]) => measure.step({layer, head})", shown)
        return times[: len(states)], times[len(states) :]


HEAD = """async ([name, values]) => {
    const figure = document.querySelector(`figure[data-figure=${name}]`);
    const slider = (param) => figure.querySelector(`input[name=${param}]`);
    const moved = Object.keys(values).filter(param => slider(param).value !== `${values[param]}`);
    if (!moved.length) return null;
    const shown = new Promise(done => figure.addEventListener('figureshown', done, {once: true}));
    const from = performance.now();
    for (const param of moved) {
        slider(param).value = values[param];
        slider(param).dispatchEvent(new Event('input', {bubbles: true}));
    }
    await shown;
    seen.canvas = figure.querySelector('canvas');
    return await measure.frame() - from; }"""


def head_steps(chromium, address, name, number, slowed=1):
    """Milliseconds from a slider's input until another head is painted, in a figure of one head
    that is called `name`: each head for the first time."""
    with first_visit(chromium, slowed=slowed) as page:
        page.goto(address)
        figure = page.locator(f"figure[data-figure={name}]")
        figure.scroll_into_view_if_needed()
        page.wait_for_selector(f"figure[data-figure={name}].live-figure--live")
        settled(page)
        last = int(figure.locator("input[name=head]").get_attribute("max"))
        times = []
        for n in range(number):
            layer, head = divmod(n, last + 1)
            state = {"layer": layer, "head": last - head if layer % 2 else head}
            times.append(page.evaluate(HEAD, [name, state]))
            page.wait_for_timeout(40)
        return [each for each in times[1:] if each is not None]


NUMBERS = """async head => {
    const rows = () => document.querySelectorAll('.head__numbers tbody tr').length;
    if (head === null) while (!rows()) await new Promise(requestAnimationFrame);
    const from = head === null ? 0 : performance.now();
    if (head !== null) {
        const changed = new Promise(done => new MutationObserver(done)
            .observe(document.querySelector('.head__numbers'), {childList: true}));
        location.hash = head;
        await changed;
    }
    return [await measure.frame() - from, performance.timeOrigin]; }"""


def head_opened(chromium, address, counter, slowed=1):
    """kB and milliseconds until the numbers of a head are painted on its page.

    address: of that page, with the head
    """
    start = len(counter.sent)
    with first_visit(chromium, line=True, slowed=slowed) as page:
        page.goto(address, wait_until="commit")
        painted, origin = page.evaluate(NUMBERS, None)
        until = (origin + painted) / 1000
        return sum(size for at, _, size in counter.sent[start:] if at <= until) / 1000, painted


def heads_after(chromium, address, heads):
    """Milliseconds until the numbers of other heads are painted on the page of one.

    heads: what follows "#" in the address of each
    """
    with first_visit(chromium) as page:
        page.goto(address)
        settled(page)
        return [page.evaluate(NUMBERS, head)[0] for head in heads]


ASK = """async text => {
    const box = document.querySelector('#fig-1 .live-figure__find');
    const from = performance.now();
    box.querySelector('input').value = text;
    box.querySelector('input').dispatchEvent(new Event('input', {bubbles: true}));
    const now = await measure.frame() - from;
    if (!box.querySelector('table tr')) throw new Error(`${text}: nothing was found`);
    return now; }"""


def questions(chromium, address, texts):
    """Milliseconds from a question to figure 1 until what was found is painted."""
    with first_visit(chromium) as page:
        at_figure_1(page, address)
        return [page.evaluate(ASK, text) for text in texts]


def finished_steps(chromium, address, site, number, slowed=1):
    """Milliseconds until the first picture of a head that was not visited is painted, and until the
    finished one is drawn: two lists."""
    with first_visit(chromium, slowed=slowed) as page:
        at_figure_1(page, address)
        shown = page.evaluate(
            "['layer', 'head'].map(n => +document.querySelector(`#fig-1 input[name=${n}]`).value)"
        )
        states = [each for each in heads_in_turn(site) if list(each.values()) != shown]
        times = [page.evaluate("state => measure.finished(state)", s) for s in states[:number]]
        return [list(of) for of in zip(*times, strict=True)]


def hovers(chromium, address, number, slowed=1):
    """Milliseconds from a pointer's move over figure 1 until its tooltip is painted."""
    with first_visit(chromium, slowed=slowed) as page:
        at_figure_1(page, address)
        page.evaluate(
            "document.querySelector('#fig-1 canvas').scrollIntoView({block: 'end', "
            "behavior: 'instant'})"
        )
        page.wait_for_timeout(300)
        box = page.locator("#fig-1 canvas").bounding_box()
        times = []
        for n in range(number):
            # over the lower left half, which every causal model fills, right of the labels and
            # above those of the other axis
            x = box["x"] + box["width"] * (0.22 + 0.25 * n / number)
            y = box["y"] + box["height"] * (0.5 + 0.27 * ((7 * n) % number) / number)
            page.evaluate("void (window.hovered = measure.hover())")
            page.mouse.move(x, y)
            times.append(page.evaluate("hovered"))
        return times[1:]


def read_whole(chromium, address, slowed=1, window=WINDOW):
    """What an article costs that is read to its end, as `Read`."""
    with first_visit(chromium, line=True, slowed=slowed, window=window) as page:
        page.goto(address)
        settled(page)
        page.mouse.move(window["width"] / 2, window["height"] / 2)
        bottom = "scrollY + innerHeight >= document.documentElement.scrollHeight - 2"
        while not page.evaluate(bottom):
            page.mouse.wheel(0, 300)
            page.wait_for_timeout(TURN * min(slowed, 2))
        page.wait_for_timeout(1000 * slowed)
        still = page.locator(".live-figure:not(.live-figure--live)").count()
        tasks, shift, shifted = page.evaluate("[seen.tasks, seen.shift, seen.shifted]")
        blocked = sum(max(0, task - 50) for task in tasks)
        return Read(blocked, max(tasks, default=0), shift, shifted, still)


def dragged(chromium, address, counter, heads):
    """(requests for heads, milliseconds after its end until the last is shown) of half a second's
    drag over `heads` values."""
    with first_visit(chromium, line=True) as page:
        at_figure_1(page, address)
        if page.input_value("#fig-1 input[name=head]") != "0":
            page.evaluate("measure.step({head: 0})")
        page.wait_for_timeout(500)
        start = len(counter.sent)
        after = page.evaluate("values => measure.drag(values, 500)", list(range(1, heads)))
        asked = [path for _, path, _ in counter.sent[start:] if "/attention/" in path]
        return len(asked), after


def worst_tenth(numbers):
    """The 90th percentile."""
    return statistics.quantiles(numbers, n=10, method="inclusive")[-1]
