"""The benchmark of workers: its sums and its estimate; the runs themselves take a cluster."""

import pytest

from report.measuring.cluster.summary import Share, Summary
from tests.benchmarks import modules


@pytest.fixture
def scale():
    with modules("scale") as (scale,):
        yield scale


def share(**changes):
    usual = {"host": "here", "pid": 1, "device": "cpu", "texts": 20}
    return Share(**usual | {"forward": 9.0, "there": 12.0, "load": 2.0} | changes)


def test_efficiency_is_speed_over_that_of_one_worker_times_their_number(scale):
    one = scale.Run(20, 10.0, [share()], 0.05, 15.0)
    two = scale.Run(30, 10.0, [share(), share(there=13.0)], 0.1, 15.0)
    lines = scale.efficiency_table({1: one, 2: two}).split("\n")
    assert lines[2] == "| 1 | 2.00 | 1.00 x | 100% | 9.0 s | 1.0 s | 10.0 ms |"
    assert lines[3] == "| 2 | 3.00 | 1.50 x | 75% | 18.0 s | 3.0 s | 10.0 ms |"


def test_what_a_driver_does_is_measured(scale):
    parts = scale.driver_parts(repeats=2)
    assert 1000 < parts.sent < 5000
    assert parts.back > 4 * 8 * 32 * 32  # four tables of 64-bit numbers
    assert parts.kept > 0
    assert parts.driver > 0
    assert parts.reading > 0
    assert "| sums of a batch, back |" in scale.parts_table(parts)


def test_the_estimate_follows_from_its_numbers(scale):
    parts = scale.Parts(sent=2000, back=40_000, kept=30_000, driver=0.01, reading=1e-5)
    said = scale.estimate("float32", 67e12, parts)
    assert "2 x 8e9 x 512 = 8.2e+12 operations, 306 ms at 40% of 67 Tflop/s" in said
    assert "100,000 texts: 8.5 GPU hours, 63.7 min on 8 GPUs, after 32 s to read 16 GB" in said
    assert "200 MB go out, 63 MB come back, 47 MB lie on disk" in said
    assert "works for 18 s of it" in said
    assert "keeps up with about 1,734 GPUs; beyond 955 GPUs loading" in said


def test_a_summary_tells_where_time_went():
    shares = [share(tokens=900), share(tokens=300, lost=True, device="")]
    lines = Summary(shares, seconds=12.0, merging=0.25, again=1).lines
    assert [len(line) for line in lines[:3]] == [len(lines[0])] * 3
    assert "here, process 1        cpu" in lines[1]
    assert "   100  2.0 s    9.0 s    1.0 s" in lines[1]
    assert "here, process 1, lost  -  " in lines[2]
    assert lines[3] == (
        "40 texts and 1,200 tokens in 12.0 s: 100 tokens/s together; adding up and keeping took "
        "0.2 s; 1 tried again."
    )
