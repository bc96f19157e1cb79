"""A text in regions from front matter to a page, its numbers beside those of plain loops."""

import copy
import html
import json
import re
import shutil

import numpy as np
import pytest
import torch

from report.datasets.formats.attention import of_regions
from report.datasets.formats.regions import FAR, STEP
from report.datasets.read.study import open_study
from report.errors import ReportError
from report.figures import region_map
from report.inputs.rows import own_text
from report.kinds.passage import measure as passage
from report.kinds.passage.live import LivePassage
from report.kinds.regions import measure as kind
from report.kinds.regions.data import verify
from report.kinds.regions.findings import Findings
from report.measurements.regions import APART
from report.measuring.run import read
from report.models.text.tokens import encode
from report.study.study import read_study
from tests.commands import report
from tests.figures import hand_regions
from tests.figures.hand_regions import INPUTS, TEXT, measured
from tests.site import tiny_models
from tests.themed import write_themed


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return hand_regions.study(tmp_path_factory.mktemp("regions"))


@pytest.fixture(scope="module")
def plain():
    """Token ids, attention float64 [layers, heads, T, T] as transformers gives it, and logits."""
    loaded, *_ = measured()
    ids = encode(loaded, TEXT)
    before = loaded.model.config._attn_implementation
    loaded.model.set_attn_implementation("eager")
    with torch.no_grad():
        output = loaded.model(torch.tensor([ids]), output_attentions=True, use_cache=False)
    loaded.model.set_attn_implementation(before)
    return ids, torch.cat(output.attentions).double().numpy(), output.logits[0].double()


def test_a_passage_is_divided_likewise_and_gives_the_same(data):
    """Its attention of tokens, added up, is what was added up while the model ran."""
    inputs = passage.Inputs(own_text(TEXT), None, "", False, regions={"pattern": "lamp"})
    live = LivePassage(measured()[0], inputs, lambda _: None)
    assert live.regions["sentences"] == [each.first for each in data.regions]
    for layer, head in ((0, 0), (2, 13), (4, 27)):
        found = of_regions(live.attention(layer, head), live.regions["sentences"])
        firsts = live.regions["sentences"]
        assert found.probability[firsts][:, firsts] == pytest.approx(
            data.between(layer, head), abs=STEP + 0.0005 * 12
        )
    for by, texts in {
        "words": re.findall(r"\w+|\.", TEXT),
        "regions": [part.strip() for part in re.split("(lamp)", TEXT)],
    }.items():
        firsts = live.regions[by]
        spans = zip(firsts, [*firsts[1:], live.length], strict=True)
        found = [live.tokens[a:b] for a, b in spans if not live.tokens[a].special]
        assert ["".join(token.text for token in each).strip() for each in found] == texts


def test_what_regions_give_is_that_of_a_plain_loop_over_the_models_attention(data, plain):
    ids, attention, _ = plain
    assert [token.id for token in data.tokens] == ids
    assert "".join(t.text for t in data.tokens if not t.special).strip() == TEXT
    spans = [range(each.first, each.first + each.tokens) for each in data.regions]
    assert [each.text for each in data.regions if not each.added] == re.findall(r"\S.*?\.", TEXT)
    for layer, head in ((0, 0), (2, 13), (4, 27)):
        rows = attention[layer, head]
        loop = [[np.mean([sum(rows[q, k] for k in b) for q in a]) for b in spans] for a in spans]
        assert data.between(layer, head) == pytest.approx(np.array(loop), abs=STEP)
        inside = [sum(rows[q, k] for k in a) for a in spans for q in a if q]
        assert data.of_heads("same")[layer, head] == pytest.approx(np.mean(inside), abs=STEP)
        firsts = [a[0] for a in spans[1:]]
        given = np.mean([sum(rows[q, k] for k in firsts) for q in range(1, len(ids))])
        assert data.of_heads("first")[layer, head] == pytest.approx(given, abs=STEP)
    even = np.mean([sum(k in a for k in range(q + 1)) / (q + 1) for a in spans for q in a if q])
    assert data.of_heads("even_same")[0, 0] == pytest.approx(even, abs=STEP)


