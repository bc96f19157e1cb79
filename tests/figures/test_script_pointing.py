"""What a pointer is told, wherever it is in a figure."""

import pytest

from tests.figures.live_page import PAGES, TOOLTIP, called, given, go_live, painted

pytestmark = pytest.mark.browser

MOST = 25
"""Items of one mark that are pointed at."""

AT_MARKS = """async ([number, dark, most]) => {
    document.body.dataset.mdColorScheme = dark ? 'slate' : 'default';
    const { figures } = await import('/assets/figure/figure.js');
    const element = document.getElementById(`fig-${number}`);
    element.scrollIntoView({ block: 'center', behavior: 'instant' });
    await new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
    const itemsOf = (group, x = 0, y = 0) => (group.items ?? []).flatMap((mark) => {
        const within = (item) => itemsOf(item, x + (item.x ?? 0), y + (item.y ?? 0));
        if (mark.marktype === 'group') return mark.items.flatMap(within);
        const stands = (item) => item.tooltip || (mark.marktype === 'symbol' && item.opacity !== 0);
        if (mark.role !== 'mark') return [];
        const found = mark.items.filter(stands);
        const every = Math.ceil(found.length / most);
        return found.filter((_, n) => n % every === 0).map(({ bounds: { x1, x2, y1, y2 } }) =>
            [mark.name, x + (x1 + x2) / 2, y + (y1 + y2) / 2]);
    });
    const markersOf = ({ shown, view }) => {
        const [x, y] = [view.scale('x'), view.scale('y')];
        const { size } = shown.map;
        return shown.markers({ top: 0, left: 0, rows: size, columns: size }).slice(0, most).map(
            ({ target_token: j, current_token: i }) => ['marker', x(j + 0.5), y(i + 0.5)]);
    };
    const middle = (scale, at) => scale(at) + (scale.bandwidth?.() ?? 0) / 2;
    const stopsOf = ({ shown: { points }, view }) => {
        const [x, y] = [view.scale('x'), view.scale('y')];
        const upTo = (count) => Array.from({ length: count }, (_, n) => n);
        const high = view.height() / 2;
        if (points.positions) return upTo(points.positions).map((n) => ['', x(n), high]);
        return upTo(points.layers).flatMap((layer) => upTo(points.heads).map(
            (head) => ['', middle(x, head), middle(y, layer)]));
    };
    const seen = figures.get(element).charts.filter(({ element }) => element.clientWidth);
    return seen.map((chart) => {
        const { shown, view } = chart;
        const canvas = chart.canvasBox.querySelector('canvas');
        const [box, [left, top]] = [canvas.getBoundingClientRect(), view.origin()];
        const padding = view.padding();
        const to = (clientX, clientY) => canvas.dispatchEvent(new PointerEvent(
            'pointermove', { clientX, clientY, bubbles: true, pointerType: 'mouse' }));
        const marks = shown.map ? markersOf(chart) : shown.points ? stopsOf(chart)
            : view.scenegraph().root.items.flatMap((group) => itemsOf(group));
        const silent = marks.filter(([, x, y]) => {
            to(1, 1);
            to(box.x + padding.left + left + x, box.y + padding.top + top + y);
            return !document.querySelector('#vg-tooltip-element.visible');
        });
        to(1, 1);
        return [marks.length, silent]; }); }"""
"""Points at the middle of the marks of each panel of a figure that stand for something: those with
a tooltip, points, markers of a map, cells of a map of heads, positions. Returns of each panel how
many these are, and those that bring no tooltip."""


@pytest.mark.parametrize("of", PAGES)
def test_a_tooltip_comes_at_the_middle_of_every_mark(page, request, of):
    page.goto(request.getfixturevalue(of))
    for number, name in enumerate(PAGES[of][1], 1):
        go_live(page, number)
        for dark in (False, True):
            painted(page)
            panels = called(page, AT_MARKS, [number, dark, MOST])
            assert panels, name
            for panel, (count, silent) in enumerate(panels):
                assert not silent, (name, panel, dark)
                assert count > 0, (name, panel)


PLOT = """(() => { const { figures } = window.told; const [chart] = [...figures.values()][0].charts;
    const box = chart.canvasBox.querySelector('canvas').getBoundingClientRect();
    const [x, y] = chart.view.origin();
    return [box.x + chart.view.padding().left + x, box.y + chart.view.padding().top + y,
        chart.view.width(), chart.view.height()]; })()"""
"""Where the plot of figure 1 is in the window: left, top, width, height."""


@pytest.fixture(params=["page", "phone"])
def mapped(request, address):
    """A page with the attention map in the middle of its window, on a desk and on a phone."""
    page = request.getfixturevalue(request.param)
    page.goto(address)
    go_live(page, 1)
    page.evaluate("import('/assets/figure/figure.js').then((module) => (window.told = module))")
    page.evaluate("document.querySelector('#fig-1 canvas').scrollIntoView({ block: 'center' })")
    painted(page)
    return page


def at_cell(page, size, current, target):
    """The tooltip of a cell of the map that is pointed at by its middle."""
    left, top, width, height = page.evaluate(PLOT)
    page.mouse.move(left + (target + 0.5) * width / size, top + (current + 0.5) * height / size)
    return page.evaluate(TOOLTIP)


def test_what_a_cell_tells_begins_with_a_sentence_and_hides_no_cell(mapped, data):
    size, truth = data.length, data.attention(1, 0).probability
    for current, target in ((size - 1, 0), (size - 1, size - 2), (size // 2, size // 3), (1, 1)):
        told = at_cell(mapped, size, current, target)
        assert next(iter(told)) == "title"
        assert given(told) == (pytest.approx(truth[current, target], abs=1e-3), current - target)
        _, top, _, height = mapped.evaluate(PLOT)
        tip = mapped.locator("#vg-tooltip-element").bounding_box()
        assert tip["y"] >= top + height or tip["y"] + tip["height"] <= top
        assert tip["x"] >= 0
        assert tip["x"] + tip["width"] <= mapped.viewport_size["width"]
