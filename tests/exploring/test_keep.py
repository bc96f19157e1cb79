"""What the page of `explore` shows becomes an article: of any text, or a sentence says why not."""

import html
import json
import re
import threading
from functools import reduce
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import expect

from report.datasets import store
from report.exploring.page import MOST_TOKENS, Explorer
from report.exploring.server import Desk, page_of
from report.inputs.rows import specified
from report.kinds.passage.data import PassageData
from report.kinds.passage.findings import Findings
from report.notebook import load
from report.pages.new import new_publication
from report.project import Project, enclosing_project
from report.study.study import read_study
from report.text import percent
from tests import tabs
from tests.commands import ROOT, contents, report
from tests.site import tiny_models
from tests.small import write_publication

TEXTS = {
    "plain": "The lamp on the hill was lit.",
    "jinja": "{{ 7*7 }} and {% raw %} and {# gone #} and {{ undefined.x }}",
    "yaml": "title: [a, {b: c}] # & * ! | > ' \" % @ ` - ? no: ~",
    "front": "one\n---\ntitle: x\n---\ntwo",
    "lines": "a line\n\n\tanother:  \n  - third \\n\\",
    "quotes": '"\'"\'\\"\\u0041\\x41',
    "name": "the-lamp-on-the-hill",
    "file": "passage.md",
    "folder": "../../passage.md",
    "date": "2026-11-28",
    "number": "1_000",
    "marks": "@TITLE@ @TEXT@ @SENTENCE@",
    "html": "</textarea></script><script>alert(1)</script> &amp; <!-- ]]>",
    "signs": "bell \a escape \x1b[31m nul \0 nel \x85 \u2028 \u2029 \ufeff \u202e turned",
    "pictures": "👩\u200d👩 שלום 灯 e\u0301 \ud83d\ude00 half \ud83d",
    "block": "| \n> \n% \n... \n*a &b",
}
BUILT = {"jinja": 4, "front": None, "name": 1, "signs": 0, "pictures": None}
"""Those whose articles are measured and published, too -> the token that is pinned."""

KINDS = {"bert": None, "gemma3": 0, "gptj": None}
"""Families of tiny models, an encoder and one without scores among them -> as of `BUILT`."""

STATE = {"layer": 3, "head": 2}
FIGURES = [
    ["attention_map", STATE],
    ["heads-previous_token", {"view": "map"}],
    ["attention_breakdown", STATE],
]


@pytest.fixture(scope="module")
def model():
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir("/")  # whose measures are none
        return load("falcon-8x8")


@pytest.fixture
def desk(model, tmp_path, monkeypatch):
    """A desk in a project of its own."""
    monkeypatch.chdir(write_publication(tmp_path / "project"))
    return Desk(Explorer(model, enclosing_project()))


def request(**changes):
    return {"title": "A lamp", "text": TEXTS["plain"], "figures": FIGURES, "token": 4} | changes


def article(desk, name):
    return desk.explorer.project.articles / f"{name}.md.j2"


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("title", [None, "A lamp: {{ 7*7 }} \" ' # \n--- \x1b \ud83d"])
def test_any_text_and_title_reach_front_matter_as_they_are(desk, text, title):
    answer = desk.keep(request(text=text, title=title or f"T {text[:150]}"))
    (path,) = set(desk.explorer.project.articles.iterdir()) - {article(desk, "small")}
    assert path.name in answer["done"] and "site --study" in answer["done"]
    front = read_study(path).front_matter
    shown = desk.explorer._inputs(text).passage
    assert specified(front.passage) == shown
    assert front.model == "falcon-8x8" and front.title
    assert "\x1b" not in path.read_text("utf-8")


def test_layers_device_and_chat_are_those_of_the_page(tmp_path):
    model = load("falcon-8x8", layers="0-1", device="cpu")
    desk = Desk(Explorer(model, Project(write_publication(tmp_path)), chat=True))
    desk.explorer.tokens = lambda text: 9  # this model has no chat template
    figures = [["attention_map", {"layer": 1, "head": 0}]]
    assert "done" in desk.keep(request(figures=figures))
    front = read_study(article(desk, "a-lamp")).front_matter
    assert (front.layers, front.device, front.chat) == (2, "cpu", True)


