"""What article 3 says of models that differ: true sentences, and none that is about another kind.

The article's own template is rendered with hand-made studies of every kind; no picture is drawn.
"""

import html
import re

import numpy as np
import pytest

from report.datasets import store
from report.datasets.formats.token_classes import CLASSES
from report.kinds.table.findings import TableFindings
from report.study.study import read_study
from report.text import number
from tests import rendered
from tests.commands import ROOT
from tests.figures import hand_made, hand_table
from tests.rendered import plain, prose

TEMPLATE = ROOT / "templates" / "articles" / "reading-a-table.md.j2"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function from a kind of model to the article's text, its figures and its data."""
    rendered.words_only(monkeypatch)
    study = read_study(TEMPLATE)

    def write(kind="alibi_bias", changed=lambda data: data, **model):
        data = changed(hand_table.study(tmp_path / "0123456789ab", kind))
        data.manifest["model"] |= model
        text = rendered.text_of(study, data, tmp_path)
        figures = rendered.figures(text)
        return text, figures, data

    return write


@pytest.mark.parametrize("kind", hand_made.KINDS)
def test_sentences_are_whole(written, kind):
    text, figures, _ = written(kind)
    assert figures == ["table_attention_map", "classes_by_layer", "renderings_compared"]
    assert not re.search(r"\d", rendered.answer(text))
    assert rendered.explains_its_first_head(prose(text))


def test_hostile_cells_stay_text(written):
    text, _, data = written()
    for token in data.first.tokens:
        if token.role == "value" and "<" in token.text:
            assert f">{html.escape(token.label, quote=False)}" in text
    assert "<b>a</b>" not in text
    assert "</script>" not in text
    assert "{{x}}" not in plain(text).split("| Head |")[0].replace("{{x}}|", "")
    for line in re.findall(r'<div class="passage passage--table".*?</div>', text, re.DOTALL):
        assert "\n" not in line  # a blank line would end the raw HTML


def test_what_was_not_seen_in_training_is_said_of_embedded_models_only(written):
    text, _, _ = written(source="embedded")
    assert "said over and over, with no table among them." in plain(text)
    assert "This model has not learnt to read tables" in plain(text)
    text, _, _ = written(source="hub")
    assert "no table" not in plain(text)
    assert "not learnt to read tables" not in plain(text)


def test_only_what_was_measured_is_spoken_of(written):
    text, _, _ = written("rotary", num_hidden_layers=32)
    assert "(the first 3 of its 32 layers)" in text
    assert "Only the first 3 of 32 layers were measured" in text
    assert "this model" not in prose(text).lower().replace("this model’s", "")


def test_words_about_position_fit_the_kind(written):
    for kind, like in hand_made.KINDS.items():
        text, _, _ = written(kind, little("header"))
        alibi = "position" in like.terms and like.position == "target_difference"
        assert ("fall with distance (ALiBi)" in plain(text)) == alibi
        assert ("slanted stripes" in plain(text)) <= like.causal


def little(target):
    """A change that takes nearly everything from a class, and gives it to other cells."""

    def changed(data):
        return given(data, {target: 0.001, "other_cells": None})

    return changed


def given(data, wanted):
    """Data whose heads all give what is wanted to classes in the CSV; None: what is left."""
    table = dict(data.class_shares)
    table["probability"] = table["probability"].copy()
    csv = table["rendering"] == "csv"
    rest = 1 - sum(
        (wanted[name] or 0)
        if name in wanted
        else table["probability"][csv & (table["target"] == name)].mean()
        for name in data.targets
    )
    for name, value in wanted.items():
        table["probability"][csv & (table["target"] == name)] = rest if value is None else value
    data.__dict__["class_shares"] = table
    return data


def test_where_no_head_prefers_its_column_nothing_is_made_of_it(written):
    def even(data):
        find = TableFindings(data)
        return given(data, {"same_column": find.even("same_column"), "other_cells": None})

    text, _, data = written("content", even)
    assert not TableFindings(data).reading
    assert "This is no habit of reading columns." in plain(text)
    assert "Here are the" not in text
    assert "No head gives its column more than one and a half times" in plain(text)


