"""What heads do to the next token, on the page of `explore`: where it is asked for, and can be."""

import json
import re
import threading
from functools import partial
from itertools import count
from urllib.parse import urlencode

import pytest
from tokenizers.processors import TemplateProcessing
from transformers import OPTConfig, OPTForCausalLM

from report.datasets import store
from report.errors import ReportError
from report.exploring import server
from report.exploring.page import EFFECTS, LENS, Explorer, Question
from report.exploring.server import Desk
from report.kinds.prediction import measure as kind
from report.notebook.measurement import load
from tests import tabs
from tests.figures.live_page import go_live, until
from tests.small import SENTENCE
from tests.tiny_falcon import byte_level_tokenizer, random_falcon

BESIDE = ["effects_by_head-1", "effects_by_head-2", "effect_by_target-1", "effect_by_target-2"]
LAYERS = ["logit_lens-1", "logit_lens-2"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def explorer(falcon_folder, cache):
    return Explorer(load(falcon_folder), None)


def answered(explorer, number, text, **asked):
    return explorer.answer(Question(number, text, **asked), lambda *_: None, print)


def charts(answer):
    """Names of the charts of an answer, in the order of the page."""
    return re.findall(r'data-spec="[^"]*/([^/"]+)\.json"', answer.html)


def test_figures_of_the_next_token_stand_below_the_others(explorer):
    plain = charts(answered(explorer, 1, SENTENCE))
    assert charts(answered(explorer, 2, SENTENCE, predict=EFFECTS)) == plain + BESIDE
    assert charts(answered(explorer, 3, SENTENCE, predict=LENS)) == plain + BESIDE + LAYERS


def test_all_that_they_fetch_is_there(explorer):
    answer = answered(explorer, 4, SENTENCE, predict=LENS)
    made = {name: store.as_read(make(), name) for name, make in answer.files.items() if rows(name)}
    assert made
    figures = "figures/text-4"
    for chart in BESIDE[:2] + LAYERS:
        spec = answer.files[f"{figures}/{chart}.json"]()
        place = spec["usermeta"]["report"]["data"]["url"].rpartition("/")[2]
        states = [re.sub(r"\{.*?\}", "(.+)", place)]
        assert sum(bool(re.fullmatch(states[0], name.rpartition("/")[2])) for name in made)
    for name in ("sentences/0", "head/0/2/3"):
        assert json.dumps(answer.files[f"datasets/text-4/text-4/{name}.json"]())


LONGER = SENTENCE + " And?"
OTHER = LONGER + " Who?"
"""Texts of their own: what answers show that are still there is not measured again."""


def test_two_texts_have_them_beside_each_other(explorer):
    length = explorer.model.measure(LONGER).data.length
    token = length - 3
    both = answered(explorer, 8, LONGER, other=OTHER, predict=LENS, token=token)
    plain = charts(answered(explorer, 9, LONGER, other=OTHER))
    more = [f"other_{chart}" for chart in BESIDE + LAYERS]
    assert sorted(charts(both)) == sorted(plain + BESIDE + LAYERS + more)
    assert charts(both)[-len(more) :] == more
    alone = answered(explorer, 10, OTHER, predict=LENS)
    folder, own = "datasets/text-8/text-8-other", "datasets/text-10/text-10"
    names = [name.removeprefix(own) for name in alone.files if "/sentences/" in name]
    for name in [*names, "/head/0/2/3.json"]:
        assert both.files[folder + name]() == alone.files[own + name](), name
    further = explorer.model.measure(OTHER).data.length - length
    sliders = re.findall(r"<input[^>]*name=\"?back\b[^>]*>", both.html)
    backs = [int(re.search(r'value="?(\d+)', each)[1]) for each in sliders]
    assert {*backs} == {1, 1 + further}, "both begin at the token that is pinned"


def test_a_text_beside_it_that_is_too_long_for_them_says_so(explorer, monkeypatch):
    monkeypatch.setattr(kind, "MOST", explorer.model.measure(LONGER).data.length)
    answer = answered(explorer, 11, LONGER, other=OTHER * 2, predict=EFFECTS)
    assert charts(answer)[-1] != "other_effect_by_target-2"
    assert {*BESIDE} <= {*charts(answer)}
    assert "to its next token is not shown" in answer.html


def rows(name):
    return "/rows/" in name and ("effects_by_head" in name or "logit_lens" in name)


def test_they_open_at_the_token_that_is_pinned(explorer):
    length = explorer.model.measure(SENTENCE).data.length
    for token, back in ((3, length - 5), (length - 1, 0), (None, 0), (999, 0)):
        answer = answered(explorer, 5, SENTENCE, predict=EFFECTS, token=token)
        sliders = re.findall(r"<input[^>]*name=\"?back\b[^>]*>", answer.html)
        assert [re.search(r'value="?(\d+)', each)[1] for each in sliders] == [str(back)]


def without_effects(explorer, text, why):
    """A text has all figures but those of the next token, and it is said why."""
    plain = charts(answered(explorer, 6, text))
    answer = answered(explorer, 7, text, predict=LENS)
    assert charts(answer) == plain
    assert why in answer.html
    assert not any("/sentences/" in name for name in answer.files)


def test_a_text_that_is_too_long_for_them_has_all_else(explorer, monkeypatch):
    monkeypatch.setattr(kind, "MOST", 5)
    without_effects(explorer, SENTENCE, "at most 5")


def test_a_text_of_two_tokens_has_one_next_token_and_of_one_token_is_refused(tmp_path, cache):
    tokenizer = byte_level_tokenizer()
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing("$A", special_tokens=[])
    explorer = explorer_of(tmp_path, random_falcon(), tokenizer)
    answer = answered(explorer, 1, "ab", predict=LENS)
    assert charts(answer)[-6:] == BESIDE + LAYERS
    assert "it sees no other" in answer.html
    assert "nan" not in re.sub(r"<[^>]*>", "", answer.html)
    with pytest.raises(ReportError, match="at least 2 tokens"):
        answered(explorer, 2, "a", predict=LENS)


def explorer_of(folder, model, tokenizer):
    for part in (model, tokenizer):
        part.save_pretrained(folder / "model")
    return Explorer(load(folder / "model"), None)


def test_a_model_whose_parts_cannot_be_told_apart_has_all_else(tmp_path, cache):
    size = {"hidden_size": 32, "word_embed_proj_dim": 32, "ffn_dim": 32}
    config = OPTConfig(
        vocab_size=320, num_hidden_layers=2, num_attention_heads=4, do_layer_norm_before=False,
        max_position_embeddings=64, pad_token_id=0, **size,
    )  # fmt: skip
    explorer = explorer_of(tmp_path, OPTForCausalLM(config), byte_level_tokenizer())
    without_effects(explorer, "Ann stood by the lamp.", "a norm after each sum")


class StoppedError(ReportError):
    """As of a question that a newer one takes the place of."""


def test_a_newer_question_ends_their_measuring(explorer):
    counts = []
    for predict in ("", LENS):
        steps = count(1)
        step = partial(next, steps)
        Explorer(explorer.model, None).answer(
            Question(8, SENTENCE, predict=predict), lambda *_, call=step: call(), print
        )
        counts.append(next(steps))
    assert counts[1] > counts[0] + 1
    for last in range(*counts):
        with pytest.raises(StoppedError):
            fresh = Explorer(explorer.model, None)
            fresh.answer(Question(9, SENTENCE, predict=LENS), stopping(last), print)


def stopping(last):
    """A progress that ends the measuring from a step on."""
    steps = count(1)

    def step(*_):
        if next(steps) >= last:
            raise StoppedError("another text")

    return step


def test_what_takes_much_memory_goes_before_other_answers_are_too_many(cache, falcon_folder):
    desk = Desk(Explorer(load(falcon_folder), None))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "MEMORY", 1)
        desk.answer({"text": SENTENCE, "predict": EFFECTS})
        texts = ["the lamp was lit", "the hill was lit"]
        more = [desk.answer({"text": text, "other": "a b"})["number"] for text in texts]
    assert [*desk.answers] == more[1:]
    there = {each.path.name for each in desk.explorer._there.values()}  # whoever else holds them
    assert there == {f"text-{more[1]}", f"text-{more[1]}-other"}


