"""What a reader does with the toolbar of a figure, and what its files should have."""

import json
from pathlib import Path

import numpy as np

from report.figures import effect_by_target
from report.figures.build import defaults
from report.figures.build.find import figure_named
from report.figures.parts import target_classes
from tests.figures.live_page import GRIDS, go_live, until

TABLE, CHART, LINK, FULL, MORE = (
    "Show the numbers as a table",
    "Show the chart",
    "Copy a link to this state",
    "Full screen",
    "Download and embed",
)


STATES = {
    "attention_map": {"layer": 2, "head": 1},
    "attention_breakdown": {"layer": 0, "head": 3, "sort_idx": 2},
    "bias_vs_position": {"layer": 1, "head": 2},
    "attending_to_itself": {"source": "passage"},
    "attending_to_first_token": {"source": "corpus"},
    "attention_concentration": {"source": "passage"},
    "filler_effect": {"layer": 2, "head": 1, "measure": "total_variation", "reduction": "last"},
    "table_attention_map": {"layer": 1, "head": 3},
    "classes_by_layer": {"target": "header", "rendering": "json"},
    "renderings_compared": {"shown": "probability"},
    "answers_by_length": {"measure": "right"},
    "habits_in_training": {"habit": "first_token"},
    "heads_at_step": {"at": 3, "habit": "first_token"},
    "habits_by_model": {"habit": "induction"},
    "effects_by_head": {"sentence": "1", "back": 1},
    "effect_by_target": {"sentence": "1", "layer": 1, "head": 2},
    "logit_lens": {"sentence": "0", "back": 1, "after": "attention"},
    "direct_and_ablation": {"sentence": "1", "ablation": "zero"},
    "what_a_head_writes": {"sentence": "0", "chosen": 2},
    "score_origins": {"sentence": "0", "chosen": 3, "rank": 1},
    "filler_kinds": {"layer": 2},
    **{name: {"reduction": "last"} for name in GRIDS[:-1]},
}
"""States worth a look, but not those of figures when the page opens."""


def open_more(page, number):
    """Show the controls of a figure that are seldom used."""
    page.click(f"#fig-{number} .live-figure__more > summary")


def state_of(name, data):
    """The state at which tests look at a figure: of those that `STATES` does not name, each control
    that there is to set is at its last value, or at its first if it was there."""
    controls = [each for each in figure_named(name).controls(data) if not each.fixed]
    return STATES.get(name) or {
        each.param: _other(each) for each in controls if not getattr(each, "look", False)
    }


def _other(control):
    least, most = getattr(control, "minimum", None), getattr(control, "maximum", None)
    first, *_, last = getattr(control, "options", (least, most))
    return first if control.value == last else last


def without_fragment(page):
    """The address of a page, whatever state of its figures stands behind it."""
    return href(page).partition("#")[0]


def href(page):
    """The address of a page now: `page.url` learns of a new fragment only later."""
    return page.evaluate("location.href")


def tool(page, number, label):
    """A button of a live figure's toolbar."""
    go_live(page, number)
    page.wait_for_selector(f"#fig-{number} .live-figure__toolbar")
    return page.locator(f"#fig-{number} .live-figure__toolbar [aria-label='{label}']")


def menu(page, number):
    """The menu of a figure, opened if it is not open."""
    if not page.locator(f"#fig-{number} .live-figure__menu").count():
        tool(page, number, MORE).click()
    return opened_menu(page, number)


def opened_menu(page, number):
    """The menu of a figure, once it is open."""
    found = page.locator(f"#fig-{number} .live-figure__menu")
    found.wait_for()
    return found


def saved(page, number, name):
    """What a figure's menu saves under a name: (name of the file, its bytes)."""
    with page.expect_download() as download:
        menu(page, number).get_by_role("button", name=name, exact=True).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


SET = """async ([id, values]) => { const figure = document.getElementById(id);
    for (const [name, value] of Object.entries(values)) {
        const radio = figure.querySelector(`[data-param="${name}"][value="${value}"]`);
        const input = radio ?? figure.querySelector(`[name="${name}"]`);
        if (radio) radio.checked = true; else input.value = value;
        input.dispatchEvent(new Event('input', { bubbles: true })); }
    (await import('/assets/reader/address.js')).settle(); }"""