def test_a_sink_is_named_only_where_a_head_rests_there(written):
    text, _, _ = written("content", lambda d: given(d, {"first_token": 0.6, "other_cells": None}))
    assert "*attention sink*" in plain(text)
    text, _, _ = written("content", little("first_token"))
    assert "*attention sink*" not in plain(text)
    assert "too little to call it a sink" in plain(text)


def test_words_fit_what_a_model_has(written):
    for kind, like in hand_made.KINDS.items():
        said = plain(written(kind)[0])
        assert ("goes to **no token** at all" in said) == (like.sink is not None)
        assert ("Not every layer sees the whole table: in layers 0 and 2" in said) == (
            like.window is not None
        )
        assert ("among itself and what came before" in said) == like.causal


def test_repetition_that_chance_would_give_explains_nothing(written, monkeypatch):
    def strong(data):
        return given(data, {"same_column": 0.9, "other_cells": None})

    monkeypatch.setattr(TableFindings, "even_part", lambda find, kind: 0.9)
    text, _, data = written("content", strong)
    assert TableFindings(data).reading
    assert "Repetition does not explain how" in plain(text)
    assert "they look up a repetition" not in plain(text)


def test_shares_of_a_column_are_said_to_be_of_the_column(written):
    text, _, data = written()
    said = plain(text)
    assert TableFindings(data).reading
    assert "| Of that, copies or followers |" in text
    assert re.search("gives? to the cells above, .* how much of that goes to .?copies.? or", said)
    assert re.search(r"(no token has|one token has|\d+ tokens have) characters of two parts", said)


def test_delimiters_of_the_json_are_many_and_not_preferred(written, monkeypatch):
    said = "The delimiters of the JSON get more because there are more of them"
    for steady in (True, False):
        monkeypatch.setattr(TableFindings, "steady", lambda find, target, as_said=steady: as_said)
        text, _, data = written()
        more = TableFindings(data).mean("delimiter", "json") > TableFindings(data).mean("delimiter")
        assert (said in plain(text)) == (steady and more)


def test_settings_of_the_article_itself_speak_of_no_kind():
    study = read_study(TEMPLATE)
    front = study.front_matter
    assert front.kind == "table"
    assert study.template.read_text("utf-8").split("---")[1].count("\n") <= 14
    assert not re.search("ALiBi|rotary|causal|falcon", f"{front.title} {front.summary}")


# --- Numbers -------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path):
    return hand_table.study(tmp_path / "a")


def test_repetition_is_what_a_plain_loop_finds(data):
    find, ids = TableFindings(data), [token.id for token in data.tokens]
    names = list(CLASSES)
    expected = {"copies": 0.0, "followers": 0.0}
    even = {"copies": 0.0, "followers": 0.0}
    column = {"copies": 0.0, "followers": 0.0, "whole": 0.0}
    probability = data.attention(1, 2).probability
    for i in data.current:
        for j in range(i + 1):
            kinds = {
                "copies": j < i and ids[j] == ids[i],
                "followers": j > 0 and ids[j - 1] == ids[i],
            }
            above = names[data.classes[i, j]] == "same_column"
            column["whole"] += above / (i + 1)
            for name, is_one in kinds.items():
                expected[name] += probability[i, j] * is_one / len(data.current)
                even[name] += is_one / (i + 1) / len(data.current)
                column[name] += (is_one and above) / (i + 1)
    for name in ("copies", "followers"):
        assert find.repetition[name][1, 2] == pytest.approx(expected[name])
        assert find.even_repetition[name] == pytest.approx(even[name])
        assert find.even_part(name) == pytest.approx(column[name] / column["whole"])
        assert (find.repetition[f"same_column_{name}"] <= find.repetition[name] + 1e-12).all()
    assert max(expected.values()) > 0