def test_the_loss_without_heads_is_that_of_plain_hooks(data, plain):
    loaded, result, _ = measured()
    ids, _, logits = plain
    answer = data.answer[0]
    asked = range(answer.first, answer.first + answer.tokens)
    assert (answer, asked.stop) == (data.regions[-1], len(ids))

    def loss(logits):
        return -np.mean([float(logits[at - 1].log_softmax(-1)[ids[at]]) for at in asked])

    assert data.about["loss"] == pytest.approx(loss(logits), abs=1e-5)

    def without(places):
        def hook(_, args, layer):
            context = args[0].clone()
            context.unflatten(-1, (28, -1))[..., [h for at, h in places if at == layer], :] = 0
            return (context,)

        layers = loaded.model.model.layers
        hooks = [
            each.self_attn.o_proj.register_forward_pre_hook(
                lambda module, args, layer=layer: hook(module, args, layer)
            )
            for layer, each in enumerate(layers)
        ]
        with torch.no_grad():
            logits = loaded.model(torch.tensor([ids]), use_cache=False).logits[0].double()
        for each in hooks:
            each.remove()
        return loss(logits)

    value, random = data.rises("zero")
    assert value == pytest.approx(without(data.receivers) - loss(logits), abs=2e-4)
    sets = kind.random_sets(result.receivers, 28)
    for place in (0, 57):
        assert random[place] == pytest.approx(without(sets[place]) - loss(logits), abs=2e-4)
    assert data.rises("mean")[0] != value


def test_receivers_are_the_most_uneven_heads_and_random_sets_are_others_of_their_layers():
    unevenness = np.full((3, 20), 0.0)
    unevenness[1, :14] = np.arange(14, 0, -1)
    unevenness[2, 3], unevenness[0, 0] = 0.5, np.nan
    assert kind.receivers_of(unevenness) == [(1, 0), (1, 1), (1, 2)]
    receivers = kind.receivers_of(np.tile(unevenness, (5, 1)) + np.eye(15, 20) * 1e-9)
    assert len(receivers) == 15
    many = kind.receivers_of(np.repeat(np.arange(30.0)[:, None], 4, 1))
    assert many == [(29, 0), (29, 1), (28, 0), (28, 1), (27, 0), (27, 1)]  # half of a layer
    sets = kind.random_sets(many, 4)
    assert len(sets) == kind.DRAWS
    for each in sets:
        assert not {*each} & {*many}
        assert [at for at, _ in sorted(each)] == [at for at, _ in sorted(many)]
        assert len({*each}) == len(each)
    assert kind.receivers_of(np.full((2, 2), np.nan)) == []
    assert kind.receivers_of(np.ones((4, 1))) == []


def test_what_may_be_said_of_it(data):
    verify(data)
    find = Findings(data)
    values = data.of_heads("unevenness")
    top = find.receivers[0]
    assert top.value == values[top.layer, top.head] == np.nanmax(values)
    assert len(find.receivers) == 7
    region = find.most_received(top)
    assert find.received(top, region) == np.nanmax(data.received()[top.layer, top.head])
    shares = data.between(top.layer, top.head)[region.index + FAR :, region.index]
    assert find.most_given(top, region) == max(shares)
    assert FAR == APART
    assert sum(number for _, number in find.come_back_to(find.receivers)) == 7
    assert len(find.others) == 5 * 28 - 7
    assert -1 <= find.agreement <= 1
    for by in ("mean", "zero"):
        value, random = data.rises(by)
        rise = find.rise(by)
        assert rise.low <= rise.random <= rise.high
        assert (random < rise.low).mean() <= 0.05
        assert rise.at_least == sum(float(each) >= value for each in random)
        assert (rise.outside == "above") == (value > rise.high)
    assert find.strongest("same").value == data.of_heads("same").max()
    with pytest.raises(ReportError, match="was not measured; measured are"):
        find.median("worth")


def backwards(table, column):
    table["columns"][column]["values"].reverse()


