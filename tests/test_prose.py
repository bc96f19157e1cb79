"""What article 1 says of models that differ: true sentences, and none that is about another kind.

The article's own template is rendered with hand-made studies of every kind; no picture is drawn.
"""

import html
import re

import pytest

from report import pages
from report.article import figure_module, figure_names
from report.study import read_study
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


class NoChart:
    def to_dict(self):
        return {"usermeta": {"report": {"data": {"url": ""}}}}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function from a kind and sizes to the article's text and the names of its figures."""
    monkeypatch.setattr(pages, "write_pictures", lambda *arguments: None)
    for name in figure_names():  # words only: the charts have tests of their own
        monkeypatch.setattr(figure_module(name), "chart", lambda data, **state: NoChart())
    study = read_study(TEMPLATE)

    def write(kind, layers_of_model=None, **sizes):
        for name, value in sizes.items():
            monkeypatch.setattr(hand_made, name, value)
        data = hand_made.study(tmp_path / "datasets", kind)
        if layers_of_model:
            data.manifest["model"]["num_hidden_layers"] = layers_of_model
        pages.render_article(study, data, tmp_path / "site_src")
        text = (tmp_path / "site_src" / "articles" / "attention-focus-plots.md").read_text("utf-8")
        figures = re.findall(r'data-figure="(\w+)"', text)
        alone = re.findall(r'^\n<figure .*?data-figure="(\w+)".*</figure>\n$', text, re.MULTILINE)
        assert alone == figures  # within a paragraph it would be a part of it
        text = re.sub(r'<div class="passage".*?</div>', "", text)
        text = re.sub(r"<figure .*?<figcaption>(.*?) <span.*?</figure>", r"\1", text)
        text = re.sub(r"<[^>]*>", "", text)
        return html.unescape(text), figures

    return write


@pytest.mark.parametrize(("kind", "sizes"), EVERY + UNUSUAL)
def test_sentences_are_whole(written, kind, sizes):
    text, _ = written(kind, **sizes)
    prose = text.split("## How this was measured")[0].split(" min read ")[1].split("\n", 1)[1]
    for paragraph in re.split(r"\n\s*\n", prose.strip()):
        joined = paragraph.replace("\n", " ").strip()
        if not joined.startswith(("#", "- ")):
            assert joined[-1] in ".:)]", joined
        assert not re.search(r" [.,;:)](?!\w)|[.,;:]{2}(?<!l\.,)|\S {2}", joined), joined
    assert not re.search(r"\b1 (layers|heads|tokens)\b|\bNone\b|\bnan\b|\ball 1 ", prose)
    assert set(re.findall(r"\[\^(\w+)\](?!:)", prose)) == set(re.findall(r"\[\^(\w+)\]:", prose))


@pytest.mark.parametrize("kind", hand_made.KINDS)
def test_words_fit_the_kind(written, kind):
    text, figures = written(kind)
    like = hand_made.KINDS[kind]
    own_words = {
        "ALiBi": "position" in like.terms and like.position == "target_difference",
        "rotary": "position" in like.terms and like.position == "cell",
        "There is no term for position": "position" not in like.terms and "score" not in like.terms,
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
    for name in ("attention_breakdown", "bias_vs_position"):
        assert (name in figures) == (len(terms) >= 2)


def test_only_what_was_measured_is_spoken_of(written):
    text, _ = written("rotary", layers_of_model=32)
    assert "Of its 32 layers of 4 heads each, only the first 3 layers are measured" in text
    assert "layer 2, the last one measured" in text
    assert "in this model" not in text.lower().split("a score is a sum")[0]
    assert "Only the first 3 of 32 layers were measured" in text
    assert "parameters where models in daily use" not in text
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


def test_settings_of_the_article_itself_speak_of_no_kind():
    front = read_study(TEMPLATE).front_matter
    assert not re.search("ALiBi|rotary|causal", f"{front.title} {front.summary} {front.tags}")