def test_answers_of_the_same_text_count_it_once(explorer, monkeypatch):
    desk = Desk(explorer)
    desk.answer({"text": SENTENCE, "predict": EFFECTS})
    monkeypatch.setattr(server, "MEMORY", 1 + 2 * desk._size())
    numbers = [desk.answer({"text": SENTENCE, "layer": layer})["number"] for layer in range(6)]
    assert [*desk.answers][1:] == numbers


@pytest.mark.parametrize("predict", [1, True, None, "all", ["lens"]])
def test_another_word_for_them_is_refused(explorer, predict):
    answer = Desk(explorer).answer({"text": SENTENCE, "predict": predict})
    assert answer["error"].startswith("predict is empty, or")


def test_the_server_answers_with_them(explorer):
    desk = Desk(explorer)
    answer = desk.answer({"text": SENTENCE, "predict": LENS, "token": 2})
    assert "logit_lens" in answer["html"]
    name = f"text-{answer['number']}"
    assert desk.file(answer["number"], f"datasets/{name}/{name}/lens/0.json")


@pytest.mark.browser
def test_they_follow_the_token_that_is_pinned_and_the_address_has_their_choice(browser, explorer):
    with server.page_of(explorer, 0) as (serving, address):
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        with tabs.visits(browser, address.split("articles/")[0], {}, alone=True) as visit:
            page = visit("articles/explore/?" + urlencode({"text": SENTENCE, "predict": EFFECTS}))
            until(page, "document.querySelectorAll('.live-figure').length === 5")
            go_live(page, 4)
            page.locator("#passage .token").nth(3).click()
            slider = "document.querySelector('#fig-4 input[name=back]')"
            until(page, f"{slider}.value === String({slider}.max - 3)")
            page.select_option("[name=predict]", LENS)
            until(page, "document.querySelectorAll('.live-figure').length === 6")
            assert page.evaluate(f"{slider}.value === String({slider}.max - 3)")
            assert page.evaluate("new URLSearchParams(location.search).get('predict')") == LENS
            page.select_option("[name=predict]", "")
            until(page, "document.querySelectorAll('.live-figure').length === 3")
            assert not page.evaluate("new URLSearchParams(location.search).has('predict')")
        serving.shutdown()
