"""Article 2 in a browser: every panel of A to E draws, and its numbers are those of the models.

The models have the settings of the study's three, with random weights; only their first layers are
measured. What is expected is computed here from plain transformers, with eager attention and plain
loops; nothing of report is used but the text of the prompts, and what rounding explains.
"""

import re
import shutil
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoTokenizer

from report.inputs.prompts import prompts
from report.measurements.precision import summed_by, tolerance
from tests import tabs
from tests.commands import ARTICLES, ROOT, ask_less, copy_project, report
from tests.figures.live_page import TOOLTIP, go_live, until
from tests.figures.test_script_grids import drawn, point_at
from tests.serving import served
from tests.site import tiny_models
from tests.site.filler_checkpoints import REAL, checkpoint
from tests.unpainted import unpainted

pytestmark = pytest.mark.browser

ADDRESS = "articles/filler-tokens/"
LAYERS = 3
FIGURES = {
    "filler_effect": 3,
    "filler_lines": 6,
    "filler_lines_2": 6,
    "filler_kinds": 3,
    "filler_against": 3,
    "filler_layers": 3,
}
"""Figures of the article in order -> their panels."""
TOKENIZERS = dict(zip(REAL, ("llama", "qwen2", "llama"), strict=True))
"""Of `tiny_models`: with and without a token that begins every text; all cut texts at line ends."""


class Eager:
    """A model's attention over all prompts, as plain transformers computes it."""

    def __init__(self, folder, questions):
        """questions: the file of the prompts"""
        made = AutoModelForCausalLM
        if (folder / "config.json").read_text().find("vision_config") >= 0:
            made = AutoModelForImageTextToText
        self.model = made.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        read = prompts(questions)
        asked = [f"Question: {question}\nAnswer:" for question in read.questions]
        self.plain = [self.attention(f"{read.system}\n{each}") for each in asked]
        slashes = "/" * 55
        self.filled = [self.attention(f"{read.system}\n{slashes}\n{each}") for each in asked]

    @torch.no_grad()
    def attention(self, text):
        """(token ids, float32 [layer, head, query, key]) of the first layers."""
        ids = self.tokenizer(text)["input_ids"]
        found = self.model.eval()(torch.tensor([ids]), output_attentions=True).attentions
        return ids, np.stack([layer[0].numpy() for layer in found[:LAYERS]])

    @cached_property
    def rounding(self):
        """What rounding may change in a probability, relatively: that of a score, whose size is
        at most that of the differences within a row."""
        read = [pattern for _, pattern in (*self.plain, *self.filled)]
        size = max(float(np.log(pattern[pattern > 0]).min()) * -1 for pattern in read)
        longest = max(pattern.shape[-1] for pattern in read)
        return tolerance(summed_by([self.model], longest), max(1.0, size))

    def near(self, expected, kept):
        """A number or two that are shown as `expected`, but for the digits kept and rounding."""
        return pytest.approx(expected, rel=0, abs=kept + self.rounding * float(np.max(expected)))

    @property
    def span(self):
        """Where the slashes and the end of their line are."""
        (plain, _), (filled, _) = self.plain[0], self.filled[0]
        start = next(
            n for n, pair in enumerate(zip(plain, filled, strict=False)) if len(set(pair)) > 1
        )
        return range(start, start + len(filled) - len(plain))

    def weight(self, filled, layer, head, position):
        """Average attention weight of a position, mean over prompts of the
        mean over those that see it, which a window may hide it from."""
        means = []
        for _, probability in self.filled if filled else self.plain:
            pattern = probability[layer, head]
            if position < len(pattern):
                column = pattern[position:, position]
                means.append(column[column > 0].mean())
        return np.mean(means), np.std(means, ddof=1) / len(means) ** 0.5

    def effect(self, layer, head):
        """What the slashes take, and the total variation of the rest: means over prompts."""
        taken, moved, span = [], [], self.span
        for (_, plain), (_, filled) in zip(self.plain, self.filled, strict=True):
            old, new = plain[layer, head], filled[layer, head]
            kept = [n for n in range(len(new)) if n not in span]
            rows = range(span.stop, len(new))
            share = [new[row, list(span)].sum() for row in rows]
            differences = [
                np.abs(new[row, kept] / new[row, kept].sum() - old[row - len(span)]).sum() / 2
                for row in rows
            ]
            taken.append(np.mean(share))
            moved.append(np.mean(differences))
        return np.mean(taken), np.mean(moved)


@dataclass(frozen=True)
class Publication:
    address: str
    models: list
    """`Eager`, in the order of the front matter."""


@pytest.fixture(scope="module")
def publication(tmp_path_factory):
    """The site of article 2 alone, built by one command with models given by their folders."""
    folder = tmp_path_factory.mktemp("filler tokens")
    project = copy_project(folder / "project", articles=False)
    articles = project / "templates" / "articles"
    articles.mkdir(parents=True)
    shutil.copy(ROOT / "templates" / "articles" / "references.bib", articles)
    shutil.copy(ARTICLES / "filler-tokens.md.j2", articles)
    models = [
        checkpoint(name, folder / name.split("/")[1], tiny_models.tokenizer(kind))
        for name, kind in TOKENIZERS.items()
    ]
    questions = ask_less(project)
    options = [word for model in models for word in ("--models", model)]
    with served(project / "site") as address:
        with unpainted():
            done = report(
                "site",
                *("--project", project, "--study", "filler-tokens", "--layers", f"0-{LAYERS - 1}"),
                *options,
                SITE_URL=address,
            )
        assert done.returncode == 0, done.stderr
        yield Publication(address, [Eager(model, questions) for model in models])


