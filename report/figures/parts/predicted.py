"""Controls and words that the figures of an article about predictions share: the text, the token of
it that predicts (its row), and the logit that is explained there."""

from dataclasses import dataclass

import altair
import numpy as np

from report.figures.parts import choices
from report.figures.parts.choices import Control, Switch
from report.figures.parts.heads import Head, head_label
from report.kinds.prediction.data import PredictionData, Sentence
from report.kinds.prediction.pieces import Head as OneHead
from report.kinds.prediction.pieces import Word
from report.text import number, set_apart, shortened, signed

EFFECT = "direct effect"
UNIT = "logits"

TEXT = "sentences/{sentence}.json"
"""File of a text and its tokens, within the datasets of a model."""

LONGEST = 72
"""Characters of a text on the switch."""


def controls(data: PredictionData) -> list[Control | Switch]:
    """The switch between texts, and the slider over the tokens that predict."""
    return [*texts(data), row_control(data)]


def texts(data: PredictionData, more: dict[str, str] | None = None) -> list[Switch]:
    """The switch between the texts; [] where there is one option.

    more: further options, value -> label; the switch opens at the first of them
    """
    numbered = {str(place): _named(text) for place, text in enumerate(data.sentences)}
    more = more or {}
    options = numbered | more
    first = next(iter(more or numbered))
    return [Switch("sentence", "Sentence", options, first)] if len(options) > 1 else []


def _named(sentence):
    """Label of a text on the switch; the end of a long one, since the prediction follows it."""
    text = sentence.text.strip()
    short = text if len(text) <= LONGEST else f"…{text[-LONGEST:]}"
    return f"{short} → {shown_word(sentence.target())}" if sentence.asks else short


def text_of(data: PredictionData, at: choices.State) -> Sentence:
    """The text that a state of the controls selects."""
    return data.sentences[int(at.get("sentence", 0))]


def text_name(at: choices.State) -> str:
    """The same text in words: "sentence 2", or "the text" where there is one."""
    return f"sentence {int(at['sentence']) + 1}" if "sentence" in at else "the text"


def address(data: PredictionData, url: str) -> str:
    """An address with {sentence} in it, which the script fills in; filled in for a single text."""
    return url if texts(data) else url.replace("{sentence}", "0")


def row_control(data: PredictionData) -> Control:
    """The slider over the tokens that predict.

    It counts from the last one, since texts differ in length.
    """
    most = max(sentence.rows for sentence in data.sentences)
    return Control("back", "Tokens before the last", 0, most - 1, 0, seldom=True)


def head_choice(data: PredictionData) -> Control:
    """The slider over the heads whose output was measured."""
    labels = [head_label(*head) for head in data.shown_heads]
    return Control("chosen", "Head", 0, len(labels) - 1, 0, labels=labels)


def head_controls(data: PredictionData) -> list[Control | Switch]:
    """The switch between texts, and the slider over heads."""
    return [*texts(data), head_choice(data)]


def chosen_head(data: PredictionData, at: choices.State) -> tuple[Sentence, OneHead]:
    """The text and the head of it that `head_controls` are at."""
    sentence = text_of(data, at)
    return sentence, sentence.head(*data.shown_heads[at["chosen"]])


def unmeasured(data: PredictionData, what: str) -> str:
    """A sentence if no single head was measured, else ""; what: "what heads write", for one."""
    return "" if data.shown_heads else f"{what[0].upper()}{what[1:]} was not measured."


@dataclass(frozen=True)
class Shown:
    """A text, and a row: the index of the token that predicts."""

    sentence: Sentence
    row: int

    @property
    def heads(self) -> np.ndarray:
        """Direct effects of heads, float [layers, heads]."""
        return self.sentence.heads[self.row]

    @property
    def logit(self) -> float:
        """The logit less that of another token, or less the mean; all direct effects sum to it."""
        return float(self.sentence.logit[self.row])

    @property
    def place(self) -> str:
        """The token that predicts: "token 15, “to”"."""
        return f"token {self.row}, {quoted(self.sentence.tokens[self.row].label)}"

    @property
    def statement(self) -> str:
        """`logit` in words: "the logit of “Mary” is 6.1 above that of “John”"."""
        target, other = self.sentence.target(self.row), self.sentence.other(self.row)
        than = f"that of {of_word(other)}" if other else "the mean of all tokens"
        way = "above" if self.logit >= 0 else "below"
        return f"the logit of {of_word(target)} is {number(abs(self.logit))} {way} {than}"


def shown(data: PredictionData, at: choices.State) -> Shown:
    """The text and the row that a state selects; the first row of a text shorter than that."""
    sentence = text_of(data, at)
    return Shown(sentence, max(sentence.rows - 1 - at.get("back", 0), 0))


def explanation(data: PredictionData) -> str:
    """What "the prediction" is, the logit that effects sum to, for a caption."""
    if not any(sentence.asks for sentence in data.sentences):
        return (
            "The prediction is the logit of the token that comes next in the text, less the mean "
            "of all tokens' logits."
        )
    against = "the mean of all tokens"
    if any(sentence.other() for sentence in data.sentences if sentence.asks):
        against = "the one it is compared with"
    return (
        f"The prediction is how far the answer’s logit is above {against}; before the last token, "
        "how far that of the next token of the text is above the mean of all."
    )


def bare(label: str) -> str:
    """A token without the spaces around it; "␣" if it has only spaces."""
    return label.strip() or "␣"


def quoted(text: str) -> str:
    """A token in a sentence, in quotation marks, without the space before it."""
    return f"“{set_apart(shortened(bare(text), 24))}”"


def of_word(word: Word) -> str:
    """A word of the vocabulary, `quoted`."""
    return quoted(word.label)


def shown_word(word: Word) -> str:
    """A word of the vocabulary on the switch, without quotation marks."""
    return set_apart(shortened(bare(word.label), 12))


def strongest(values: np.ndarray, most: int) -> list[Head]:
    """At most `most` heads with the largest values, all above 0, the largest first.

    values: float [layers, heads]
    """
    order = np.argsort(-values, axis=None, kind="stable")[:most]
    places = [np.unravel_index(place, values.shape) for place in order]
    heads = [Head(int(layer), int(head), float(values[layer, head])) for layer, head in places]
    return [head for head in heads if head.value > 0]


def listed(heads: list[Head], sign: int = 1) -> str:
    """Heads with their values: "L23H3 (+2.9) and L29H1 (+1.7)"."""
    each = [f"{head.label} ({signed(sign * head.value)})" for head in heads]
    *others, last = each
    return f"{', '.join(others)} and {last}" if others else last


def token_channel(channel: type, title: str, across: bool) -> altair.FieldChannelMixin:
    """An axis of tokens, labelled by the field "named", in the order of "token".

    channel: altair.X or altair.Y; across: whether labels stand upright
    """
    axis = altair.Axis(
        title=title,
        domain=False,
        ticks=False,
        labelLimit=altair.ExprRef("width > 500 ? 120 : 84"),
        labelOverlap=False,
        **({"labelAngle": -90} if across else {"minExtent": 78, "titleX": -82}),
    )
    return channel("named:N", sort=altair.SortField("token"), axis=axis)


def named(sentence: Sentence, token: int) -> str:
    """Label of a token on an axis: its text and its index, so that no two are the same."""
    label = sentence.tokens[token].name
    return f"{shortened(bare(label), 10)}\u200e\u00a0\u00a0{token}"
