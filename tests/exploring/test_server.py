"""Who is answered, and with what: requests as a browser or an attacker may send them."""

import http.client
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from urllib.parse import urlsplit

import numpy as np
import pytest

from report.datasets import store
from report.errors import ReportError
from report.exploring import page, server
from report.exploring.page import LONGEST, MOST_TOKENS, Answer, Explorer, Question
from report.exploring.prepared import prepared
from report.exploring.server import BODY, KEPT, OPENING, Desk
from report.notebook import load
from report.project import Project
from report.text import percent
from tests.commands import ROOT
from tests.documents import blocks
from tests.exploring.conftest import FIRST, opened
from tests.small import CORPUS, write_publication

OTHER = "the hill was lit"


def sent(address, method, path, body=None, **headers):
    """Status and content of an answer; path: below the key, or from the root with a slash."""
    url = urlsplit(address)
    key = url.path.split("/")[1]
    connection = http.client.HTTPConnection(url.netloc, timeout=60)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    target = path if path.startswith("/") else f"/{key}/{path}"
    connection.request(method, target, body, named)
    answer = connection.getresponse()
    return answer.status, answer.read()


def answer(address, **question):
    status, content = sent(address, "POST", "ask", json.dumps(question))
    assert status == 200
    return json.loads(content)


def files(found, number=None):
    return f"datasets/text-{number or found['number']}/text-{number or found['number']}"


def test_a_text_is_measured_and_its_datasets_are_those_of_a_notebook(address, model):
    found = answer(address, text=FIRST, layer=1, head=1)
    data = model.measure(FIRST).data
    assert data.manifest["files"]
    for name in data.manifest["files"]:
        if name.startswith("heads/"):  # a measure is taken when it is looked at
            measure = name.removeprefix("heads/").removesuffix(".json")
            assert (
                measure == "first_token" or sent(address, "GET", f"{files(found)}/{name}")[0] == 404
            )
            found = answer(address, text=FIRST, measure=measure)
        status, content = sent(address, "GET", f"{files(found)}/{name}")
        assert status == 200
        assert content.decode() == store.dumps(data._read(name)), name


def test_all_that_the_page_of_an_answer_names_is_there(address):
    found = answer(address, text=FIRST, other=OTHER, predict="lens")
    named = {*re.findall(r'(?:href|src|data-[a-z]+)="\.\./\.\./([^"]+)"', found["html"])}
    specs = {*re.findall(r'data-spec="\.\./\.\./([^"]+)"', found["html"])}
    assert specs < named
    for path in named | {path.replace(".json", ".vega.json") for path in specs}:
        if not path.endswith("/"):  # where datasets are
            assert sent(address, "GET", posixpath.normpath(path))[0] == 200, path


def test_the_first_part_of_an_answer_is_how_all_of_it_begins(address):
    question = {"text": "a lamp, a hill", "other": OTHER, "predict": "effects", "layer": 1}
    first = answer(address, **question, tab="parts", first=True)
    whole = answer(address, **question, tab="parts", number=first["number"])
    beginning, rest = first["html"].split('<div class="explore__rest">')
    assert rest.strip() == "</div>"
    assert whole["html"].startswith(beginning) and whole["number"] == first["number"]
    assert len(first["files"]) == 4
    for path, file in first["files"].items():
        assert json.loads(sent(address, "GET", path)[1]) == file
    newer = answer(address, **question | {"text": OTHER}, tab="parts", first=True)
    assert newer["number"] > first["number"]
    assert answer(address, **question, tab="parts", number=first["number"]) == {"dropped": True}


def looking(address, **request):
    return json.loads(sent(address, "POST", "looking", json.dumps(request))[1])