def doubled(table, column):
    table["columns"][column]["step"] *= 2


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("regions", lambda tables: tables["heads"]["columns"].pop("last"), "has other columns"),
        (
            "regions",
            lambda tables: backwards(tables["received"], "head"),
            "a row for each: 5 of layer",
        ),
        ("regions", lambda tables: backwards(tables["regions"], "tokens"), "are not all tokens"),
        ("regions/0", lambda tables: doubled(tables["map"], "head_3"), "is more than 1"),
    ],
)
def test_a_damaged_dataset_is_refused(data, tmp_path, file, change, message):
    folder = shutil.copytree(data.path, tmp_path / data.path.name)
    path = folder / f"{file}.json"
    content = json.loads(path.read_text())
    change(content["tables"])
    path.write_text(json.dumps(content))
    damaged = open_study([folder])
    damaged.manifest["files"][f"{file}.json"] = None
    with pytest.raises(ReportError, match=message):
        verify(damaged)


FRONT = """---
title: Back
date: 2026-01-02
author: Ann
summary: Back?
regions: {regions}
{more}---
"""


@pytest.mark.parametrize(
    ("regions", "more", "message"),
    [
        ("verses", "", "regions"),
        ("{pattern: ''}", "", "pattern"),
        ("{by: words, answer: 0}", "", "answer"),
        ("{answer: 2}", "", "must say one of `by`, `pattern` and `marks`"),
        ("{by: words, pattern: a}", "", "must say one of `by`, `pattern` and `marks`"),
        ("words", "layers: 2\n", "regions needs all of them"),
        ("words", "chat: true\n", "which needs turns: say `regions: roles`"),
        ("{marks: [' ']}", "", "has one of white space"),
        ("words", "models: [falcon-8x8, llama-4x4]\n", "name one `model`"),
        ("words", "table: cars\n", "says `regions` and `table`|says `table` and `regions`"),
        ("words", "predict: true\n", "which an article about regions does not read"),
    ],
)
def test_front_matter_that_does_not_fit_is_refused(tmp_path, regions, more, message):
    path = tmp_path / "templates" / "articles" / "back.md.j2"
    path.parent.mkdir(parents=True)
    path.write_text(FRONT.format(regions=regions, more=more))
    with pytest.raises(ReportError, match=message) as refused:
        read_study(path)
    assert str(refused.value).count("\n") == 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"passage": own_text("One, two, three.")}, "has 1 region, .* take a longer one"),
        ({"by": "words", "passage": own_text("a " * 200)}, "has 200 regions, .* take a shorter"),
        ({"answer": 16}, "`answer: 16` leaves no region before it, the text has 16"),
        ({"by": {"pattern": "zebra"}}, "matches nothing in the text"),
    ],
)
def test_a_text_that_does_not_do_is_refused_before_it_is_measured(changed, message):
    loaded, *_ = measured()
    with pytest.raises(ReportError, match=message):
        kind.tokenized(loaded, kind.Inputs(**(vars(INPUTS) | changed)))


TURNS = "system: Be brief.\nuser: Who lit it?\nassistant: Nobody did.\nuser: Why?"
TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}> {{ m.content | trim }}\n{% endfor %}"
    "{% if messages[0].role == 'user' %}{{ raise_exception('no system') }}{% endif %}"
)