def test_no_article_is_written_over(desk):
    names = ["a-lamp", "a-lamp-2", "a-lamp-3"]
    for name in names:
        assert f"{name}.md.j2" in desk.keep(request(text=name))["done"]
    for name in names:
        assert read_study(article(desk, name)).front_matter.passage.text == name
    assert "small-2.md.j2" in desk.keep(request(title="Small"))["done"]
    long = [desk.keep(request(title="a" * 200)) for _ in range(2)]
    assert all("done" in each for each in long)


DEEP = reduce(lambda inner, _: [inner], range(976), 0)

WRONG = {
    "title-without-letters": ({"title": "灯 ?!"}, "no name"),
    "title-too-long": ({"title": "a" * 201}, "200 letters"),
    "no-title": ({"title": None}, "a text, and a title"),
    "no-text": ({"text": 3}, "a text, and a title"),
    "empty": ({"text": " \n"}, "no text"),
    "long": ({"text": "a" * 100_001}, "100,000"),
    "token": ({"token": 4000}, "pinned token"),
    "token-text": ({"token": "4"}, "pinned token"),
    "no-figures": ({"figures": []}, "no figure to keep"),
    "figures-text": ({"figures": "attention_map"}, "is its name"),
    "figures-number": ({"figures": 3}, "is its name"),
    "state": ({"figures": [["attention_map", [1]]]}, "is its name"),
    "figure": ({"figures": [["attention_map"]]}, "is its name"),
    "figure-name": ({"figures": [["a}} {{ 7*7", {}]]}, "is its name"),
    "figure-unknown": ({"figures": [["attention_mat", {}]]}, "did you mean"),
    "measure-unknown": ({"figures": [["heads-first", {}]]}, "unknown measure"),
    "param": ({"figures": [["attention_map", {"x=1) }}": 1}]]}, "is its name"),
    "value": ({"figures": [["attention_map", {"layer": '1")'}]]}, "is its name"),
    "head": ({"figures": [["attention_map", {"layer": 3, "head": 99}]]}, "no head 99"),
    "head-below": ({"figures": [FIGURES[0], ["attention_map", {"layer": 99}]]}, "layer"),
    "control": ({"figures": [["attention_map", {"zzz": 3}]]}, "zzz"),
    "argument": ({"figures": [["attention_map", {"data": "x"}]]}, "is its name"),
    "deep": ({"figures": [["attention_map", {"layer": DEEP}]]}, "is its name"),
    "many": ({"figures": [["attention_map", {}]] * 31}, "30 figures"),
    "long-for-a-page": ({"text": "a b " * MOST_TOKENS}, "are shown"),
}


