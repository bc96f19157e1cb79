"""What article 1 says of models that differ: true sentences, and none that is about another kind.

The article's own template is rendered with hand-made studies of every kind; no picture is drawn.
"""

import html
import re
from types import SimpleNamespace

import numpy as np
import pytest

from report.figures.parts.heads import MagnitudeRatio
from report.kinds.passage.findings import Findings
from report.study.study import read_study
from tests import rendered
from tests.commands import ROOT
from tests.figures import hand_made

TEMPLATE = ROOT / "templates" / "articles" / "attention-focus-plots.md.j2"
EVERY = [(kind, {}) for kind in hand_made.KINDS]
UNUSUAL = [
    ("rotary", {"layers_of_model": 32}),
    ("rotary", {"layers_of_model": 32, "LAYERS": 1}),
    ("encoder", {"LAYERS": 1}),
    ("alibi_bias", {"LAYERS": 2, "HEADS": 2}),
    ("rotary_bias", {"LAYERS": 1, "HEADS": 1}),
    ("learned_bias", {"LENGTH": 8}),
    ("encoder_rotary", {"LENGTH": 8}),
]


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function from a kind and sizes to the article's text and the names of its figures."""
    rendered.words_only(monkeypatch)
    study = read_study(TEMPLATE)

    def write(kind, layers_of_model=None, **sizes):
        for name, value in sizes.items():
            monkeypatch.setattr(hand_made, name, value)
        data = hand_made.study(tmp_path / "datasets", kind)
        if layers_of_model:
            data.manifest["model"]["num_hidden_layers"] = layers_of_model
        text = rendered.text_of(study, data, tmp_path)
        figures = rendered.figures(text)
        text = rendered.without_passage(text)
        text = rendered.captions_alone(text)
        text = re.sub(r"<[^>]*>", "", text)
        return html.unescape(text), figures

    return write


@pytest.mark.parametrize(("kind", "sizes"), EVERY + UNUSUAL)
def test_sentences_begin_with_words_and_explain_names(written, kind, sizes):
    prose = rendered.body(written(kind, **sizes)[0]).partition("\n")[2]
    assert rendered.explains_its_first_head(prose)
    assert not rendered.begins_with_a_digit(prose)


@pytest.mark.parametrize("kind", hand_made.KINDS)
def test_words_fit_the_kind(written, kind):
    text, figures = written(kind)
    like = hand_made.KINDS[kind]
    own_words = {
        "ALiBi": "position" in like.terms and like.position == "target_difference",
        "rotary": "position" in like.terms and like.position == "cell",
        "There is no term for position": not {"position", "score", "mixed"} & {*like.terms},
        "adds a vector for every place": "mixed" in like.terms,
        "can be taken apart": "content_position" in like.terms,
        "**bias** term": "bias" in like.terms,
        "There is no bias term": "bias" not in like.terms and "score" not in like.terms,
        "row constant": "row_constant" in like.terms,
        "squeezes": like.softcap is not None,
        "goes to the sink": like.sink is not None,
        "Not every layer sees everything": like.window is not None,
        "encoder": not like.causal,
        "look back": like.causal,
        "only attend to itself": like.causal,
        "the token just after": not like.causal,
        "a norm rescales": like.updates == "effective",
        "could not be told apart": like.updates is None,
        "What they are made of": False,
    }
    assert {word: word in text for word in own_words} == own_words
    assert ("update_magnitude" in figures) == (like.updates is not None)
    terms = {"content", "bias", "position"} & set(like.terms)
    terms |= {"content"} & {term.replace("mixed", "content") for term in like.terms}
    for name in ("attention_breakdown", "bias_vs_position"):
        assert (name in figures) == (len(terms) >= 2)


def test_only_what_was_measured_is_spoken_of(written):
    text, _ = written("rotary", layers_of_model=32)
    assert "Of its 32 layers of 4 heads each, only the first 3 layers are measured" in text
    assert "layer 2, the last one measured" in text
    assert "in this model" not in text.lower().split("a score is a sum")[0]
    assert "Only the first 3 of 32 layers were measured" in text
    assert "a larger one may do" not in text
    assert "running the first 3 layers of" in text
    assert "| Layers measured | the first 3 of 32 |" in text


def test_a_doubled_alibi_and_a_coarse_type_are_owned_up_to(written, monkeypatch):
    manifest = hand_made.manifest

    def told(kind):
        found = manifest(kind)
        found["model"] |= {"alibi_factor": 2, "dtype": "bfloat16", "revision": "a" * 40}
        return found

    monkeypatch.setattr(hand_made, "manifest", told)
    text, _ = written("alibi_bias")
    assert "ALiBi counts 2 times in these measurements, on purpose" in text
    assert "The model was run in bfloat16" in text
    assert "a" * 40 in text