def test_columns_of_a_head_add_up_to_its_class(data):
    find = TableFindings(data)
    head = find.strongest("same_column")
    columns = find.columns(head)
    weights = [
        sum(data.first.tokens[i].column == number for i in data.current)
        for number in range(len(columns))
    ]
    mean = np.average([each.share for each in columns], weights=weights)
    assert mean == pytest.approx(head.value, abs=1e-3)
    even = np.average([each.even for each in columns], weights=weights)
    assert even == pytest.approx(find.even("same_column"), abs=1e-4)


def test_heads_that_prefer_a_class_are_those_beyond_one_and_a_half_times(data):
    find = TableFindings(data)
    for name in data.renderings:
        values, even = data.shares("same_column", name), find.even("same_column", name)
        np.testing.assert_array_equal(find.prefers("same_column", name), values >= 1.5 * even)
    everywhere = {(head.layer, head.head) for head in find.readers()}
    each = [
        set(zip(*find.prefers("same_column", n).nonzero(), strict=True)) for n in data.renderings
    ]
    assert everywhere == {(int(a), int(b)) for a, b in set.intersection(*each)}
    values = [head.value for head in find.readers()]
    assert values == sorted(values, reverse=True)


def test_heads_that_read_the_column_are_listed_in_every_way_to_write_the_table(written):
    text, _, data = written("content", lambda d: given(d, {"same_column": 0.7, "other_cells": 0.1}))
    find = TableFindings(data)
    rows = re.findall(r"^ *\| (L\dH\d) \|((?:[^|]*× \|){3})$", text, re.M)
    assert [label for label, _ in rows] == [each.head.label for each in find.reading]
    label, cells = rows[0]
    csv, json, _ = (cell.replace("\u00a0", " ") for cell in cells.strip("|").split("|"))
    assert csv == f" 70 %, {number(0.7 / find.even('same_column'))}× "
    share = find.shares("same_column", "json")[int(label[1]), int(label[3])]
    assert json.startswith(f" {100 * share:.0f} %, ")


def test_what_all_ways_to_write_the_table_share_is_said_of_each_alone(written):
    def strong(data):
        data = given(data, {"same_column": 0.7, "other_cells": 0.05})
        table = data.class_shares
        column = table["target"] == "same_column"
        table["probability"][column & (table["rendering"] != "csv")] = 0.6
        return data

    text, _, data = written("content", strong)
    find = TableFindings(data)
    heads = find.readers()
    assert len(heads) == data.layers * data.heads
    least = min(0.6 / find.even("same_column", name) for name in ("json", "sentences"))
    assert find.least_times("same_column", heads) == pytest.approx(least)
    assert f"at least {number(least)} times uniform attention." in plain(text)
    said = "".join(t.text for t in data.renderings["sentences"].tokens if t.role == "delimiter")
    assert ("commas stand in all three, and may still help" in plain(text)) == ("," in said)


def test_numbers_of_the_page_are_those_of_the_files(written):
    text, _, data = written()
    find = TableFindings(data)
    top = find.strongest("delimiter")
    row = re.search(r"^\| delimiters \|(.*)\|$", text, re.M)[1].replace("\u00a0", " ")
    mean, even, times, largest, head = (cell.strip() for cell in row.split("|"))
    values = store.read(data.path / "class_shares.json")["tables"]["heads"]["columns"]
    here = [
        (p * values["probability"]["step"], e * values["even"]["step"])
        for p, e, target, rendering in zip(
            *(values[n]["values"] for n in ("probability", "even", "target", "rendering")),
            strict=True,
        )
        if (target, rendering) == ("delimiter", "csv")
    ]
    given_mean, even_mean = np.mean(here, 0)
    assert mean == f"{100 * given_mean:.1f} %"
    assert even == f"{100 * even_mean:.1f} %"
    assert float(times) == pytest.approx(given_mean / even_mean, rel=0.05)
    assert (largest, head) == (f"{100 * max(p for p, _ in here):.1f} %", top.label)
