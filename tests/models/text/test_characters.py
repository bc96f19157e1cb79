"""Tokens that are parts of a character are told so, in every script and for every tokenizer."""

from itertools import pairwise
from types import SimpleNamespace

import pytest
import regex

from report.models.text.tokens import MOST, tokenize, with_parts
from tests.models import tiny_tokenizers as kinds

SCRIPTS = {
    "Chinese": "山上的灯亮了。“谁点的灯?”",
    "Korean": "언덕 위의 등불 \u1112\u1161\u11ab",  # the last one in its letters
    "Hindi": "पहाड़ी पर दीपक जला, क्षितिज",
    "Hebrew": "מי הדליק את הַמְּנוֹרָה?",
    "Persian": "چراغ می\u200cسوزد",
    "Thai": "ตะเกียงบนเขาสว่างแล้ว น้ำ",
    "emoji": "👩🏽\u200d❤️\u200d💋\u200d👨🏿 🇩🇪🇫🇷 👍🏾 😀",
    "marks": "cafe\u0301 o\u0323\u0302 n\u0303",
    "mixed": "The lamp 灯 שלום naïve\r\n½ ﬁnd",
}
NASTY = {
    "spaces": "  two spaces\n\nand lines\t \r\n \u00a0 \u3000 \u2028 z ",
    "controls": "\x00\x07\x7f\xad\u200b",
    "compatible": "cafe\u0301 e\u0301 é ﬁnd ½ … Ⅳ ①",
    "spellings": "▁a ▁ Ġb ##c <0xE2> [x] @-@",
    "a mark": "\u0301 on its own",
}
NORMALISING = [kinds.unigram, kinds.word_piece]  # which change characters


def read(kind, text):
    loaded = SimpleNamespace(tokenizer=kind(), identity={"context": None})
    return tokenize(loaded, text).tokens


def pieces(tokens):
    """What is shown, in order: [the text of the parts, or of a token alone; its tokens]."""
    found = []
    for token in tokens:
        if token["special"]:
            continue
        if token.get("part", {}).get("number", 1) == 1:
            found.append([token["part"]["of"] if "part" in token else None, []])
        found[-1][1].append(token)
    return found


def check(tokens, text):
    """The parts are numbered, and are what their character is; all together are the text."""
    shown = b""
    for of, group in pieces(tokens):
        said = b"".join(map(kinds.raw, group))
        assert of is None or of.encode() == said
        assert len(group) <= MOST
        for number, token in enumerate(group, 1):
            part = {"of": of, "number": number, "count": len(group)}
            assert token.get("part") == (part if len(group) > 1 else None)
        shown += said
    assert shown.decode() == text


@pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_part_shows_the_characters_that_it_is_of(kind, script):
    text = SCRIPTS[script]
    tokens = read(kind, text)
    check(tokens, text)
    if kind in NORMALISING:
        return
    shown = [of or group[0]["text"] for of, group in pieces(tokens)]
    assert "".join(shown) == text
    assert any("part" in token for token in tokens)
    ends, end = {0}, 0
    for character in regex.findall(r"\r|\X", text):
        end += len(character)
        ends.add(end)
    end = 0
    for piece in shown:
        end += len(piece)
        assert end in ends, "nothing that is shown begins or ends inside a character"


@pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
def test_the_pieces_give_back_the_text(kind, text):
    for around in (f"a{text}b lamp", f"{text} the lamp{text}"):
        check(read(kind, around), around)


def parts(kind, text):
    return [
        (token["part"]["of"], token["part"]["number"], token["part"]["count"])
        for token in read(kind, text)
        if "part" in token
    ]


def test_letters_that_stand_alone_are_no_parts():
    assert parts(kinds.byte_level, "The lamp; 1/2\r\n\tNULL\x00") == []
    assert parts(kinds.word_piece, "The lamp стоит") == []


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (["🇩", "🇪"], ["🇩🇪"]),
        (["🇩", "🇪", "🇫", "🇷"], ["🇩🇪", "🇫🇷"]),
        (["👩", "\u200d", "👧"], ["👩\u200d👧"]),
        (["👍", "🏾", "!"], ["👍🏾", None]),
        (["cafe", "\u0301", " au"], ["cafe\u0301", None]),
        (["می", "\u200c", "سوزد"], ["می\u200c", None]),
        (["नम", "स्", "ते"], [None, "स्ते"]),
        (["\u0301", "a"], [None, None]),
        (["\r", "\n", "é"], [None, None, None]),
        (["灯", "灯"], [None, None]),
    ],
)
def test_what_would_show_a_broken_sign_alone_is_one(texts, shown):
    given = [{"id": 1, "text": text, "special": False} for text in texts]
    assert [of for of, _ in pieces(with_parts(given))] == shown


def tokens_of(*parts):
    """Tokens as `spelled` gives them, of bytes."""
    found = []
    for part in parts:
        token = {"id": 5, "text": part.decode(errors="replace"), "special": False}
        found.append(token | ({"bytes": part.hex(" ")} if token["text"].encode() != part else {}))
    return found


def test_a_token_that_ends_one_character_and_begins_the_next_joins_them():
    found = with_parts(tokens_of(b"\xe4\xbd", b"\xa0\xe5", b"\xa5\xbd", b"!"))
    assert [of for of, _ in pieces(found)] == ["你好", None]


def test_tokens_that_share_a_character_are_its_parts():
    shared = [token for token in read(kinds.unigram, "find ﬁ") if token.get("spelling") == "i"]
    assert [token["part"]["of"].strip() for token in shared] == ["ﬁ"]


def test_what_the_tokenizer_adds_parts_characters():
    given = tokens_of(b"\xe4\xbd", b"\xa0")
    added = {"id": 0, "text": "<s>", "special": True}
    assert with_parts([given[0], added, given[1]]) == [given[0], added, given[1]]


def test_bytes_that_become_no_character_stay_bytes():
    given = tokens_of(b"a\xe4", b"\xbd", b"\xff", "é".encode()[:1], "é".encode()[1:], b"\xa0")
    found = with_parts(given)
    assert found[:3] == given[:3]
    assert [token["part"]["of"] for token in found[3:5]] == ["é", "é"]
    assert found[5] == given[5]


def test_the_replacement_character_is_a_character_like_others():
    found = parts(kinds.byte_level, "a\ufffdb\ufffd")
    assert found == 2 * [("\ufffd", number, 3) for number in (1, 2, 3)]


@pytest.mark.parametrize("kind", [kinds.byte_level, kinds.llama2])
def test_a_pile_of_marks_is_left_as_it_is(kind):
    text = "a" + 10_000 * "\u0301" + " 灯"
    tokens = read(kind, text)
    check(tokens, text)
    assert {token["part"]["of"].strip() for token in tokens if "part" in token} == {"灯"}


@pytest.mark.parametrize("characters", [MOST - 1, MOST])
def test_a_chain_of_tokens_that_no_character_parts_has_an_end(characters):
    text = ("你" * characters).encode()
    cuts = [0, *range(1, len(text), 3), len(text)]
    given = tokens_of(*(text[start:end] for start, end in pairwise(cuts)))
    assert len(given) == characters + 1
    assert any("part" in token for token in with_parts(given)) == (len(given) <= MOST)
