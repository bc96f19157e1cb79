"""The benchmark of effects runs to its end, on a model that costs nothing."""

import pytest
import torch

from tests.benchmarks import modules


@pytest.fixture
def benchmark():
    with modules("effects") as (effects,):
        yield effects


def test_it_prints_both_tables(benchmark, capsys):
    threads = torch.get_num_threads()
    benchmark.main(["--tiny", "--rounds", "1", "--lengths", "8", "24", "--threads", str(threads)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("llama, ")
    rows = {line.split(" | ")[0].strip("| "): line for line in lines if line.startswith("|")}
    assert {benchmark.FLOOR, *benchmark.GOALS, "8", "24"} <= rows.keys()
    assert rows["by target, last token"].endswith("| <= 1.3 |")
    off = float(rows["24"].split(" | ")[-1].partition(" of ")[0])
    assert off < 1e-3


def test_heads_are_ablated_by_hooks_that_are_removed(benchmark):
    loaded = benchmark.families.loaded("gpt2")
    before = benchmark.logits_of(loaded.model, [3, 5, 7, 9])
    found = benchmark.by_hooks(loaded, [3, 5, 7, 9], [0, 2])
    assert found.keys() == {(layer, head) for layer in (0, 2) for head in range(4)}
    assert len(set(found.values())) == 8
    assert torch.equal(benchmark.logits_of(loaded.model, [3, 5, 7, 9]), before)
