"""Expressions of charts, evaluated as the page does and by Vega's own interpreter."""

import pytest

from tests.figures import live_page

pytestmark = pytest.mark.browser

EXPRESSIONS = (
    "1 + 2 * 3 - 4 / 8 % 3",
    "-width + +'4' + ~5",
    "width > 50 && !flag || 'no'",
    "flag ? 'yes' : width < 10 ? 'few' : 'many'",
    "[1, 'two', [width, null]]",
    "{a: width, 'b': {c: [flag]}}",
    "rows[1].name + rows[0]['name']",
    "rows.length + length(rows)",
    "clamp(1.5 * pow(width / 17, 2), 9, 150)",
    "max(1, width, 7) + min(3, 2) + floor(2.7) + sqrt(16) + round(-2.5) + abs(-1)",
    "isValid(rows[5]) ? truncate(rows[0].name, 5) : truncate(rows[1].name, 4)",
    "format(1234.5, ',.1f') + upper('a') + substring('hello', 1, 3) + replace('aa', 'a', 'b')",
    "luminance('#336699') > 0.1",
    "indexof('abc', 'c') + parseInt('12') + isNaN(0 / 0) + isFinite(1 / 0)",
    "PI + E + SQRT2 + toNumber('3')",
    "if(width > 5, 'wide', 'narrow')",
    "scale('x', 3) + bandwidth('y') + range('x')[1] + domain('x')[0]",
    "data('points').length + data('points')[0].a",
    "1 == '1' && 1 !== '1' && (6 & 3) + (6 | 3) + (6 ^ 3) + (1 << 3) + (-8 >> 1) + (-8 >>> 28)",
    "split('a-b', '-')[1] + test(regexp('^a'), 'abc') + slice('hello', -2)",
    "toString(datetime(2026, 0, 1)) == '' ? 0 : year(datetime(2026, 0, 1))",
)

BOTH = """async ([assets, specification]) => {
    const vega = await import(`${assets}vega.js`);
    const {compiledBy} = await import(`${assets}figure/expressions.js`);
    const {View, parse, expressionInterpreter: theirs} = vega;
    const drawn = async expr => {
        const parsed = parse(structuredClone(specification), {}, {ast: true});
        return new View(parsed, {renderer: 'none', expr, logLevel: 1}).runAsync(); };
    const views = [await drawn(theirs), await drawn(compiledBy(theirs))];
    const values = view => Object.fromEntries((specification.signals ?? [])
        .map(({name}) => [name, JSON.stringify(view.signal(name)) ?? 'undefined']));
    const svg = async view => (await view.toSVG()).replace(/(gradient_|clip)\\d+/g, '$1');
    return Promise.all(views.map(async view => ({signals: values(view), svg: await svg(view)})));
}"""

POINTS = [{"a": 1, "b": 9}, {"a": 4, "b": 3}]


@pytest.fixture
def compare(scripts):
    """A function from a Vega specification to what the interpreter makes of it, and the page."""
    return lambda specification: scripts.evaluate(BOTH, ["/assets/", specification])


def spec(signals=(), marks=()):
    given = [
        {"name": "flag", "value": False},
        {"name": "rows", "value": [{"name": "a long one"}, {"name": "another"}]},
    ]
    return {
        "width": 120,
        "height": 80,
        "data": [{"name": "points", "values": POINTS}],
        "scales": [
            {"name": "x", "domain": [0, 10], "range": [0, 120]},
            {"name": "y", "type": "band", "domain": [9, 3], "range": [0, 80]},
        ],
        "signals": [*given, *signals],
        "marks": list(marks),
    }


def test_expressions_have_the_values_that_vega_gives_them(compare):
    named = {f"s{n}": expression for n, expression in enumerate(EXPRESSIONS)}
    theirs, ours = compare(spec([{"name": n, "update": text} for n, text in named.items()]))
    for name, text in named.items():
        assert ours["signals"][name] == theirs["signals"][name], text
    assert ours["signals"]["s3"] == '"many"'
    assert ours["signals"]["s7"] == "4"


@pytest.mark.parametrize(
    "channels",
    [
        {
            "x": {"value": 90},
            "x2": {"signal": "9 * datum.a"},
            "y": {"value": 3},
            "y2": {"value": 1},
        },
        {"x2": {"signal": "width"}, "width": {"signal": "datum.a"}, "yc": {"value": 40}},
        {"xc": {"value": 50}, "width": {"value": 20}, "y2": {"value": 70}, "height": {"value": 5}},
    ],
)
@pytest.mark.parametrize("mark", ["rect", "rule", "symbol", "group"])
def test_marks_reach_from_end_to_end(compare, mark, channels):
    channels = channels | {"fill": {"signal": "datum.b > 5 ? 'red' : 'blue'"}}
    mark = {"type": mark, "from": {"data": "points"}, "encode": {"update": channels}}
    theirs, ours = compare(spec(marks=[mark]))
    assert ours["svg"] == theirs["svg"]
    assert "red" in ours["svg"] or mark["type"] == "rule"


SPECIFICATIONS = [
    f"{name}{panel}"
    for name in live_page.ORDER
    for panel in (("-1", "-2") if name in live_page.TWO_LOOKS else ("",))
]


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_every_figure_is_drawn_alike(compare, scripts, name):
    specification = scripts.evaluate(
        f"fetch('/figures/hand/{name}.vega.json').then(answer => answer.json())"
    )
    specification["signals"] = [
        {"name": each["name"], "value": 400} if each["name"] in ("width", "height") else each
        for each in specification["signals"]
    ]
    theirs, ours = compare(specification)
    assert ours == theirs
    assert "<path" in ours["svg"]


def test_what_runs_code_is_refused(compare, scripts):
    scripts.expected = ("expression asks for what could run code", "insecure code execution")
    evil = {"name": "evil", "update": "'' + rows.constructor.constructor"}
    safe = {"name": "safe", "update": "'' + rows.constructor"}
    _, ours = compare(spec([safe, evil]))
    assert "function" in ours["signals"]["safe"]
    assert "function" not in ours["signals"]["evil"]
