"""Renderings of a table, measured, against the eager attentions of transformers itself."""

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from report.datasets.formats.token_classes import CLASSES, current_tokens, token_classes
from report.errors import ReportError
from report.inputs.tables import renderings, table
from report.models.load.load import load_model
from report.models.measure.table import measure_table
from report.models.text.cells import table_text
from tests.close import require_close
from tests.models.recording import largest_score, require_same
from tests.site import tiny_models


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_models.save("llama", tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def eager(folder):
    return AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", local_files_only=True
    ).eval()


@pytest.fixture(scope="module")
def measured(folder):
    loaded = load_model(folder)
    weather = table("seattle-weather", ["date", "temp_max", "weather"], 4)
    texts = [table_text(loaded, each) for each in renderings(weather)]
    current = [current_tokens(text.places) for text in texts]
    classes = [token_classes(text.places) for text in texts]
    done = []
    passage, shares = measure_table(
        loaded, texts, current, classes, len(CLASSES), lambda *n: done.append(n)
    )
    assert done[-1] == (4, 4)  # the first text twice: as a passage, and by classes
    return texts, passage, shares


def attentions(eager, text):
    """[layer, head, query, key] of transformers."""
    with torch.no_grad():
        found = eager(torch.tensor([text.token_ids]), output_attentions=True, use_cache=False)
    return torch.stack(found.attentions)[:, 0].double().numpy()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_shares_are_the_mean_over_tokens_of_cells_of_what_transformers_attends(
    eager, measured, number
):
    texts, passage, shares = measured
    text, found = texts[number], shares[number]
    given = attentions(eager, text)
    layers, heads = given.shape[:2]
    expected = np.zeros((layers, heads, len(CLASSES)))
    even = np.zeros(len(CLASSES))
    wanted = [i for i, place in enumerate(text.places) if place.role == "value" and place.row > 0]
    for i in wanted:
        for j in range(i + 1):
            kind = list(CLASSES).index(class_of(text.places, i, j))
            expected[..., kind] += given[:, :, i, j] / len(wanted)
            even[kind] += 1 / (i + 1) / len(wanted)
    require_same(eager, [found.probability], [expected], largest_score(passage))
    require_close(found.even, np.tile(even, (layers, 1)), len(wanted), dtype=torch.float64)
    require_same(eager, [found.probability.sum(-1)], [np.ones((layers, heads))])
    assert (found.probability[..., :6] > 0).all()


def class_of(places, i, j):
    """The class of a target, said a second way."""
    if j == 0:
        return "first_token"
    here, there = places[i], places[j]
    if there.role != "value":
        return {"header": "header", "delimiter": "delimiter", "added": "other"}[there.role]
    if there.column != here.column:
        return "other_cells"
    return "own_cell" if there.row == here.row else "same_column"


def test_the_first_text_is_measured_as_a_passage_too(eager, measured):
    texts, passage, _ = measured
    given = attentions(eager, texts[0])
    for layer, head in np.ndindex(given.shape[:2]):
        found = passage.probability(layer, head)
        require_same(eager, [found], [given[layer, head]], largest_score(passage))


def test_a_table_of_one_row_has_no_token_to_measure(folder):
    from report.inputs.tables import Cell, Table, rendering
    from report.kinds.table import measure as kind

    empty = Table("empty", ("a",), ((Cell("x"),), (Cell(""),)))
    inputs = kind.Inputs(empty, [rendering(empty, "csv")])
    said = "^table 'empty' has no cell with text below its first row; ask for more rows or other"
    with pytest.raises(ReportError, match=said):
        kind.measure(load_model(folder), inputs, print, print)
