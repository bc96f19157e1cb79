"""What a pointer is told, wherever it is in a figure."""

import pytest

from tests.figures.live_page import PAGES, called, go_live, painted

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