def test_heads_that_look_from_a_token_are_those_of_its_datasets(address, model):
    """All of them, the most first: with a target, and with whichever a head gives most."""
    data, number = model.measure(FIRST).data, answer(address, text=FIRST)["number"]
    token, places = 7, [*np.ndindex(data.layers, data.heads)]
    rows = {at: data.attention(*at).probability[token] for at in places}
    for target in (None, 3):
        html = looking(address, number=number, token=token, target=target)["html"]
        shown = re.findall(
            r">L(\d+)H(\d+)</button></td><td>“.*?” \((\d+)\)</td><td>(.*?)</td>", html
        )
        others = [place for place in range(1, data.length) if place != token]
        to = {at: target or max(others, key=row.__getitem__) for at, row in rows.items()}
        shares = {at: rows[at][to[at]] for at in places}
        there = [shares[int(layer), int(head)] for layer, head, _, _ in shown]
        assert there == pytest.approx(sorted(shares.values(), reverse=True)[: page.MOST], abs=1e-3)
        for layer, head, place, share in shown:
            at = int(layer), int(head)
            assert int(place) == to[at]
            assert share in {percent(shares[at] + by) for by in (-1e-4, 0, 1e-4)}
        chosen = re.findall(r'<option value="(\d*)" selected', html)
        assert chosen == ([] if target is None else [str(target)])
        assert f'value="{token}"' in html and f'value="{token + 1}"' not in html
    assert "Nothing" in looking(address, number=number, token=0)["html"]


@pytest.mark.parametrize(
    "request_of", [{"token": 99}, {"token": -1}, {"token": 1, "target": 99}, {"token": "1"}, {}]
)
def test_heads_that_look_from_no_token_are_a_sentence(address, request_of):
    number = answer(address, text=FIRST)["number"]
    assert looking(address, number=number, **request_of)["error"].endswith(".")
    assert looking(address, number=10**9, token=1) == {"dropped": True}


@pytest.mark.parametrize(
    "path", ["", "articles/explore/", "assets/page/explore.js", "ask", "datasets/text-1/text-1/"]
)
def test_nobody_is_answered_without_the_key(address, path):
    for key in ("", "x" * 24, "%C3%A9", "%00", "..", "../" * 3):
        for method, body in (("GET", None), ("POST", '{"text": "a"}'), ("HEAD", None)):
            status, content = sent(address, method, f"/{key}/{path}", body)
            assert status in (400, 404, 405), (key, method)
            assert b"explore" not in content


def test_pages_of_other_sites_and_names_get_nothing(address):
    own = "http://" + urlsplit(address).netloc
    for headers in (
        {"Origin": "https://elsewhere.invalid"},
        {"Origin": "null"},
        {"Origin": own.replace("127.0.0.1", "127.0.0.2")},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Host": "elsewhere.invalid"},  # a name that now points to this machine
    ):
        for method, path, body in (
            ("GET", "articles/explore/", None),
            ("POST", "ask", json.dumps({"text": OTHER})),
        ):
            status, content = sent(address, method, path, body, **headers)
            assert status in (403, 421), headers
            assert OTHER.encode() not in content
    status, _ = sent(address, "POST", "ask", json.dumps({"text": OTHER}), Origin=own)
    assert status == 200