def test_turns_in_a_template_are_regions_and_what_it_writes_is_none_of_them():
    loaded = copy.copy(measured()[0])
    object.__setattr__(loaded, "tokenizer", copy.deepcopy(loaded.tokenizer))
    loaded.tokenizer.chat_template = TEMPLATE
    about = vars(INPUTS) | {"by": "roles", "passage": own_text(TURNS)}
    text = kind.tokenized(loaded, kind.Inputs(**about | {"chat": "available"}))
    assert [each for *_, each in text.regions] == [
        *("<system>", "Be brief.", "<user>", "Who lit it?"),
        *("<assistant>", "Nobody did.", "<user>", "Why?"),
    ]
    assert (text.template, text.answer) == ([0, 2, 4, 6], range(7, 8))
    first, number, _ = text.regions[7]
    assert [*text.tokens_of_answer] == [*range(first, first + number)]
    loaded.tokenizer.chat_template = TEMPLATE.replace("trim", "upper")
    with pytest.raises(ReportError, match="changes or leaves out a turn"):
        kind.tokenized(loaded, kind.Inputs(**about | {"chat": True}))
    loaded.tokenizer.chat_template = TEMPLATE
    about["passage"] = own_text(TURNS.partition("\n")[2])
    with pytest.raises(ReportError, match="does not take the turns user, assistant, user"):
        kind.tokenized(loaded, kind.Inputs(**about | {"chat": True}))
    plain = kind.tokenized(measured()[0], kind.Inputs(**about))
    assert [each for *_, each in plain.regions[1:]] == TURNS.split("\n")[1:]


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        ("{pattern: zebra}", "matches nothing in the text"),
        ("{marks: [zebra]}", "has no 'zebra'"),
        ("cells", "finds no table"),
        ("paragraphs", "the text has 1 region"),
    ],
)
def test_a_text_that_cannot_be_cut_names_the_line_of_regions(tmp_path, regions, message):
    path = tmp_path / "templates" / "articles" / "back.md.j2"
    path.parent.mkdir(parents=True)
    path.write_text(FRONT.format(regions=regions, more="passage: {text: A cat. A dog.}\n"))
    with pytest.raises(ReportError, match=rf"back\.md\.j2, line 6: .*{message}"):
        read(read_study(path))


def test_few_regions_have_maps_and_no_receivers():
    loaded, *_ = measured()
    inputs = kind.Inputs(own_text("One. Two. Three."), "sentences", 1, INPUTS.corpus)
    result, facts = kind.measure(loaded, inputs, lambda *_: None, lambda _: None)
    assert (result.receivers, result.sums.between.shape[-1]) == ([], 4)  # with what begins a text
    assert "no head can be compared" in facts["regions"]["reason"]


def test_a_model_without_other_heads_is_measured_and_says_why_none_was_replaced(monkeypatch):
    loaded, *_ = measured()
    monkeypatch.setattr(kind, "receivers_of", lambda _: [])
    result, facts = kind.measure(loaded, INPUTS, lambda *_: None, lambda _: None)
    assert result.rises == {}
    assert "no head can be compared with others" in facts["regions"]["reason"]
    assert facts["regions"]["loss"] is None


def test_an_encoder_has_maps_of_both_directions_and_says_why_no_head_was_replaced(tmp_path):
    tiny_models.save("bert", tmp_path / "bert")
    data = hand_regions.study(tmp_path / "of_bert", str(tmp_path / "bert"))
    verify(data)
    assert "reads in both directions" in data.about["reason"]
    assert [each.text for each in data.regions if each.added] == ["[CLS]", "[SEP]"]
    assert [each.index for each in data.answer] == [len(data.regions) - 2]
    assert data.sees_later
    assert data.between(1, 1).sum(1) == pytest.approx(1, abs=STEP * len(data.regions))
    with pytest.raises(ReportError, match=r"no head was replaced by mean: .* both directions"):
        Findings(data).rise()
    assert region_map.chart(data, layer=1, head=1).to_dict()


def test_an_article_is_made_measured_drawn_and_checked(tmp_path):
    root = write_themed(tmp_path / "publication")
    assert report("new", "back", "--kind", "regions", "--project", root).returncode == 0
    built = report("site", "--study", "back", "--project", root)
    assert built.returncode == 0, built.stdout + built.stderr
    text = (root / "site_src" / "articles" / "back" / "index.md").read_text()
    words = re.sub("<[^>]*>", "", html.unescape(text))
    assert re.search(r"L\dH\d is the head that comes back most unevenly", words)
    assert "the loss on the answer rises by" in words
    assert text.count('<figure class="live-figure') == 2
    checked = report("check", root / "site")
    assert checked.returncode == 0, checked.stdout + checked.stderr