def test_a_chat_template_is_owned_up_to(written, monkeypatch):
    manifest = hand_made.manifest

    def in_a_chat(kind):
        return manifest(kind) | {"determined_by": {"settings": {"chat": True}}}

    monkeypatch.setattr(hand_made, "manifest", in_a_chat)
    text, _ = written("rotary")
    assert "stands in the model’s chat template, as the message of a user" in text
    assert "is put in front of every text" not in text


class FewHeadsLookAtIt(hand_made.Statistics):
    def mean(self, name):
        values = super().mean(name)
        return values / 250 if name in hand_made.FIRST else values


@pytest.fixture
def even(monkeypatch):
    """Every token gives the same attention to all that it sees, in the passage and the corpus."""
    every_term = hand_made.every_term

    def no_term(*arguments):
        terms = every_term(*arguments)
        return [SimpleNamespace(name=t.name, per=t.per, values=0 * t.values) for t in terms]

    monkeypatch.setattr(hand_made, "every_term", no_term)
    monkeypatch.setattr(hand_made, "Statistics", FewHeadsLookAtIt)


@pytest.mark.parametrize("kind", ["content", "encoder", "sink", "window"])
def test_what_even_attention_does_in_a_short_passage_is_no_habit(written, even, kind):
    text, _ = written(kind, LENGTH=6)
    assert "attention sink" not in text
    assert "a plain habit" not in text
    assert "as empty as the first" not in text
    assert "Over the corpus, no head of this model has the first token" in text
    if kind == "content":
        given = "a head gives 29\u00a0% of its attention to the first token, and uniform attention"
        assert f"On average, {given} would give it 29\u00a0%." in text
        assert "picked at random would be the first token in 29\u00a0% of them" in text


def test_a_sink_is_told_from_even_attention(written, monkeypatch):
    every_term = hand_made.every_term

    def drawn(rng, head, position, seen):
        terms = every_term(rng, head, position, seen)
        terms[0].values[1:, 0] += 5
        return terms

    monkeypatch.setattr(hand_made, "every_term", drawn)
    text, _ = written("content")
    assert "attention sink" in text
    assert "where uniform attention would give it 12\u00a0%" in text
    assert "That is no sign of a habit" not in text


def test_nothing_superlative_is_said_of_what_is_nearly_nothing(written, even):
    text, _ = written("content")
    assert "No head is decided: the largest value of all is 0.00" in text
    assert "no head’s top target stands out" in text
    for word in ("most decided", "most self-absorbed", " leads with "):
        assert word not in text


def test_figures_of_directions_open_where_they_show_what_is_said_of_most_updates(written):
    text, _ = written("content")
    told = re.search(r"(\d+)\xa0% point against the hidden state \(left", text)
    found = re.search(r"in layer (\d), where the figure opens, (\d+)\xa0% do", text)
    layer, share, all_layers = found[1], int(found[2]), int(told[1])
    assert share > all_layers if all_layers > 50 else share < all_layers
    assert f"Attention Impact Orientation. As it opens (layer {layer}): " in text
    assert f"Impact Orientation vs Impact Strength. As it opens (layer {layer}): " in text
    assert re.search(rf"{share}\xa0% do, and \d+\xa0% in layer \d\.", text)


def test_what_is_found_names_what_it_was_found_in(written):
    found = written("alibi_bias")[0].split("value can be read.")[1]
    answer, rest = found.split("Figure 1.", 1)
    assert answer.strip()
    assert not re.search(r"\d", answer)
    counted = "the first token is the top target at least half the time, in \\d+ short texts"
    numbers = re.search(f"^For (none|\\d+) of \\d+ heads, {counted}.*", rest, re.MULTILINE)
    assert "In the one passage of this article, " in numbers[0]


def test_heads_whose_largest_target_hardly_leads_are_counted(written, monkeypatch):
    class Narrow(hand_made.Statistics):
        def mean(self, name):
            values = np.full((hand_made.LAYERS, hand_made.HEADS), 0.6)
            if name == "concentration":
                values[:] = 0.3
                values[0] = 0.01
            return values if name in hand_made.FIRST else super().mean(name)

    monkeypatch.setattr(hand_made, "Statistics", Narrow)
    text, _ = written("content")
    hardly = "the top target of the average head hardly leads the second"
    assert f"In layer 0, {hardly}: by a probability of 0.01" in text
    every = hand_made.LAYERS * hand_made.HEADS
    assert f"Of the {every} heads whose top target is the first token" in text
    assert f"{hand_made.HEADS} have a mean lead of less than 0.05" in text


def test_small_numbers_keep_two_digits(written, monkeypatch):
    encode = hand_made.updates.encode

    def short(layer, magnitude, *others):
        return encode(layer, magnitude / 20, *others)

    monkeypatch.setattr(hand_made.updates, "encode", short)
    text, _ = written("content")
    assert len(re.findall(r"median (?:magnitude )?is 0\.00\d\d\b", text)) >= 1
    assert re.search(r"The median magnitude is 0\.0(0[1-9]\d|[1-9]\d)", text)


