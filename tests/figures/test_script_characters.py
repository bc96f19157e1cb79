"""Characters that several tokens make up, and text from right to left, in a passage on a page."""

from types import SimpleNamespace

import pytest

from report.datasets import store
from report.datasets.formats import passage
from report.kinds.passage.data import PassageData
from report.models.text.tokens import with_parts
from tests.figures import hand_made, live_page
from tests.figures.live_page import go_live, resting, until
from tests.serving import served

pytestmark = pytest.mark.browser

FAMILY = "👩\u200d👩\u200d👧"
LEFT = ["The", " 你".encode()[:2], "你".encode()[1:], ".", *FAMILY, "x", "é".encode()[:1], b"\xa9"]
RIGHT = ["מה", " ", "ש".encode()[:1], "ש".encode()[1:], "ל", "ו\u05b9", "ם", " 12 ", "abc", "?"]
MARKED = "document.querySelector('.token--marked')?.dataset.token"
CHIPS = "[...document.querySelectorAll('.pins__chip')].map(chip => chip.textContent)"


def tokens_of(texts):
    """Tokens as a passage has them, of texts or bytes, as many as the study has."""
    tokens = [{"id": 0, "text": "<|begin|>", "special": True}]
    for each in texts[: hand_made.LENGTH - 1]:
        part = each if isinstance(each, bytes) else each.encode()
        text = part.decode(errors="replace")
        own = {} if text.encode() == part else {"bytes": part.hex(" ")}
        tokens.append({"id": len(tokens), "text": text, "special": False} | own)
    return with_parts(tokens)


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    """A function from "left" or "right" to the address of a page with that passage."""
    root = tmp_path_factory.mktemp("characters")
    for name, texts in (("left", LEFT), ("right", RIGHT)):
        data = hand_made.study(root / name / "datasets" / "hand" / "0123456789ab")
        rest = [" lamp"] * hand_made.LENGTH
        about = dict.fromkeys(("name", "title", "source", "licence", "language"), "hand")
        told = passage.encode(SimpleNamespace(**about), tokens_of([*texts, *rest]))
        store.write(data.path / "passage.json", told)
        live_page.write(root / name, PassageData(data.path), ["attention_map"])
    with served(root) as address:
        yield lambda name: f"{address}{name}/articles/hand/"


def boxes(page, token):
    return resting(page.locator(f".token[data-token='{token}']"))


def point(page, box, share):
    page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)


def test_the_parts_of_a_character_are_pointed_at_and_pinned_each(page, addresses):
    page.goto(addresses("left"))
    go_live(page, 1)
    page.locator("#passage").scroll_into_view_if_needed()
    shown = page.evaluate("document.querySelector('#passage').textContent")
    assert shown.startswith(f"<|begin|>The 你.{FAMILY}xé lamp lamp"), "each character is there once"
    assert page.locator("#passage .token").count() == hand_made.LENGTH
    for first, count, of in ((2, 2, "你"), (5, 5, FAMILY), (11, 2, "é")):
        box = boxes(page, first)
        for number in range(count):
            assert boxes(page, first + number) == box
            point(page, box, (number + 0.5) / count)
            assert page.evaluate(MARKED) == str(first + number)
            tip = page.text_content("#token-tip").split("\n")[-1]
            said = f"token {first + number}, part {number + 1} of {count} of “\u2068{of}\u2069”"
            assert tip.startswith(f"{said}, id {first + number}")
    assert tip.endswith("bytes a9")
    page.mouse.down()
    page.mouse.up()
    assert page.evaluate(CHIPS) == ["“2/2·é”, token 12×"]
    until(page, "location.hash.includes('pinned_token=12')")
    page.keyboard.press("ArrowLeft")  # from the part that was pressed
    assert page.evaluate(MARKED) == "11"


def test_an_address_pins_a_part_and_keys_reach_every_one(page, addresses):
    page.goto(f"{addresses('left')}#fig-1:pinned_token=6")
    go_live(page, 1)
    until(page, "document.querySelector('.token--pinned')?.dataset.token === '6'")
    assert page.evaluate(CHIPS) == [f"“2/5·{FAMILY}”, token 6×"]
    page.locator(".token[data-token='0']").focus()
    met = [page.evaluate(MARKED)]
    for _ in range(hand_made.LENGTH - 1):
        page.keyboard.press("ArrowRight")
        met.append(page.evaluate(MARKED))
    assert met == [str(number) for number in range(hand_made.LENGTH)]


def test_a_text_from_right_to_left_runs_so_and_its_tokens_with_it(page, addresses):
    page.goto(addresses("right"))
    go_live(page, 1)
    page.locator("#passage").scroll_into_view_if_needed()
    assert page.get_attribute("#passage", "dir") == "rtl"
    begins = [boxes(page, token) for token in (0, 1, 3, 5, 6, 7)]
    left = [box["x"] for box in begins]
    assert left == sorted(left, reverse=True), "each token lies left of the one before"
    point(page, boxes(page, 3), 0.75)
    assert page.evaluate(MARKED) == "3"
    point(page, boxes(page, 3), 0.25)
    assert page.evaluate(MARKED) == "4"
    words = boxes(page, 9)
    point(page, words, 0.5)
    assert page.evaluate(MARKED) == "9"
    page.locator(".token[data-token='3']").focus()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(MARKED) == "4", "the arrow goes where the text does"
    tip = "getComputedStyle(document.querySelector('#token-tip')).direction"
    assert page.evaluate(tip) == "ltr"
