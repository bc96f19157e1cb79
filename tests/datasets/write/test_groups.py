"""Which heads are written as queries and keys."""

import re

import pytest

from report.datasets.write import attention
from report.datasets.write.attention import attention_datasets
from tests import factored
from tests.commands import ROOT


@pytest.mark.parametrize("family", ["falcon"])
def test_heads_without_a_rotation_are_written_by_their_cells_until_these_are_many(
    family, monkeypatch
):
    measurement = factored.measured(family)
    assert attention.groups(measurement, 0) is None
    ((shard, _),) = attention_datasets(measurement, 0, 0)
    assert shard["schema"] == "attention/3"
    monkeypatch.setattr(attention, "LONG", 1000)
    (shard, _), (of_keys, _) = attention_datasets(measurement, 0, 0)
    assert (shard["schema"], of_keys["schema"]) == ("attention/4", "keys/1")
    assert of_keys["frequencies"] == []


def test_rotary_heads_are_written_as_queries_and_keys_where_these_are_fewer(monkeypatch):
    measurement = factored.measured("llama")
    components = measurement.factors[0].query.shape[2]
    fewer = attention.shorter(
        factored.LENGTH * (factored.LENGTH + 1) // 2, factored.LENGTH, components
    )
    assert (attention.groups(measurement, 0) is not None) == fewer
    assert not attention.shorter(10, 10, 2)


def test_a_browser_works_out_as_many_cells_at_once_as_are_written_by_their_cells():
    script = (ROOT / "report" / "web" / "data" / "raster.js").read_text("utf-8")
    assert int(re.search(r"map\.ahead \? [\d_]+ : ([\d_]+)\);", script)[1]) == attention.LONG