def test_settings_of_the_article_itself_speak_of_no_kind():
    front = read_study(TEMPLATE).front_matter
    assert not re.search("ALiBi|rotary|causal", f"{front.title} {front.summary} {front.tags}")


@pytest.mark.parametrize(
    ("scale", "said", "unsaid"),
    [
        (0.5, "lean against what is there, and others along it", "mostly erase"),
        (0.05, "most of what heads write is new", "lean against"),
        (None, "some heads mostly erase, and others mostly repeat", "most of what heads write"),
    ],
)
def test_only_far_orientations_erase_or_repeat(written, monkeypatch, scale, said, unsaid):
    encode = hand_made.updates.encode

    def turned(layer, magnitude, alignment, *others):
        signs = np.where(np.arange(len(alignment)) % 2, 1, -1)[:, None]
        far = 0.8 if scale is None else 0.6 * scale
        return encode(layer, magnitude, signs * np.full(alignment.shape, far), *others)

    monkeypatch.setattr(hand_made.updates, "encode", turned)
    text, _ = written("content")
    assert said in text
    assert unsaid not in text


LONGER, SHORTER = (MagnitudeRatio(1, 0.2, 0.1, 2), MagnitudeRatio(1, 0.1, 0.2, 1))
ALIKE = MagnitudeRatio(0, 0.1, 0.1, 0)


@pytest.mark.parametrize(
    ("of_heads", "said"),
    [
        ([SHORTER, SHORTER, ALIKE], "as a place to rest: a head that looks there writes less"),
        ([SHORTER, SHORTER, LONGER], "goes with writing less in most heads, but not in all."),
        (
            [SHORTER, LONGER, LONGER, ALIKE],
            "in some heads only; in more of them, updates towards it are longer.",
        ),
        ([SHORTER, ALIKE, ALIKE], "goes with writing less in some heads only."),
        ([ALIKE, LONGER], "looking at the first token does not go with writing less."),
        ([ALIKE, ALIKE], "it makes little difference."),
        ([LONGER], "Only L1H2 has enough updates of both kinds: their median magnitude is 0.20"),
        ([], "No head has enough updates of both kinds to tell."),
    ],
)
def test_what_looking_at_the_first_token_does_is_said_of_one_and_the_same_head(
    written, monkeypatch, of_heads, said
):
    layers = [MagnitudeRatio(1, 0.1, 0.4), *(MagnitudeRatio(n, 0.2, 0.2) for n in (0, 2))]
    monkeypatch.setattr(Findings, "first_token_updates", layers)
    monkeypatch.setattr(Findings, "first_token_updates_of_heads", of_heads)
    text, _ = written("content")
    assert said in text
    # of several heads, they are counted, not layers
    assert ("compared in all 3 layers" in text) == (len(of_heads) < 2)
    turned = sum(each is LONGER for each in of_heads), sum(each.layer == 1 for each in of_heads)
    other_way = "In layer 1 it is the other way round: "
    if 2 * turned[0] > turned[1] > 1:
        every = f"all {turned[1]}" if turned[0] == turned[1] else f"{turned[0]} of the {turned[1]}"
        assert f"{other_way}{every} heads with both kinds write longer updates" in text
    elif turned[0] == turned[1] == 1:
        assert f"{other_way}the one head with both kinds writes longer updates" in text
    else:
        assert other_way not in text


@pytest.mark.parametrize(
    ("ways", "said"),
    [
        ([0, 0, 0], "The length of an update says little about its orientation, in any layer."),
        (
            [-1, -1, -1],
            "In all 3 layers, longer updates turn more against the hidden state.",
        ),
        (
            [-1, 1, 0],
            "In one layer, longer updates turn more against the hidden state; in one layer, more "
            "along with it. In the other layer, length says little about orientation.",
        ),
        (
            [0, 1, 0],
            "In one layer, longer updates turn more along with the hidden state. In the other "
            "2 layers, length",
        ),
    ],
)
def test_how_length_goes_with_direction_is_counted_by_layer(written, monkeypatch, ways, said):
    monkeypatch.setattr(Findings, "length_with_orientation", ways)
    text, _ = written("content")
    assert said in text


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (
            "alibi_bias",
            "as 23 tokens; with the one that the tokenizer adds, the model sees 24.",
        ),
        ("encoder", "as 22 tokens; with the 2 that the tokenizer adds, the model sees 24."),
    ],
)
def test_what_the_tokenizer_adds_is_counted_apart(written, kind, said):
    text, _ = written(kind)
    assert said in text
    assert "Over all heads and tokens, the top target is" in text


def test_a_passage_to_which_nothing_is_added_is_all_that_the_model_sees(written, monkeypatch):
    encoded = hand_made.encoded_passage

    def bare(kind):
        found = encoded(kind)
        for token in found["tokens"]:
            token.pop("special", None)
        return found

    monkeypatch.setattr(hand_made, "encoded_passage", bare)
    assert "Here is the passage, as the 24 tokens that the model sees." in written("alibi_bias")[0]
