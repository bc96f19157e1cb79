"""The datasets of an article about predictions, read lazily: texts, their lenses, their heads."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from report.datasets.formats import prediction, prediction_head, prediction_lens
from report.datasets.read.generated import GeneratedData
from report.datasets.read.model import Measured
from report.datasets.read.passage import Token, tokens_of
from report.errors import ReportError
from report.text import isolated


def opened(paths: Sequence[Path]) -> "PredictionData":
    """The data of an article; paths: one folder, as it is about one model."""
    return PredictionData(paths[0])


@dataclass(frozen=True)
class Word:
    """A token of the vocabulary."""

    id: int
    label: str
    """What a figure shows for it: "␣Mary" would be " Mary"."""


@dataclass(frozen=True)
class Part:
    """Who wrote something into a hidden state.

    kind: "embedding", "head", "attention biases", "feed-forward", or "biases" for what norms and
        projections add to whatever they are given
    """

    kind: str
    layer: int | None = None
    head: int | None = None

    @property
    def label(self) -> str:
        """ "L3H1" for a head, "feed-forward 3", "embedding"."""
        if self.kind == "head":
            return f"L{self.layer}H{self.head}"
        return self.kind if self.layer is None else f"{self.kind} {self.layer}"


@dataclass(frozen=True)
class Lens:
    """What the hidden states of a text would predict if the last norm followed.

    States: the embedding, then of each layer the one after its attention and the one after its
    feed-forward; so state 0, and 2 * layer + 1 and 2 * layer + 2.
    """

    labels: tuple[str, ...]
    """[states]: "embedding", "layer 0, attention", "layer 0, feed-forward", ..."""
    tokens: np.ndarray
    """int [states, rows, best], ids of the most likely next tokens, best first."""
    log_probability: np.ndarray
    """float [states, rows, best], theirs, in nats."""
    target_log_probability: np.ndarray
    """float [states, rows], of the token that the row asks about."""
    target_rank: np.ndarray
    """int [states, rows], 0 for the most likely token."""
    other_log_probability: np.ndarray | None
    """float [states], of the token that the last row asks against; None if there is none."""
    other_rank: np.ndarray | None
    words: dict[int, str] = field(default_factory=dict)
    """Id -> label, of all tokens in `tokens`."""


@dataclass(frozen=True)
class Writes:
    """What a head would add to logits at the last row if all its attention were on one token.

    Logits less the mean over the vocabulary; the strongest first.
    """

    promoted: np.ndarray
    """int [sources, best], ids."""
    promoted_by: np.ndarray
    """float [sources, best], in logits."""
    suppressed: np.ndarray
    suppressed_by: np.ndarray
    words: dict[int, str]
    """Id -> label."""


@dataclass(frozen=True)
class Origins:
    """What a head's scores from the last row are made of, before softmax and before a cap."""

    parts: tuple[Part, ...]
    targets: range
    """The tokens that are looked at."""
    score: np.ndarray
    """float [targets]."""
    position: np.ndarray
    """float [targets], what ALiBi adds; 0 elsewhere."""
    by_query: np.ndarray
    """float [parts, targets]: what each part of the row's hidden state looks for; sums to
    score - position."""
    by_key: np.ndarray
    """float [parts, targets]: what each part of a target's hidden state is found by; the same."""


@dataclass(frozen=True)
class Head:
    """What one head does to the predictions of a text."""

    layer: int
    head: int
    effect: np.ndarray
    """float [rows, tokens], what a row's logit gets by way of each target; 0 after the row. Sums
    over targets to the head's direct effect."""
    probability: np.ndarray
    """float [rows, tokens], how much attention each target gets."""
    writes: Writes | None
    """Of a head in `PredictionData.shown_heads`."""
    origins: Origins | None


