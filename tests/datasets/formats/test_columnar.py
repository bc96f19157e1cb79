"""Tables, updates and head statistics: what goes in comes out, described and rounded as stated."""

from types import SimpleNamespace

import numpy as np
import pytest

from report.datasets import store
from report.datasets.formats import columnar, head_statistics, updates
from report.datasets.formats.columnar import Column
from report.datasets.formats.passage import encode as encode_passage
from report.datasets.formats.passage import part_name, together, token_label
from report.measures import shipped


def test_columns_come_back_within_half_a_step():
    values = np.random.default_rng(0).normal(size=50)
    columns = {
        "x": Column("a number", "ratio", values, 0.0001),
        "i": Column("an index", "index from 0", np.arange(50)),
        "s": Column("a name", "text", ["a", "b"] * 25),
    }
    dataset = store.check(columnar.encode({"t": columns}, layer=2), "test")
    back = columnar.decode(dataset)["t"]
    assert np.abs(back["x"] - values).max() <= 0.00005 + 1e-12
    assert back["i"].tolist() == list(range(50))
    assert back["s"].tolist() == ["a", "b"] * 25
    assert dataset["layer"] == 2


def test_a_number_that_is_not_known_is_null_in_the_file():
    dataset = columnar.encode({"t": {"a": Column("d", "u", [0.5, np.nan], 0.1)}})
    assert store.check(dataset, "test")["tables"]["t"]["columns"]["a"]["values"] == [5, None]
    np.testing.assert_allclose(columnar.decode(dataset)["t"]["a"], [0.5, np.nan], equal_nan=True)


