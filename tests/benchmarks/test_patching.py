"""The benchmark of patching runs to its end, on a model that costs nothing."""

from tests.benchmarks import modules


def test_it_prints_its_table(capsys):
    with modules("patching") as (benchmark,):
        benchmark.main(["--tiny", "--rounds", "1"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [int(row.split(" | ")[0].strip("| ")) for row in rows[1:]] == [*benchmark.CHANGED]
    assert all("passes" in row for row in rows[1:])