class Sentence:
    """A text, what is asked at its tokens, and what each part of the model does to that."""

    def __init__(self, data: "PredictionData", number: int):
        self._data, self.number = data, number
        about = data.manifest["prediction"]["sentences"][number]
        self.text: str = isolated(about["text"])
        self.length: int = about["tokens"]
        """Tokens."""
        self.asks: bool = about["target"] is not None
        """Whether the last token is asked about, as a prompt does; of a passage every next token
        is."""

    @functools.cached_property
    def _told(self):
        return self._data._read(prediction.sentence_file(self.number))

    @functools.cached_property
    def _arrays(self):
        return prediction.decode(self._told)

    @functools.cached_property
    def tokens(self) -> list[Token]:
        """[T], as those of a passage: index, id, text, label."""
        return tokens_of(self._told["tokens"])

    @property
    def rows(self) -> int:
        """How many tokens predict, from the first on: T, or T - 1 of a passage."""
        return len(self._told["rows"]["token"])

    def target(self, row: int = -1) -> Word:
        """The token whose logit a row asks about."""
        return self._word(self._told["rows"]["token"][row])

    def other(self, row: int = -1) -> Word | None:
        """The token whose logit is subtracted; None: the mean over the vocabulary is."""
        token = self._told["rows"]["against"][row]
        return None if token is None else self._word(token)

    def _word(self, token):
        return Word(token, isolated(self._told["words"][str(token)]))

    @property
    def heads(self) -> np.ndarray:
        """Direct effects of heads in logits, float [rows, layers, heads]; without value biases."""
        return self._arrays["heads"]

    @property
    def attention_bias(self) -> np.ndarray:
        """Those of the attention's biases, float [rows, layers]."""
        return self._arrays["attention_bias"]

    @property
    def feed_forward(self) -> np.ndarray:
        """Those of feed-forward layers, float [rows, layers]."""
        return self._arrays["feed_forward"]

    @property
    def embedding(self) -> np.ndarray:
        """That of all that enters the first layer, float [rows]."""
        return self._arrays["embedding"]

    @property
    def rest(self) -> np.ndarray:
        """Those of the biases of the last norm and of the output, float [rows]."""
        return self._arrays["norm_bias"] + self._arrays["output_bias"]

    @property
    def logit(self) -> np.ndarray:
        """What is asked, float [rows]: a logit less the mean of all, or the difference of two. The
        direct effects sum to it."""
        return self._arrays["logit"]

    @property
    def ablations(self) -> list[str]:
        """ "zero" and "mean", what a head's context is replaced by."""
        return [name for name in self._told["drops"] if name != "before"]

    def drop(self, kind: str) -> np.ndarray:
        """How much `before` falls without a head, float [layers, heads]: what the last row asks,
        or of a passage the log probability of the next token, mean over tokens, in nats.

        raises: ReportError for a kind of ablation that was not measured
        """
        if kind not in self.ablations:
            raise ReportError(
                f"ablation {kind!r} was not measured; measured are: {', '.join(self.ablations)}."
            )
        return self._arrays[f"drops.{kind}"]

    @property
    def before(self) -> float:
        """What falls, without ablation."""
        return float(self._arrays["drops.before"])

    @functools.cached_property
    def lens(self) -> Lens:
        """What its hidden states would predict."""
        told = self._data._read(prediction_lens.lens_file(self.number))
        arrays = prediction_lens.decode(told)
        labels = ["embedding"]
        for layer in range(told["states"] // 2):
            labels += [f"layer {layer}, attention", f"layer {layer}, feed-forward"]
        return Lens(
            tuple(labels),
            arrays["tokens"],
            arrays["log_probability"],
            arrays["target.log_probability"],
            arrays["target.rank"],
            arrays.get("other.log_probability"),
            arrays.get("other.rank"),
            _words(told["words"]),
        )

    def head(self, layer: int, head: int) -> Head:
        """One head on this text."""
        told = self._data._read(prediction_head.head_file(self.number, layer, head))
        arrays = prediction_head.decode(told)
        return Head(
            layer,
            head,
            arrays["effect"],
            arrays["probability"],
            _writes(told.get("writes")),
            _origins(told.get("origins")),
        )


class PredictionData(Measured):
    """All datasets under one folder."""

    kind = "prediction"
    generated: GeneratedData | None = None
    """Means over generated sentences; None where they were not measured."""

    def with_apart(self, paths: Sequence[Path]) -> "PredictionData":
        """The same with its generated sentences; paths: their folder, as there is one model."""
        data = PredictionData(self.path)
        data.generated = GeneratedData(paths[0])
        return data

    @property
    def models(self) -> list["PredictionData"]:
        """It alone."""
        return [self]

    @functools.cached_property
    def sentences(self) -> list[Sentence]:
        """The texts, in the order of the front matter."""
        about = self.manifest["prediction"]["sentences"]
        return [Sentence(self, number) for number in range(len(about))]

    @property
    def shown_heads(self) -> list[tuple[int, int]]:
        """(layer, head) of the largest effects, the largest first; the same in all texts.
        Of these it is told what they write, and what their scores are made of."""
        return [tuple(head) for head in self.manifest["prediction"]["heads"]]

    @property
    def reasons(self) -> dict[str, str]:
        """What is missing, such as "origins", and why."""
        return self.manifest["prediction"]["reasons"]


def _words(told):
    return {int(token): isolated(label) for token, label in told.items()}


def _writes(told):
    if told is None:
        return None
    return Writes(**prediction_head.decode_writes(told), words=_words(told["words"]))


def _origins(told):
    if told is None:
        return None
    names = zip(*(told["parts"][name] for name in ("kind", "layer", "head")), strict=True)
    targets = range(told["first"], told["first"] + told["targets"])
    parts = tuple(Part(*name) for name in names)
    return Origins(parts, targets, **prediction_head.decode_origins(told))
