import functools
from contextlib import contextmanager
from importlib import import_module

import pytest

from tests import made_answers, tabs
from tests.figures import hand_atlas, hand_conditions, hand_made, hand_table, live_page, tools
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
def answers(tmp_path_factory):
    """Made answers of one model."""
    return made_answers.model(tmp_path_factory.mktemp("answers") / "datasets" / "hand" / "model")


@pytest.fixture(scope="session")
def atlas(tmp_path_factory):
    """A hand-made atlas of heads."""
    return hand_atlas.composed(tmp_path_factory.mktemp("atlas") / "datasets" / "hand")


def _made_by_hand(kind):
    @pytest.fixture(scope="session", name=kind)
    def made(tmp_path_factory):
        folder = tmp_path_factory.mktemp(kind) / "datasets" / "hand"
        return import_module(f"tests.figures.hand_{kind}").study(folder)

    return made


MADE = {*globals(), "prediction"}
"""What has a fixture; data of every other kind of article are made by its hand_NAME.py."""

globals().update({of: _made_by_hand(of) for of in live_page.OF if of not in MADE})


@pytest.fixture
def drawn_of(figure, request):
    """What a figure is drawn of."""
    return live_page.data_of(figure.name, request.getfixturevalue)


def _address_of(of, names):
    @pytest.fixture(scope="session")
    def address(request):
        data = request.getfixturevalue(of)
        site = (data if hasattr(data, "path") else data.models[0]).path.parents[2]
        live_page.write(site, data, names)
        with served(site) as root:
            yield f"{root}articles/hand/"

    return address


globals().update({name: _address_of(*page) for name, page in live_page.PAGES.items()})

DESK = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
"""A phone has fingers and no mouse."""


@pytest.fixture(scope="session")
def desk(browser):
    """A tab that tests share, see tests/tabs.py."""
    with quiet_page(browser, **DESK) as tab:
        yield tab


@pytest.fixture(scope="session")
def hand(browser):
    """The same on a phone."""
    with quiet_page(browser, **PHONE) as tab:
        yield tab


@pytest.fixture
def page(request, browser):
    """A page that fails the test on any error in its console."""
    yield from _page(request, browser, "desk", DESK)


@pytest.fixture
def phone(request, browser):
    """The same on a phone."""
    yield from _page(request, browser, "hand", PHONE)


def _page(request, browser, shared, options):
    if request.node.get_closest_marker("first_visit"):
        with quiet_page(browser, **options) as page:
            yield page
        return
    tab = request.getfixturevalue(shared)
    yield tab
    expected, tab.expected = tab.expected, ()
    problems, _ = tabs.left(tab)
    assert unexpected(problems, expected) == []


@pytest.fixture(scope="module")
def scripts(browser, address):
    """A page of the site without a figure, for tests that call the scripts' functions alone."""
    with quiet_page(browser) as page:
        page.goto(address.replace("articles/hand/", "assets/glossary.json"))
        yield page


@contextmanager
def quiet_page(browser, **options):
    """A page in a browser window of its own, which may have no problem that is not `expected`."""
    page = tabs.opened(browser, **options)
    page.expected = ()  # texts of problems that a test brings about
    yield page
    page.context.close()
    assert unexpected(page.problems, page.expected) == []


def unexpected(problems, expected):
    return [problem for problem in problems if not any(text in problem for text in expected)]


@pytest.fixture
def opened(page, request):
    """A function that sets a figure to a state that `tools.state_of` says, and opens its page
    first, unless it is open.

    It returns the figure's number and what it is drawn of.
    """

    def open_figure(name):
        address, (_, names) = next(each for each in live_page.PAGES.items() if name in each[1][1])
        address = request.getfixturevalue(address)
        if tools.without_fragment(page) != address:
            page.goto(address)
        number = names.index(name) + 1
        data = live_page.data_of(name, request.getfixturevalue)
        tools.set_to(page, number, **tools.state_of(name, data))
        return number, data

    return open_figure