"""Sets controls of a figure; the address says so at once, as it does when a reader pauses."""

SHOWS = """(async () => { const { figures } = await import('/assets/figure/figure.js');
    const { shows } = figures.get(document.getElementById('%s'));
    return Object.entries(%s).every(([name, value]) => String(shows?.[name]) === String(value));
})()"""
"""Whether a figure has drawn what its controls were set to."""


def set_to(page, number, **values):
    """Set the controls of a live figure, and wait until it shows them, and the address says so."""
    go_live(page, number)
    page.evaluate(SET, [f"fig-{number}", values])
    until(page, SHOWS % (f"fig-{number}", json.dumps(values)))
    # the figure is named too: the address before this may be another one's, with the same values
    said = [f"#fig-{number}", *(f"{name}={value}" for name, value in values.items())]
    if values:
        until(page, f"{said}.every((part) => location.hash.split(/[:,]/).includes(part))")


def tables(name, data, state):
    """What a figure draws at a state, by Python: list of (panel from 0, name, rows)."""
    figure = figure_named(name)
    count = len(figure.boxes(data))
    panels = [{"panel": n} for n in range(count)] if figure.panels else [{}]
    found = []
    for panel in panels:
        rows = figure.rows(data, **state, **panel)
        if "map" in rows:
            of_map = by_target if data.kind == "prediction" else cells
            found.append((panel.get("panel", 0), "cells", of_map(data, state, rows["markers"])))
            continue
        for dataset, each in rows.items():
            drawn = [row for row in each if draws(figure, data, row, state | panel)]
            if data.kind == "prediction":  # its rows lie in files of so many digits
                drawn = [{name: rounded(value) for name, value in row.items()} for row in drawn]
            found.append((panel.get("panel", 0), dataset, drawn))
    return found


def rounded(value):
    """A value as `defaults.dataset` publishes it."""
    return float(f"{value:.{defaults.DIGITS}g}") if isinstance(value, float) else value


def draws(figure, data, row, state):
    """Whether a figure draws a row of its datasets."""
    if figure.name in ("alignment_vs_magnitude", "magnitude_by_position") and "order" not in row:
        return row["token"] > 0
    if figure.name == "renderings_compared":
        seen = [
            target
            for target in data.targets
            if any(data.even(target, each).any() for each in data.renderings)
        ]
        return row["even"] > 0 and row["target"] == seen[state["panel"]]
    chosen = state.keys() & {"source", "target", "rendering", "at"}
    return all(row[field] == state[field] for field in chosen)


def by_target(data, state, markers):
    """Every cell of a map of a head's effects."""
    sentence = data.sentences[int(state["sentence"])]
    head = sentence.head(state["layer"], state["head"])
    kinds = {(row["current_token"], row["target_token"]): row["kind"] for row in markers}
    return [
        {
            "current_token": i,
            "current_text": sentence.tokens[i].label,
            "target_token": j,
            "target_text": sentence.tokens[j].label,
            "probability": float(head.probability[i, j]),
            "effect": float(head.effect[i, j]),
            "distance": i - j,
            "asked": effect_by_target.asked(sentence)[i],
            "marked": kinds.get((i, j), ""),
        }
        for i, j in np.argwhere(np.tri(sentence.rows, dtype=bool)).tolist()
    ]


def cells(data, state, markers):
    """Every visible cell of an attention map."""
    attention = data.attention(state["layer"], state["head"])
    kinds = {(row["current_token"], row["target_token"]): row["kind"] for row in markers}
    seen = list(target_classes.SEEN)
    terms = {name: term.matrix() for name, term in attention.terms.items()}
    return [
        {
            "current_token": i,
            "current_text": data.tokens[i].label,
            "target_token": j,
            "target_text": data.tokens[j].label,
            "probability": float(attention.probability[i, j]),
            **({"class": seen[data.classes[i, j]]} if data.kind == "table" else {}),
            "distance": i - j,
            "score": float(attention.capped[i, j]),
            **{name: float(values[i, j]) for name, values in terms.items()},
            "marked": kinds.get((i, j), ""),
        }
        for i, j in np.argwhere(attention.visible.mask()).tolist()
    ]