def test_updates_are_listed_head_by_head():
    magnitude = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    dataset = store.check(
        updates.encode(1, magnitude, -magnitude, np.array([[0, 0, 2], [0, 1, 1]])), "test"
    )
    points = columnar.decode(dataset)["points"]
    assert points["head"].tolist() == [0, 0, 0, 1, 1, 1]
    assert points["token"].tolist() == [0, 1, 2, 0, 1, 2]
    assert np.allclose(points["magnitude"], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert np.allclose(points["alignment"], -points["magnitude"])
    assert points["largest_target"].tolist() == [0, 0, 2, 0, 1, 1]
    assert columnar.decode(dataset)["region"]["magnitude"].size == 0  # too few points to outline


def test_updates_and_their_outline_come_back_within_half_a_step():
    rng = np.random.default_rng(2)
    pair = rng.uniform(0, 1, (4, 30)), rng.uniform(-1, 1, (4, 30))
    dataset = updates.encode(0, *pair, np.zeros((4, 30), int), tuple(each / 3 for each in pair))
    points = columnar.decode(dataset)["points"]
    for name, values in zip(("magnitude", "alignment"), pair, strict=True):
        for column, exact in ((name, values), (f"raw_{name}", values / 3)):
            assert 0 < np.abs(points[column] - exact.ravel()).max() <= 0.00005 + 1e-12
    corners = columnar.decode(dataset)["region"]["magnitude"]
    exact = updates.crowded_region(pair[0].ravel(), points["token"], np.full(120, True))
    assert 0 < np.abs(corners - exact["magnitude"]).max() <= 0.00005 + 1e-12


def test_the_outline_holds_the_stated_part_of_the_crowd():
    rng = np.random.default_rng(1)
    token = np.repeat(np.arange(100), 20)
    magnitude = rng.uniform(0, 1, token.size)
    outline = updates.crowded_region(magnitude, token, np.ones(token.size, bool))
    half = len(outline["order"]) // 2
    down, up = outline["token"][:half], outline["token"][half:]
    assert down.tolist() == up[::-1].tolist() == list(range(1, 100))
    lower, upper = outline["magnitude"][:half], outline["magnitude"][half:][::-1]
    inside = [
        lower[t - 1] <= m <= upper[t - 1] for t, m in zip(token, magnitude, strict=True) if t > 0
    ]
    assert np.mean(inside) == pytest.approx(updates.CROWD, abs=0.02)


PARTS = ("mean", "error", "spread", "even")


def test_heads_are_ranked_within_their_layer():
    values = np.array([[0.3, 0.1, 0.2], [0.5, 0.5, 0.0]])
    assert head_statistics.ranks(values).tolist() == [[2, 0, 1], [1, 2, 0]]
    parts = {name: lambda _, by=by: values / by for by, name in enumerate(PARTS, start=1)}
    statistics = SimpleNamespace(**parts)
    sources = {"passage": statistics, "corpus": statistics}
    dataset = head_statistics.encode(shipped()["itself"], sources)
    heads = columnar.decode(store.check(dataset, "test"))["heads"]
    assert len(heads["layer"]) == 12
    row = (heads["source"] == "corpus") & (heads["layer"] == 1) & (heads["head"] == 1)
    assert heads["itself"][row] == 0.5
    assert heads["rank_itself"][row] == 2
    assert heads["error_itself"][row] == 0.25
    assert heads["even_itself"][row] == 0.125


def test_a_head_without_a_number_comes_first_and_a_measure_without_any_is_not_written():
    values = np.array([[0.3, np.nan, 0.2]])
    assert head_statistics.ranks(values).tolist() == [[2, 0, 1]]
    nothing = SimpleNamespace(mean=lambda _: np.full((1, 3), np.nan), measures=["itself"])
    assert not head_statistics.applies(shipped()["itself"], {"passage": nothing})
    assert not head_statistics.applies(shipped()["entropy"], {"passage": nothing})  # not taken


FLAG = "🏴\U000e0067\U000e0062\U000e0073\U000e007f"


@pytest.mark.parametrize(
    ("text", "raw", "label"),
    [
        (" lamp", None, " lamp"),
        ("\n", None, "↵"),
        ("\n\n", None, "↵↵"),
        (" ", None, "␣"),
        ("   ", None, "␣␣␣"),
        ("\t", None, "⇥"),
        ("\u200b", None, "⟨200b⟩"),
        ("\u202e", None, "⟨202e⟩"),
        ("a\u2028b", None, "a↵b"),
        ("\x00", None, "⟨0000⟩"),
        ("\ufffd", "e2 80", "⟨e2 80⟩"),
        ("<b>", None, "<b>"),
        ("سلام", None, "سلام"),
        ("🦊", None, "🦊"),
        ("👩🏽\u200d❤️\u200d👨", None, "👩🏽\u200d❤️\u200d👨"),
        ("🙂\u200d↔️", None, "🙂\u200d↔️"),
        (FLAG, None, FLAG),
        (FLAG[:-1], None, "🏴⟨e0067⟩⟨e0062⟩⟨e0073⟩"),
        ("می\u200cسوزد", None, "می\u200cسوزد"),
        ("क्\u200dष", None, "क्\u200dष"),
        ("\u200d", None, "⟨200d⟩"),
        ("a\u200db\u200cc", None, "a⟨200d⟩b⟨200c⟩c"),
        ("👩\u200d", None, "👩⟨200d⟩"),
        ("\u0301", None, "◌\u0301"),
        ("ि", None, "◌ि"),
        ("", None, "⟨⟩"),
    ],
)
def test_every_token_can_be_seen(text, raw, label):
    assert token_label(text, raw) == label


@pytest.mark.parametrize(
    ("of", "raw", "label", "name"),
    [
        ("你", "e4 bd", "2/3·你 ⟨bytes e4 bd⟩", "2/3·你"),
        (" 你", "20 e4", "2/3·你 ⟨bytes 20 e4⟩", "2/3·你"),
        ("🇩🇪", None, "2/3·🇩🇪", "2/3·🇩🇪"),
        ("\n\u0301", None, "2/3·↵\u0301", "2/3·↵\u0301"),
        ("\u202eש", "d7", "2/3·⟨202e⟩ש ⟨bytes d7⟩", "2/3·⟨202e⟩ש"),
        ("  ", None, "2/3·␣␣", "2/3·␣␣"),
        (99 * "x", None, f"2/3·{39 * 'x'}…", f"2/3·{39 * 'x'}…"),
    ],
)
def test_a_part_is_called_by_its_character_and_tells_its_bytes(of, raw, label, name):
    part = {"of": of, "number": 2, "count": 3}
    assert token_label("\ufffd", raw, part) == label
    assert part_name(part) == name


def test_the_parts_of_a_character_are_put_together_and_those_of_another_are_not():
    def parts(of, count):
        return [
            SimpleNamespace(part={"of": of, "number": n + 1, "count": count}) for n in range(count)
        ]

    alone = SimpleNamespace(part=None)
    first, second = parts("你", 2), parts("你", 2)
    tokens = [alone, *first, *second, alone, first[1], first[0], second[0]]
    others = [[alone], [first[1]], [first[0]], [second[0]]]
    assert together(tokens) == [[alone], first, second, *others]


def test_a_passage_keeps_exact_text_and_marks_what_is_not_plain():
    about = SimpleNamespace(name="n", title="t", source="s", licence="l", language="en")
    pieces = [
        {"id": 0, "text": "<|b|>", "special": True},
        {"id": 7, "text": "\n", "special": False},
        {"id": 9, "text": "\ufffd", "special": False, "bytes": "e2 80"},
        {"id": 3, "text": "\ud800", "special": False},
    ]
    tokens = store.check(encode_passage(about, pieces), "test")["tokens"]
    assert tokens[0] == {"id": 0, "text": "<|b|>", "special": True}
    assert tokens[1] == {"id": 7, "text": "\n", "label": "↵"}
    assert tokens[2] == {"id": 9, "text": "\ufffd", "label": "⟨e2 80⟩", "bytes": "e2 80"}
    assert tokens[3]["text"] == "?"