def test_what_is_no_question_is_refused(address):
    for body in ("", "{", "[]", "null", '"a"', "[" * 100_000, json.dumps({"text": 3})):
        status, content = sent(address, "POST", "ask", body)
        assert status in (200, 400), body[:10]
        if status == 200:
            assert json.loads(content)["error"]
    assert sent(address, "POST", "ask", b"\xff\xfe")[0] == 200
    status, content = sent(address, "POST", "ask", b"x" * (BODY + 1))
    assert status == 200 and "at most 100,000 characters" in json.loads(content)["error"]
    assert sent(address, "POST", "ask", b"x", Content_Length="1" * 13)[0] == 400
    assert sent(address, "POST", "other", "{}")[0] == 400
    for path in ("datasets/text-1/../../etc/passwd", "datasets/text-x/a", "datasets/text-99999/a"):
        assert sent(address, "GET", path)[0] == 404
    assert sent(address, "GET", "..%2f..%2fetc%2fpasswd")[0] == 404
    for path in ("/elsewhere.invalid/%2f..", "//elsewhere.invalid/%2f..", "assets/page", "assets"):
        assert sent(address, "GET", path)[0] == 404, "nobody is sent to an address without the key"


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"text": " \n"}, "there is no text"),
        ({"text": "a" * (LONGEST + 1)}, f"at most {LONGEST:,}"),
        ({"text": FIRST, "other": "a" * (LONGEST + 1)}, f"at most {LONGEST:,}"),
        ({"text": "a b " * MOST_TOKENS}, f"at most {MOST_TOKENS:,} are shown"),
        ({"text": "🦜" * LONGEST}, f"at most {MOST_TOKENS:,} are shown"),
        ({"text": FIRST, "other": "a b " * MOST_TOKENS}, f"at most {MOST_TOKENS:,} are shown"),
        ({"text": FIRST, "measure": "nothing"}, "unknown measure 'nothing'"),
        ({"text": FIRST, "measure": ["first_token"]}, "a question has texts"),
        ({"text": FIRST, "layer": -1}, "whole numbers from 0"),
        ({"text": FIRST, "layer": None}, "whole numbers from 0"),
        ({"text": FIRST, "head": 1.5}, "whole numbers from 0"),
        ({"text": FIRST, "token": True}, "whole numbers from 0"),
        ({}, "there is no text"),
    ],
)
def test_what_cannot_be_measured_is_a_sentence(address, question, words):
    found = answer(address, **question)
    assert words in found["error"]
    assert "html" not in found


def test_places_that_the_text_has_not_are_its_last_ones(address):
    found = answer(address, text=OTHER, layer=99, head=99, token=99)
    opens = re.findall(r'name="(layer|head)" min="0" max="(\d+)" value="(\d+)"', found["html"])
    assert opens
    assert all(last == value for _, last, value in opens)
    assert "data-opens" not in found["html"]


def test_earlier_answers_stay_for_other_tabs_and_are_let_go(address):
    first = answer(address, text=OTHER)
    path = f"{files(first)}/passage.json"
    assert sent(address, "GET", path)[0] == 200
    for _ in range(KEPT):
        answer(address, text=OTHER)
    assert sent(address, "GET", path)[0] == 404


def test_the_newest_question_wins_and_one_is_measured_at_a_time():
    measuring, most, began, go_on = [], [], threading.Event(), threading.Event()

    def measured(question, progress, announce):
        measuring.append(question.number)
        most.append(len(measuring))
        try:
            for _ in range(3):
                progress(0, 3)
                if question.number == 1:
                    began.set()
                    go_on.wait(60)
            return Answer(question.number, question.text, {})
        finally:
            measuring.remove(question.number)

    desk = Desk(SimpleNamespace(answer=measured, name="made", own_folders=[], titles={}))
    found = {}

    def ask(text):
        found[text] = desk.answer({"text": text})

    threads = [threading.Thread(target=ask, args=[text]) for text in ("first", "second")]
    threads[0].start()
    assert began.wait(60)
    threads[1].start()
    while desk.number < 2:
        time.sleep(0.01)
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert found["first"] == {"dropped": True}
    assert found["second"]["html"] == "second"
    assert max(most) == 1


