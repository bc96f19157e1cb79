"""The benchmark of pages: its tables, its texts, and its readings of a hand-made page."""

import pytest

from tests.benchmarks import modules
from tests.figures import hand_atlas, hand_made, live_page


@pytest.fixture
def benchmark():
    """The module pages.py, which has the others."""
    with modules("pages") as (pages,):
        yield pages


def test_a_table_sets_each_number_beside_its_goal(benchmark):
    short = {("a step", "ms", 25): 24.9, ("moved", "", 0): 0, ("a site", "MB", None): 30.04}
    long = {("a step", "ms", 40): 41.2, ("moved", "", 0): 0.0, ("only here", "", None): 12}
    assert benchmark.table({"T = 170": short, "T = 512": long}).split("\n") == [
        "| | T = 170 | T = 512 | goal | |",
        "| --- | ---: | ---: | --- | --- |",
        "| a step, ms | 24.9 | 41.2 | <= 25 / 40 | **missed** |",
        "| moved | 0 | 0 | <= 0 | met |",
        "| a site, MB | 30.0 |  |  |  |",
        "| only here |  | 12 |  |  |",
    ]


@pytest.mark.parametrize("length", [64, 512])
def test_a_passage_has_exactly_the_tokens_asked_for(benchmark, length):
    sites = benchmark.sites
    tokenizer = sites.tokenizer_of(sites.FALCON)
    assert len(tokenizer.encode(sites.text_of(length, tokenizer)).ids) == length


@pytest.mark.browser
def test_a_page_is_read_as_a_reader_reads_it(benchmark, tmp_path, browser, monkeypatch):
    reading, sites = benchmark.reading, benchmark.sites
    monkeypatch.setattr(reading, "REST", 100)  # this page has no theme
    monkeypatch.setattr(reading, "TURN", 30)  # nor does anybody read it
    quick = {"latency": 0, "downloadThroughput": 1e9, "uploadThroughput": 1e9}
    monkeypatch.setattr(reading, "LINE", quick)  # nobody asks here how long a line takes
    folder = tmp_path / "site"
    data = hand_made.study(folder / "datasets" / "hand" / "0123456789ab", "alibi_bias")
    live_page.write(folder, data)
    site = sites.Site(folder, data.length, data.layers, data.heads)
    with sites.served(folder) as (root, counter):
        address = f"{root}articles/hand/"
        size, requests, shift = reading.opened(browser, address, counter)
        assert size > 1
        assert requests > 3
        assert shift == 0
        size, live = reading.opened_at_figure(browser, address, counter)
        assert size > 200  # the library
        assert live > 0
        first, again = reading.slider_steps(browser, address, site, 3)
        assert len(first) == len(again) >= 2
        assert min(first + again) > 0
        assert min(reading.hovers(browser, address, 4)) > 0
        asked, after = reading.dragged(browser, address, counter, data.heads)
        assert 1 <= asked < data.heads
        assert after > 0
        read = reading.read_whole(browser, address)
        assert read.still == 0
        assert read.shift == 0


@pytest.mark.browser
def test_an_atlas_is_asked_and_walked_through(benchmark, tmp_path, browser, monkeypatch):
    reading, sites = benchmark.reading, benchmark.sites
    monkeypatch.setattr(reading, "REST", 100)
    data = hand_atlas.study(tmp_path / "datasets" / "hand")
    atlas = benchmark.page_atlas
    live_page.write(tmp_path, data, ["heads_by_two", atlas.EXAMPLES])
    with sites.served(tmp_path) as (root, counter):
        address = f"{root}articles/hand/"
        head = f"{root}embed/hand/head.html#head=L1H2"
        sent, painted = reading.head_opened(browser, head, counter)
        assert sent > 20 and painted > 0
        assert min(reading.heads_after(browser, head, ["head=L2H1", "head=L0H0"])) > 0
        steps = reading.head_steps(browser, address, atlas.EXAMPLES, 4)
        assert len(steps) == 3
        asked = reading.questions(browser, address, ["induction", "like L1H2"])
        assert min(steps + asked) > 0
        with pytest.raises(Exception, match="nothing was found"):
            reading.questions(browser, address, ["induction > 99 %"])
    monkeypatch.setattr(atlas, "ARTICLE", "hand")
    sizes = {what: size for (what, *_), size in atlas._sizes(tmp_path).items()}
    assert 0 < sizes["all of one head"] <= sizes["all of the largest head"]
