"""The benchmark of measuring runs, every way of it to the end, on a model that costs nothing."""

import mmap
import sys
import time
from types import SimpleNamespace

import pytest
import torch

from report.models.measure.passage import PassageRecorder
from tests.benchmarks import modules
from tests.close import require_close


@pytest.fixture
def benchmark(monkeypatch):
    """The modules measure.py and ways.py, with one tiny shape of model."""
    with modules("ways", "measure") as (ways, measure):
        monkeypatch.setattr(ways, "SHAPES", {"tiny": lambda: ways.falcon(64, 2)})
        monkeypatch.setattr(measure, "SHAPES", ways.SHAPES)
        yield measure


def test_every_way_runs_every_layer(benchmark):
    found = benchmark.runners("tiny")
    names = {name for name in benchmark.WAYS if benchmark.available(name)}
    assert found.keys() == names >= {benchmark.FLOOR, "everything", benchmark.EAGER}
    results = {way: run(list(range(1, 13))) for way, run in found.items()}
    assert len(results[benchmark.EAGER].attentions) == 2
    everything, fewer = results["everything"], results["everything but updates"]
    assert isinstance(everything, PassageRecorder)
    assert everything.layers_with_updates == 2
    assert not fewer.updates_found
    for recorder in (everything, fewer):
        assert all(factors is not None for factors in recorder.factors)
        assert (recorder.largest_targets[:, :, :, 0] >= 0).all()
    assert results["statistics only"].measurement().mean("concentration").min() > 0


def test_the_least_is_the_model_s_own_forward(benchmark):
    """It leaves out what is measured, not a part of what the model computes."""
    model = benchmark.random_model("tiny")
    found = []
    with model.base_model.ln_f.register_forward_hook(lambda *given: found.append(given[2])):
        for way in (benchmark.FLOOR, "the least: blocks and one product"):
            benchmark.WAYS[way](model)(list(range(1, 13)))
    summed = 2 * (3 * 64 + 2 + 12 + 256)  # in two layers: hidden size, head, tokens, feed-forward
    require_close(found[1], found[0], summed)


def test_ratios_are_of_the_fastest_and_of_the_rounds(benchmark):
    measured = {benchmark.FLOOR: [2.0, 4.0, 2.0], "everything": [3.0, 4.4, 5.0]}
    assert benchmark.ratio(measured, "everything") == "1.50 (1.50)"


def test_rounds_go_on_until_time_is_up(benchmark):
    ticks = iter(range(1000))
    found = {name: lambda _: None for name in (benchmark.FLOOR, "everything", benchmark.EAGER)}
    measured = benchmark.times(found, 170, 0, lambda: next(ticks))
    assert {name: len(times) for name, times in measured.items()} == {
        benchmark.FLOOR: 3,
        "everything": 3,
        benchmark.EAGER: 2,
    }


def test_the_table_has_a_row_for_every_way(benchmark, monkeypatch, capsys):
    threads = str(torch.get_num_threads())
    options = ["--lengths", "12", "20", "--seconds", "0", "--no-memory", "--threads", threads]
    monkeypatch.setattr(sys, "argv", ["measure.py", *options])
    benchmark.main()
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[0].strip("| ") for row in rows[2:]] == list(benchmark.WAYS)
    assert rows[0].startswith("| | T = 12 | T = 20 |")
    assert " s | " in rows[2]
    lens = rows[-1]
    assert benchmark.available(benchmark.TRANSFORMER_LENS) == ("not installed" not in lens)


def test_the_peak_of_memory_is_found(benchmark):
    benchmark.forget_peak()
    before = benchmark.resident("VmRSS")
    # not a tensor, which may get memory that this process has used before and kept
    with mmap.mmap(-1, 80_000_000) as memory:
        memory.write(bytes(len(memory)))
    assert benchmark.resident("VmHWM") - before > 60e6
    benchmark.forget_peak()
    assert benchmark.resident("VmHWM") - benchmark.resident("VmRSS") < 40e6


def test_a_way_that_would_not_fit_into_memory_is_left_out_and_named(benchmark, monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "fits", lambda way, *_: way != benchmark.EAGER)
    options = SimpleNamespace(lengths=[8], seconds=0, no_memory=False)
    memory = {way: {} if way == benchmark.EAGER else {"8": 3.0} for way in benchmark.WAYS}
    monkeypatch.setattr(benchmark, "peaks", lambda *_: memory)
    benchmark.print_shape("tiny", options, time.perf_counter)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    row = next(line for line in rows if line.startswith(f"| {benchmark.EAGER} "))
    # 2 layers of 32 heads, 8 x 8 numbers of 4 bytes
    assert row == f"| {benchmark.EAGER} | too large | > {2 * 32 * 64 * 4 / 1e6:.0f} |"
    assert "too large" not in next(line for line in rows if line.startswith("| everything |"))
