"""All that is written in the live figures of a page, where it is, and what lies on what."""

import itertools

SLACK = 2
"""Pixels: a box has the room of accents and descenders above and below its letters."""

GAP = 3
"""Pixels from one text of a chart to the next in its line, at least: less reads as one word."""

OF_THE_PAGE = {"links", "caption", "controls"}
"""Kinds of text around a chart."""

SQUARES = """const squares = ({ left, right, top, bottom }, angle, high) => {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    if (Math.abs(sin) < 0.01) return [[left, top, right, bottom]];
    const along = Math.abs(cos) > 0.5
        ? (right - left - high * Math.abs(sin)) / Math.abs(cos)
        : (bottom - top - high * Math.abs(cos)) / Math.abs(sin);
    const many = Math.max(1, Math.ceil(along / high));
    return [...Array(many).keys()].map((n) => {
        const far = (n + 0.5) * along / many - along / 2;
        const [x, y] = [(left + right) / 2 + far * cos, (top + bottom) / 2 + far * sin];
        return [x - high / 2, y - high / 2, x + high / 2, y + high / 2];
    });
};
"""
"""The box of a text; of a turned one, whose box is mostly empty, squares as high as its letters."""

IN_PICTURE = f"""() => {{
    {SQUARES}
    const svg = document.querySelector('svg');
    const {{left, top, right, bottom}} = svg.getBoundingClientRect();
    return [...svg.querySelectorAll('text')].filter(each => each.textContent.trim()
            && Number(getComputedStyle(each).opacity) > 0).map(each => {{
        const named = each.closest('[class*=role-]').getAttribute('class');
        const {{a, b}} = each.getScreenCTM(), high = parseFloat(getComputedStyle(each).fontSize);
        const boxes = squares(each.getBoundingClientRect(), Math.atan2(b, a), high);
        return {{figure: 'picture', said: each.textContent, boxes, room: [left, top, right, bottom],
            kind: named.match(/role-([\\w-]+)/)[1]}};
    }});
}}"""
"""Every text of a still picture, as of `WRITTEN`."""

WRITTEN = SQUARES.join(
    [
        """async () => {
    const start = document.querySelector('script[src$="page/start.js"]').src;
    const { figures } = await import(new URL('../figure/figure.js', start));
    const texts = [];
    """,
        """
    const ofPage = (element, add) => {
        const walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) {
            const { data, parentElement: parent } = walk.currentNode;
            const folded = parent.closest('details:not([open])') && !parent.closest('summary');
            const unseen = folded || parent.closest('.live-figure__live, .live-figure__picture');
            const how = { opacityProperty: true, visibilityProperty: true };
            if (!data.trim() || unseen || !parent.checkVisibility(how)) continue;
            const kind = parent.closest('.live-figure__links') ? 'links'
                : parent.closest('figcaption') ? 'caption' : 'controls';
            const range = document.createRange();
            range.selectNodeContents(walk.currentNode);
            for (const { left, top, right, bottom } of range.getClientRects())
                if (right > left) add(data.trim(), kind, [[left, top, right, bottom]]);
        }
    };

    const ofChart = (view, canvas, add) => {
        const into = (mark, x, y) => {
            for (const item of mark.items) {
                if (item.opacity === 0) continue;
                if (mark.marktype === 'group') {
                    for (const each of item.items) into(each, x + (item.x ?? 0), y + (item.y ?? 0));
                } else if (mark.marktype === 'text') {
                    const said = [item.text ?? ''].flat().join(' ').trim();
                    if (!said || item.fillOpacity === 0 || item.fill === 'transparent') continue;
                    const { x1, y1, x2, y2 } = item.bounds;
                    const box = { left: x + x1, right: x + x2, top: y + y1, bottom: y + y2 };
                    const angle = (item.angle ?? 0) * Math.PI / 180;
                    add(said, mark.role, squares(box, angle, item.fontSize ?? 11));
                }
            }
        };
        const { left, top } = canvas.getBoundingClientRect(), [right, down] = view.origin();
        into(view.scenegraph().root, left + right, top + down);
    };

    for (const [element, { charts }] of figures) {
        const figure = `${element.id} ${element.dataset.figure}`;
        const add = (room) => (said, kind, boxes) =>
            texts.push({ figure, said, kind, boxes, room });
        ofPage(element, add([0, -Infinity, innerWidth, Infinity]));
        for (const { view, canvasBox } of charts) {
            if (!view || !canvasBox.checkVisibility({ visibilityProperty: true })) continue;
            const canvas = canvasBox.querySelector('canvas');
            const { left, top, right, bottom } = canvas.getBoundingClientRect();
            ofChart(view, canvas, add([left, top, right, bottom]));
        }
    }
    return texts; }""",
    ]
)
"""Every text of a page's live figures, of the page and of the charts: the figure, what it says, its
kind, its boxes and the box that it may not leave, each [left, top, right, bottom]. Labels that Vega
has hidden, as they would overlap, are none."""


def unreadable(texts, slack=SLACK):
    """What cannot be read of the texts of `WRITTEN`: list of (figure, why, text, ...)."""
    found = []
    for _, each in itertools.groupby(texts, lambda text: text["figure"]):
        of_figure = list(each)
        found += [found for text in of_figure for found in _cut(text, slack)]
        for one, other in itertools.combinations(of_figure, 2):
            found += _together(one, other, slack)
    return found


def _cut(text, slack):
    room = text["room"]
    for left, top, right, bottom in text["boxes"]:
        over = max(room[0] - left, room[1] - top, right - room[2], bottom - room[3])
        if over > slack:
            yield text["figure"], "leaves its box", text["said"], round(over, 1)


def _together(one, other, slack):
    kinds = {one["kind"], other["kind"]}
    if one["said"] == other["said"] and one["boxes"] == other["boxes"]:
        return  # a text and its ground
    in_line = not kinds & OF_THE_PAGE and len(one["boxes"]) == len(other["boxes"]) == 1
    for a, b in itertools.product(one["boxes"], other["boxes"]):
        across = min(a[2], b[2]) - max(a[0], b[0])
        down = min(a[3], b[3]) - max(a[1], b[1])
        if down > slack and (
            kinds == {"links", "caption"} or across > (-GAP if in_line else slack)
        ):
            yield one["figure"], "are not apart", one["said"], other["said"], across, down
            return