def test_each_tab_has_its_own_newest_question(address):
    found = {}

    def ask(tab):
        found[tab] = answer(address, text=FIRST, tab=tab)

    threads = [threading.Thread(target=ask, args=[f"tab {number}"]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 4
    assert all("html" in each for each in found.values())


def test_a_model_that_fails_is_a_sentence():
    def failing(*_):
        raise RuntimeError("weights of lead")

    found = Desk(SimpleNamespace(answer=failing, name="made", own_folders=[], titles={})).answer(
        {"text": "a"}
    )
    assert "model 'made' cannot be measured" in found["error"]
    assert "weights of lead" in found["error"]


def test_another_text_is_measured_beside_it(address, model):
    found = answer(address, text=FIRST, other=OTHER)
    for text, place in ((FIRST, ""), (OTHER, "-other")):
        folder = files(found) + place
        status, content = sent(address, "GET", f"{folder}/passage.json")
        assert status == 200
        assert content.decode() == store.dumps(model.measure(text).data._read("passage.json"))
    assert "The other text" in found["html"]
    changes = model.measure(FIRST).compare(model.measure(OTHER))
    first = changes[changes["difference"].abs() > 0].iloc[0]
    assert f"L{first['layer']}H{first['head']}" in found["html"]


def test_only_what_is_new_is_measured(model):
    steps, answers = [], []
    explorer = Explorer(model, None)  # of which no other test has asked anything

    def measured(**changes):
        steps.clear()
        question = Question(10 + len(answers), FIRST, **changes)
        answers.append(explorer.answer(question, lambda *_: steps.append(1), print))
        return len(steps)

    layers = model.loaded.measured_layers
    assert [measured(head=1), measured(layer=1)] == [layers, 0]
    assert [measured(measure="itself"), measured(measure="itself", head=1)] == [layers, 0]
    # a comparison is of all measures
    assert [measured(other=OTHER[:end]) for end in (-2, -1)] == [2 * layers, layers]
    of_effects = measured(predict="effects")
    assert of_effects > 0
    both = [measured(predict="effects", other=OTHER[:-1]) for _ in range(2)]
    assert both == [of_effects, 0]  # those of the other text too
    assert measured(predict="effects", other=FIRST) == 0
    for number, answer in enumerate(answers, 10):
        name = f"datasets/text-{number}/text-{number}/attention/1/1.json"
        assert (
            answer.files[name]()
            == answers[0].files["datasets/text-10/text-10/attention/1/1.json"]()
        )


def test_charts_of_the_process_beside_are_those_of_this_one_and_the_folder_goes(model):
    question = Question(1, FIRST)
    own = Explorer(model, None).answer(question, lambda *_: None, print).files
    with prepared() as page:
        explorer = Explorer(model, None, compiled=page.vega)
        with server.page_of(explorer, 0, page=page):
            there = {path.name: path.read_bytes() for path in page.folder.rglob("*.*")}
        found = explorer.answer(question, lambda *_: None, print).files
        charts = [name for name in own if name.endswith(".vega.json")]
        assert charts
        for name in charts:
            assert found[name]() == own[name]()
        with pytest.raises(ReportError, match="'bad'"):
            page.vega({"mark": "no mark", "usermeta": {"report": {"figure": "bad"}}})
    assert not page.folder.exists()
    assert there.keys() >= {"vega.js", "explore.js", "explore.css"}


def test_what_a_page_opens_with_is_there_before_it_asks(model):
    desk, steps = Desk(Explorer(model, None)), []
    desk.answer(OPENING)
    text = re.search("<textarea[^>]*>(.*?)</textarea>", desk.explorer.page())[1]
    assert desk.explorer.answer(Question(2, text), steps.append, print).html and not steps


def test_the_same_text_beside_it_changes_nothing(address):
    found = answer(address, text=FIRST, other=FIRST)
    assert "No measure that both texts have changes" in found["html"]


def test_what_heads_do_over_many_texts_comes_from_the_project(model, data_of_corpus, monkeypatch):
    """Rows over many texts are those of its article; the tables equal the article's own."""
    monkeypatch.setattr(page, "corpus", lambda: CORPUS)
    project, article = data_of_corpus
    explorer = Explorer(model, project)
    assert explorer.corpus is not None
    text = article.passage["tokens"]
    text = "".join(token["text"] for token in text if not token.get("special"))
    assert article.measures
    for measure in article.measures:
        question = Question(1, text, measure=measure)
        found = explorer.answer(question, lambda *_: None, lambda said: None)
        made = found.files[f"datasets/text-1/text-1/heads/{measure}.json"]()
        assert made == article._read(f"heads/{measure}.json"), measure
    assert "many texts" in found.html


@pytest.mark.parametrize(
    ("part", "value"),
    [("model", {"weights": "0" * 64}), ("corpus", "0" * 64), ("heads", 1), ("settings", {})],
)
def test_numbers_of_another_model_or_corpus_are_not_taken(
    model, data_of_corpus, monkeypatch, part, value
):
    monkeypatch.setattr(page, "corpus", lambda: CORPUS)
    project, article = data_of_corpus
    path = article.path / "manifest.json"
    before = path.read_text()
    manifest = json.loads(before)
    manifest["determined_by"][part] = value
    path.write_text(json.dumps(manifest))
    try:
        assert Explorer(model, project).corpus is None
    finally:
        path.write_text(before)


def test_weights_are_read_once_where_no_dataset_is_of_them(
    data_of_corpus, falcon_folder, tmp_path, monkeypatch
):
    monkeypatch.setattr(page, "corpus", lambda: CORPUS)
    project, _ = data_of_corpus
    shutil.copytree(falcon_folder, tmp_path / "another")
    model = load(tmp_path / "another")
    for path in (tmp_path / "another").glob("*.safetensors"):
        path.unlink()
    explorer = Explorer(model, project)
    assert explorer.corpus is None
    assert explorer.answer(Question(1, FIRST), lambda *_: None, print).html


def test_a_failing_measure_of_the_project_is_named(model, tmp_path):
    (tmp_path / "measures").mkdir()
    (tmp_path / "measures" / "broken.py").write_text("nothing here")
    with pytest.raises(ReportError, match=r"broken\.py"):
        Explorer(model, Project(tmp_path))


def test_no_measure_that_one_text_has_not_hides_the_others(model):
    """In a text without a full stop, all heads give full stops 0: the same change of each head is
    not the largest."""
    data, other = (model.measure(text).data for text in (FIRST, FIRST.replace(",", ".")))
    table = data.differences(other)
    assert len({*table["measure"][:12]}) > 1
    assert np.isfinite(table["difference"][:12]).all()


def test_files_of_a_folder_that_is_no_project_are_not_run(model, tmp_path, monkeypatch):
    """Anybody may have put them there."""
    ran = "from pathlib import Path\nPath(__file__).with_name('ran').write_text('')\n"
    for folder, name in (("figures", "attention_map"), ("measures", "itself"), ("measures", "own")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{name}.py").write_text(ran)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "explored.html.j2").write_text("another page")
    monkeypatch.chdir(tmp_path)
    found = Explorer(model, None).answer(Question(1, FIRST), lambda *_: None, lambda said: None)
    assert "another page" not in found.html
    assert not [*tmp_path.rglob("ran")]


def test_heads_of_all_texts_are_those_of_one_model(explorer):
    question = Question(1, FIRST, other=OTHER)
    found = explorer.answer(question, lambda *_: None, lambda said: None)
    specs = [name for name in found.files if name.endswith(".vega.json")]
    models = {found.files[name]()["usermeta"]["report"]["model"] for name in specs}
    assert models == {explorer.name}


def test_a_measure_without_a_number_is_no_figure_and_says_why(address):
    found = answer(address, text=FIRST, measure="from_line_end")
    assert "explore__lacks" in found["html"]


ENDLESS = '"""A measure."""\nimport time\n\n\ndef rows(attention):\n    while True:\n        {}\n'


@pytest.mark.promise("authors-files")
def test_a_measure_without_an_end_is_ended_and_named(model, tmp_path, monkeypatch):
    monkeypatch.setenv("REPORT_TIME_LIMIT", "1")
    path = tmp_path / "measures" / "endless.py"
    path.parent.mkdir()
    path.write_text(ENDLESS.format("pass"))
    desk = Desk(Explorer(model, Project(tmp_path)))
    assert "html" in desk.answer({"text": FIRST})  # it is not wanted
    error = desk.answer({"text": FIRST, "measure": "endless"})["error"]
    assert re.search(rf"{re.escape(str(path))}, line [67]: it ran for 1", error)
    path.write_text(
        ENDLESS.replace("while True:\n        {}", "return attention.probability[..., 0]")
    )
    assert "html" in desk.answer({"text": FIRST, "measure": "endless"})


@pytest.mark.promise("authors-files")
def test_a_measure_that_lets_no_thread_work_ends_the_program(falcon_folder, tmp_path):
    path = write_publication(tmp_path / "project") / "measures" / "endless.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(ENDLESS.format("__import__('re').match('(a+)+$', 'a' * 60 + 'b')"))
    command = [sys.executable, "-m", "report", "explore", falcon_folder]
    variables = os.environ | {"PYTHONPATH": str(ROOT), "REPORT_TIME_LIMIT": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, env=variables, cwd=path.parents[1], **pipes) as running:
        address = next(line.strip() for line in running.stdout if line.startswith("http"))
        with pytest.raises(OSError):
            answer(address, text=FIRST, measure="endless")
        assert re.search(r"endless\.py, line \d+: it ran for 1", running.stdout.read())
    assert running.returncode == 1


def test_a_page_whose_template_fails_says_why(model, tmp_path):
    path = tmp_path / "templates" / "explore.html.j2"
    path.parent.mkdir()
    path.write_text("{{ 1 / 0 }}")
    with opened(Explorer(model, Project(tmp_path))) as (address, _):
        status, content = sent(address, "GET", "articles/explore/")
        assert status == 500 and b"explore.html.j2, line 1: ZeroDivisionError" in content


@pytest.mark.promise("authors-files")
def test_of_a_measure_that_cannot_be_ended_all_who_wait_are_told(
    falcon_folder, tmp_path, monkeypatch
):
    monkeypatch.setenv("REPORT_TIME_LIMIT", "1")
    path = tmp_path / "measures" / "endless.py"
    path.parent.mkdir()
    path.write_text(ENDLESS.format("time.sleep(20)"))
    desk = Desk(Explorer(load(falcon_folder), Project(tmp_path)))
    question = {"text": FIRST, "measure": "endless"}
    threading.Thread(target=desk.answer, args=[question], daemon=True).start()
    while not desk.measuring.locked():
        time.sleep(0.01)
    for wait, request in ((desk.answer, {"text": OTHER}), (desk.keep, {})):
        assert f"{path}, line 7: runs without an end" in wait(request)["error"]


def test_a_changed_measure_of_the_project_is_taken_at_once(model, tmp_path):
    (own,) = blocks("how-to/measures", "python")
    path = tmp_path / "measures" / "two_back.py"
    path.parent.mkdir()
    path.write_text(own)
    explorer = Explorer(model, Project(tmp_path))

    def value():
        question = Question(1, FIRST, measure="two_back")
        found = explorer.answer(question, lambda *_: None, lambda said: None)
        table = found.files["datasets/text-1/text-1/heads/two_back.json"]()
        return table["tables"]["heads"]["columns"]["two_back"]["values"]

    before = value()
    assert "- 2" in own
    path.write_text(own.replace("- 2", "- 3"))
    assert value() != before


def test_a_question_is_of_one_of_the_models_that_are_loaded(model, explorer):
    """Two of one name are told apart, and a model that is not there is refused by name."""
    desk = Desk(explorer, [Explorer(model, None)])
    first, second = desk.explorers
    assert {first, second} == {explorer.name, f"{explorer.name} (2)"}
    text = "one of two models reads this"
    desk.answer({"text": text, "model": second})
    assert text in desk.explorers[second]._there and text not in desk.explorers[first]._there
    for wrong in ("gpt-5", 7, ["x"]):
        assert second in desk.answer({"text": FIRST, "model": wrong})["error"]
    assert second in desk.page().decode()