@pytest.fixture
def visit(browser, publication, shared_tabs):
    """A function that opens the article; no console may complain, no other host be asked."""
    with tabs.visits(browser, publication.address, shared_tabs) as visit:
        yield partial(visit, ADDRESS)


def figure(name):
    return list(FIGURES).index(name) + 1


def value(shown):
    """(mean, standard error) of a tooltip's "0.01234 ± 0.00012"."""
    return tuple(float(part) for part in shown.split(" ± "))


def test_every_panel_of_a_to_e_draws_with_its_titles(visit):
    page = visit()
    found = page.locator("figure.live-figure")
    assert [each.get_attribute("data-figure") for each in found.all()] == list(FIGURES)
    for number, (name, panels) in enumerate(FIGURES.items(), 1):
        go_live(page, number)
        pixels = drawn(page, number)
        assert len(pixels) == panels, name
        assert min(sum(each.values()) for each in pixels) > 500, name
    titles = {
        name: page.locator(f"#fig-{figure(name)} .live-figure__title").all_inner_texts()
        for name in FIGURES
    }
    llama, qwen, gemma = (name.split("/")[1] for name in REAL)
    assert titles["filler_lines"] == [f"{llama} L0H{head}" for head in (19, 24, 25)] * 2
    assert titles["filler_lines_2"] == [f"{qwen} L0H{head}" for head in (0, 1, 7)] * 2
    assert titles["filler_against"] == [
        f"{qwen} L0H0",
        f"{llama} L0H26",
        f"{gemma} L0H7",
    ]
    assert titles["filler_layers"] == [f"{qwen} L{layer}H21" for layer in range(3)]
    assert titles["filler_effect"][0] == f"{llama}, all heads"
    assert titles["filler_kinds"] == [llama, qwen, gemma]


POINTS = {
    ("filler_lines", 1, "w/o Meaningless tokens"): (0, False, 0, 24, 2, 0),
    ("filler_lines", 1, "w/ Meaningless tokens"): (0, True, 0, 24, 2, 1),  # with them cut out
    ("filler_lines_2", 5, "w/ Meaningless tokens"): (1, True, 0, 7, 1, 0),  # within them
    ("filler_against", 0, "Meaningless tokens"): (1, True, 0, 0, 5, 0),
    ("filler_against", 2, "Meaningless tokens"): (2, True, 0, 7, 5, 0),
    ("filler_layers", 1, "None"): (1, False, 1, 21, 4, 0),
    ("filler_layers", 2, "Mless"): (1, True, 2, 21, 4, 1),
}
"""Figure, panel and line -> number of the model, whether with the filler, layer, head, tokens from
where the filler begins, and how many times its length further on."""


def test_lines_are_the_models(visit, publication):
    """Panels A to D."""
    page = visit()
    for (name, panel, label), (number, filled, layer, head, after, times) in POINTS.items():
        model = publication.models[number]
        position = model.span.start + after
        shown = point_at(page, figure(name), panel, position)
        expected = model.weight(filled, layer, head, position + times * len(model.span))
        assert value(shown[label]) == model.near(expected, 3e-5), (name, panel, label)
        if name in ("filler_lines_2", "filler_against"):
            assert shown["in the filler"] == "yes"
    assert shown["None"] != shown["Mless"]


def test_the_heat_map_says_what_is_taken_and_moved_and_a_cell_opens_its_panels(visit, publication):
    """Panel E, of every model."""
    page, number = visit(), figure("filler_effect")
    go_live(page, number)
    title = f"document.querySelector('#fig-{number} .live-figure__title').textContent"
    for model, eager in enumerate(publication.models):
        name = list(REAL)[model].split("/")[1]
        page.locator(f"#fig-{number} label", has_text=name).first.locator("input").check(force=True)
        until(page, f"{title} === '{name}, all heads'")
        page.wait_for_load_state("networkidle")
        page.locator(f"#fig-{number} .live-figure__chart").first.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
        shown = page.evaluate(TOOLTIP)
        layer, head = map(int, shown["title"].removeprefix("L").split("H"))
        taken, moved = eager.effect(layer, head)
        assert value(shown["share of the filler"])[0] == eager.near(taken, 1e-4)
        assert value(shown["shift among the rest"])[0] == eager.near(moved, 1e-4)
        page.keyboard.press("Enter")
        until(page, f"location.hash.includes(',layer={layer},head={head},')")
        page.wait_for_load_state("networkidle")
        position = eager.span.start + 1
        opened = point_at(page, number, 2, position)
        expected = eager.weight(True, layer, head, position)
        assert value(opened["w/ Meaningless tokens"]) == eager.near(expected, 3e-5)


def test_quoted_shares_are_those_of_the_models(visit, publication):
    text = visit().inner_text("article")
    for model, eager in enumerate(publication.models):
        heads = eager.plain[0][1].shape[1]
        for layer in (0, LAYERS - 1):
            taken = np.mean([eager.effect(layer, head)[0] for head in range(heads)])
            row = next(line for line in text.split("\n") if re.match(rf"{layer}\s", line))
            said = re.findall(r"([\d.]+)\s±", row)[model]
            digits = len(said.partition(".")[2])
            assert float(said) == eager.near(100 * taken, 0.5 * 10**-digits)
