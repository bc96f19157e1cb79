import functools
from contextlib import contextmanager

import pytest

from tests.figures import (
    hand_conditions,
    hand_made,
    hand_sweep,
    hand_table,
    live_page,
    tools,
)
from tests.serving import served


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """A function from a kind of model (see hand_made.KINDS) to a study of it, made once."""

    @functools.cache
    def of_kind(kind):
        folder = tmp_path_factory.mktemp("study") / "datasets" / "hand" / "0123456789ab"
        return hand_made.study(folder, kind)

    return of_kind


@pytest.fixture(scope="session")
def data(study):
    """A hand-made study of a model like the embedded one."""
    return study("alibi_bias")


@pytest.fixture(scope="session")
def address(data):
    site = data.path.parents[2]
    live_page.write(site, data)
    with served(site) as root:
        yield f"{root}articles/hand/"


@pytest.fixture(scope="session")
def conditions(tmp_path_factory):
    """A hand-made study of conditions: two models, three prompts."""
    return hand_conditions.study(tmp_path_factory.mktemp("conditions") / "datasets" / "hand")


@pytest.fixture(scope="session")
def panels(conditions):
    """A function from a grid's name to what it is drawn of, made once."""
    return functools.cache(lambda name: hand_conditions.panels(conditions, name))


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Hand-made studies of two models that differ, of one article: `PassageModels`."""
    return hand_made.several(tmp_path_factory.mktemp("models") / "datasets" / "hand")


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """A hand-made study of a table."""
    return hand_table.study(tmp_path_factory.mktemp("table") / "datasets" / "hand" / "ba9876543210")


@pytest.fixture(scope="session")
def sweep(tmp_path_factory):
    """A hand-made sweep over checkpoints of a training and two other models."""
    return hand_sweep.study(tmp_path_factory.mktemp("sweep") / "datasets" / "hand")


@pytest.fixture(scope="session")
def sweep_address(sweep):
    """Address of a page with the figures of `sweep`."""
    site = sweep.models[0].path.parents[2]
    live_page.write_sweep(site, sweep)
    with served(site) as root:
        yield f"{root}articles/hand/"


@pytest.fixture(scope="session")
def grids(conditions):
    """Address of a page with the grids of `conditions`."""
    site = conditions.models[0].path.parents[2]
    live_page.write_grids(site, conditions)
    with served(site) as root:
        yield f"{root}articles/hand/"


@pytest.fixture(scope="session")
def tables_address(table):
    """Address of a page with the figures of `table`."""
    site = table.path.parents[2]
    live_page.write_table(site, table)
    with served(site) as root:
        yield f"{root}articles/hand/"


@pytest.fixture
def page(browser):
    """A page that fails the test on any error in its console; pictures are not made here."""
    with quiet_page(browser, viewport={"width": 1280, "height": 900}) as page:
        yield page


@pytest.fixture(scope="module")
def scripts(browser, address):
    """A page of the site without a figure, for tests that call the scripts' functions alone."""
    with quiet_page(browser) as page:
        page.goto(address.replace("articles/hand/", "assets/glossary.json"))
        yield page


@pytest.fixture
def phone(browser):
    """The same on a phone, that has fingers and no mouse."""
    viewport = {"width": 390, "height": 844}
    with quiet_page(browser, viewport=viewport, has_touch=True, is_mobile=True) as page:
        yield page


@contextmanager
def quiet_page(browser, **options):
    context = browser.new_context(**options)
    context.route("**/*.svg", lambda route: route.fulfill(body="<svg/>"))
    page = context.new_page()
    problems = []
    page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else 0)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.expected = ()  # texts of problems that a test brings about
    yield page
    context.close()
    assert [each for each in problems if not any(text in each for text in page.expected)] == []


@pytest.fixture
def opened(page, request):
    """A function that opens the page with a figure, at a state that `tools.state_of` says.

    It returns the figure's number and what it is drawn of.
    """
    pages = (
        ("address", "data", live_page.ORDER),
        ("grids", "conditions", live_page.GRIDS),
        ("tables_address", "table", live_page.OF_TABLES),
        ("sweep_address", "sweep", live_page.OF_SWEEPS),
    )

    def open_figure(name):
        address, data, names = next(each for each in pages if name in each[2])
        page.goto(request.getfixturevalue(address))
        number = names.index(name) + 1
        tools.set_to(page, number, **tools.state_of(name))
        data = request.getfixturevalue(data)
        return number, hand_conditions.panels(data, name) if names is live_page.GRIDS else data

    return open_figure