@pytest.mark.parametrize(("changes", "sentence"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_kept_is_a_sentence_and_nothing_is_written(desk, changes, sentence):
    before = contents(desk.explorer.project.root)
    answer = desk.keep(request(**changes))
    assert sentence in answer["error"]
    assert contents(desk.explorer.project.root) == before


MOVED = [["attention_map", {"layer": 1, "head": 5}], FIGURES[1], *FIGURES[2:]]


def test_figures_are_added_to_an_article_of_the_same_text(desk):
    for title in ("A lamp", "Other"):
        assert "done" in desk.keep(request(title=title))
    path = article(desk, "a-lamp")
    before = path.read_text("utf-8")
    for figures in (MOVED, MOVED, FIGURES):  # what is there is not added again
        assert path.name in desk.keep(request(figures=figures, add=True))["done"]
        added = path.read_text("utf-8").removeprefix(before.rstrip()).split()
        assert " ".join(added) == (
            '{{ figure("attention_map", layer=1, head=5, key="attention_map-2") }}'
        )
    third = [["attention_map", {"layer": 1, "head": 6}]]
    assert "done" in desk.keep(request(figures=third, add=True))
    assert 'head=6, key="attention_map-3"' in path.read_text("utf-8")
    assert article(desk, "other").read_text("utf-8") == before.replace('"A lamp"', '"Other"')


@pytest.mark.parametrize(
    ("title", "changes", "sentence"),
    [
        ("Nothing", {}, "no article 'nothing'"),
        ("Kept", {"text": "Another text."}, "another model or text"),
        ("Chat", {}, "another model or text"),
        ("Model", {}, "another model or text"),
        ("Layers", {}, "another model or text"),
        ("Small", {}, "another model or text"),
        ("Kept", {"figures": [["attention_map", {"layer": 99, "head": 0}]]}, "no head 0"),
    ],
)
def test_figures_are_added_to_no_other_article(desk, title, changes, sentence):
    desk.keep(request(title="Kept"))
    written = article(desk, "kept").read_text("utf-8")
    for name, line in {
        "chat": "chat: true",
        "model": 'model: "gemma3-6x8"',
        "layers": "layers: 0-1",
    }.items():
        header = re.sub(r"model: .*\n", "", written, count=1) if name == "model" else written
        article(desk, name).write_text(header.replace("tags:", f"{line}\ntags:"), "utf-8")
    before = contents(desk.explorer.project.root)
    assert sentence in desk.keep(request(title=title, add=True) | changes)["error"]
    assert contents(desk.explorer.project.root) == before


def test_without_a_publication_it_says_so(model):
    assert "no publication" in Desk(Explorer(model, None)).keep(request())["error"]


def test_a_publication_that_is_gone_is_not_made_anew(desk):
    desk.explorer.project.config.unlink()
    assert "no project here" in desk.keep(request())["error"]
    assert not article(desk, "a-lamp").exists()


def test_a_folder_that_cannot_be_written(desk):
    articles = desk.explorer.project.articles
    article(desk, "small").unlink()
    articles.rmdir()
    articles.write_text("a file")
    assert str(articles) in desk.keep(request())["error"]
    assert articles.read_text() == "a file"


@pytest.mark.parametrize("linked", ["templates", "templates/articles", "article"])
def test_nothing_is_written_through_a_link(desk, tmp_path, linked):
    root = desk.explorer.project.root
    assert "done" in desk.keep(request())
    place = article(desk, "a-lamp") if linked == "article" else root / linked
    place.rename(tmp_path / "outside")
    place.symlink_to(tmp_path / "outside")
    before = contents(tmp_path)
    assert "is a link" in desk.keep(request(figures=MOVED, add=True))["error"]
    if linked != "article":  # else it takes another name
        assert "is a link" in desk.keep(request())["error"]
    assert contents(tmp_path) == before


def test_a_folder_of_a_model_is_named_from_the_project(tmp_path, monkeypatch):
    (tmp_path / "inside").mkdir()
    root = write_publication(tmp_path / "inside" / "project")
    shipped = ROOT / "report" / "embedded" / "falcon-8x8"
    monkeypatch.chdir(root)
    copy(shipped, tmp_path / "outside")
    copy(shipped, root / "falcon-8x8")  # called as an embedded model
    (root / "link").symlink_to(tmp_path / "outside")
    for folder in (tmp_path / "outside", "../../outside", "link"):
        desk = Desk(Explorer(load(folder), Project(root)))
        assert "cannot name the model" in desk.keep(request())["error"]
    desk = Desk(Explorer(load("./falcon-8x8"), Project(root)))
    assert "done" in desk.keep(request(title="falcon-8x8"))
    front = read_study(article(desk, "falcon-8x8")).front_matter
    assert (root / front.model).samefile(root / "falcon-8x8")


def copy(source, target):
    target.mkdir()
    for path in source.iterdir():
        if path.is_file():
            (target / path.name).write_bytes(path.read_bytes())


def keep_of(kind, token, project):
    """Keep what the page shows of a tiny model of a family, whose folder lies in the project."""
    folder = tiny_models.save(kind, project.root / "models" / kind)
    desk = Desk(Explorer(load(folder.relative_to(project.root)), project))
    answer = desk.answer({"text": TEXTS["plain"], "layer": 1, "head": 1})
    figures = re.findall(r'<figure [^>]*data-figure="([^"]+)"', answer["html"])
    states = [{} if name.startswith("heads-") else {"layer": 1, "head": 1} for name in figures]
    wanted = [*map(list, zip(figures, states, strict=True))]
    answer = desk.keep(request(title=kind, token=token, figures=wanted))
    assert "done" in answer, answer


@pytest.fixture(scope="module")
def built(model, tmp_path_factory, short_corpus):
    """A built site of hostile texts that were kept: (desk, name of a text -> its article)."""
    folder = tmp_path_factory.mktemp("kept")
    new_publication("lamps", folder)
    project = Project(folder / "lamps")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project.root)
        desk = Desk(Explorer(model, project))
        article(desk, "first-look").unlink()
        for name, token in BUILT.items():
            answer = desk.keep(request(title=name, text=TEXTS[name], token=token))
            assert "done" in answer, answer
        assert "done" in desk.keep(
            request(title="name", text=TEXTS["name"], figures=MOVED, add=True)
        )
        for kind, token in KINDS.items():
            keep_of(kind, token, project)
        done = report("site")
        assert done.returncode == 0, done.stderr
    return desk


def test_the_site_of_articles_passes_its_check(built):
    done = report("check", built.explorer.project.site)
    assert done.returncode == 0, done.stderr
    page = built.explorer.project.site / "articles" / "jinja" / "index.html"
    text = page.read_text("utf-8")
    assert "{{ 7*7 }}" in html.unescape(text) and "49" not in re.findall(r"<h1.*?</h1>", text)[0]


@pytest.mark.parametrize("name", BUILT)
def test_an_article_opens_as_the_page_stood(built, name):
    text = (built.explorer.project.site / "articles" / name / "index.html").read_text("utf-8")
    (opening,) = re.findall(r'<figure [^>]*id="fig-1".*?</figure>', text, re.DOTALL)
    for param, value in STATE.items():
        assert re.search(rf'name="{param}"[^>]* value="{value}"', opening)
    opens = re.findall(r'id="passage"[^>]*data-opens="(\d+)"', text)
    assert opens == ([] if BUILT[name] is None else [str(BUILT[name])])
    assert 'data-figure="heads-previous_token"' in text
    assert ('data-figure="attention_map-2"' in text) == (name == "name")
    (finding,) = re.findall(r'<p class="finding">.*?</p>', text, re.DOTALL)
    assert "L3H2" in finding and "%" in finding


@pytest.mark.parametrize("kind", KINDS)
def test_an_article_of_another_family_says_what_is_true_of_it(built, kind):
    page = built.explorer.project.site / "articles" / kind / "index.html"
    text = page.read_text("utf-8")
    (finding,) = re.findall(r'<p class="finding">.*?</p>', text, re.DOTALL)
    said = html.unescape(re.sub("<[^>]+>", "", finding)).replace("\xa0", " ")
    (folder,) = (page.parents[2] / "datasets" / kind).glob("*/")
    data = PassageData(folder)
    if KINDS[kind] is None:
        value = Findings(data).value("first_token", Findings(data).head(1, 1), "passage")
        assert f"is {percent(value)} for L1H1".replace("\xa0", " ") in said
    else:
        head, token = Findings(data).head(1, 1), KINDS[kind]
        share = percent(head.gives(token, head.top(token))).replace("\xa0", " ")
        assert f"gives {share} of its attention to its top target" in said


@pytest.mark.parametrize("name", BUILT)
def test_the_numbers_of_an_article_are_those_of_the_page_in_every_bit(built, name):
    (folder,) = (built.explorer.project.site / "datasets" / name).glob("*/")
    answer = built.answer({"text": TEXTS[name]})
    address = f"datasets/text-{answer['number']}/text-{answer['number']}"
    manifest = store.read(folder / "manifest.json")
    compared = 0
    for file in manifest["files"]:
        seen = built.file(answer["number"], f"{address}/{file}")
        if seen is not None:  # the corpus alone is of the article only
            assert of_passage(json.loads(seen)) == of_passage(store.read(folder / file)), file
            compared += 1
    assert compared > manifest["model"]["layers_measured"]


def of_passage(dataset):
    """A dataset without rows over many texts, which the page has only from an article."""
    heads = dataset.get("tables", {}).get("heads")
    if not heads or "source" not in heads["columns"]:
        return dataset
    sources = heads["columns"]["source"]["values"]
    keep = [n for n, source in enumerate(sources) if source == "passage"]
    del heads["columns"]["source"]["unit"]  # the names of the two
    for column in heads["columns"].values():
        column["values"] = [column["values"][n] for n in keep]
    heads["rows"] = len(keep)
    return dataset


@pytest.fixture
def opened(browser, desk):
    """A page of `explore`, which has been answered once; nothing may be wrong with it."""
    with page_of(desk.explorer, 0) as (serving, address):
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        tab = tabs.opened(browser, **tabs.DESK)
        tab.goto(address)
        tab.wait_for_selector("#fig-1.live-figure--live")
        yield tab
        assert tab.problems == []
        tab.context.close()
        serving.shutdown()


@pytest.mark.browser
def test_figures_are_kept_as_they_stand_before_they_come_to_life(browser, desk):
    later = []
    with page_of(desk.explorer, 0) as (serving, address):
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        tab = tabs.opened(browser, **tabs.DESK)
        tab.route("**/figures.js", lambda route: later.append(route))
        tab.goto(address)
        tab.locator("figure").first.wait_for()
        assert "a-lamp" not in keep_there(tab) and later
        (path,) = set(desk.explorer.project.articles.iterdir()) - {article(desk, "small")}
        calls = re.findall(r"figure\((.*?)\)", read_study(path).body)
        assert calls[0].startswith('"attention_map", layer=0, head=0, by="tokens", shade=')
        assert calls[1].startswith('"heads", measure="first_token", view=')
        tab.context.close()
        serving.shutdown()


def keep_there(tab, button="Keep as an article"):
    with tab.expect_response("**/keep"):
        tab.get_by_role("button", name=button).click()
    tab.wait_for_selector(".explore__keep output:not(:empty)")
    return tab.text_content(".explore__keep output")


@pytest.mark.browser
def test_a_reader_types_pins_moves_and_keeps(opened, desk):
    with opened.expect_response("**/ask"):
        opened.fill("#text", "Ann saw a lamp. Bo saw the lamp")
    opened.locator(".token", has_text="Bo").first.wait_for()
    opened.wait_for_selector("#fig-1.live-figure--live")
    opened.locator(".token[data-token]").nth(6).click()
    for param, value in {"layer": 5, "head": 7}.items():
        opened.locator(f"#fig-1 input[name={param}]").fill(str(value))
    expect(opened.locator("#title")).to_have_value("Ann saw a lamp. Bo saw the lamp")
    opened.fill("#title", "Two lamps")
    assert "two-lamps.md.j2" in keep_there(opened)
    study = read_study(article(desk, "two-lamps"))
    assert study.front_matter.passage.text == "Ann saw a lamp. Bo saw the lamp"
    assert "find.head(5, 7)" in study.body and "passage(opens=6)" in study.body
    (first, *_) = re.findall(r"figure\(.*?\)", study.body)
    assert first.startswith('figure("attention_map", layer=5, head=7')
    opened.locator("#fig-1 input[name=head]").fill("2")
    assert "has these figures" in keep_there(opened, "Add to the article of this title")
    body = read_study(article(desk, "two-lamps")).body
    assert body.count('figure("attention_map", layer=5, head=7') == 1
    assert body.count('figure("attention_map", layer=5, head=2') == 1
    opened.fill("#title", "?!")
    assert "no name" in keep_there(opened)


def test_only_the_page_itself_may_keep(desk):
    with page_of(desk.explorer, 0) as (serving, address):
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        body = json.dumps(request()).encode()
        root, key = address.split("/")[2:4]
        for url, headers in (
            (f"http://{root}/wrong/keep", {}),
            (f"http://{root}/{key}/keep/", {}),
            (f"http://{root}/{key}/keep", {"Origin": "https://example.com"}),
        ):
            with pytest.raises(HTTPError):
                urlopen(Request(url, body, headers))
        assert not article(desk, "a-lamp").exists()
        with urlopen(Request(f"http://{root}/{key}/keep", body)) as answer:
            assert "done" in json.load(answer)
        serving.shutdown()
