"""The datasets of an article about predictions, read lazily: texts, their lenses, their heads."""

import copy
import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from report.datasets.damaged import fitting
from report.datasets.formats import prediction, prediction_head, prediction_lens
from report.datasets.read.model import ModelData, with_memory
from report.errors import ReportError
from report.kinds.passage.data import PassageData, PassageModels, Token, tokens_of
from report.kinds.prediction.generated import GeneratedData
from report.kinds.prediction.pieces import Head, Lens, Word, origins_of, words_of, writes_of
from report.text import isolated


def opened(paths: Sequence[Path]) -> "PredictionData":
    """The data of an article; paths: one folder, as it is about one model."""
    return PredictionData(paths[0])


def of_passage(data: PassageData | PassageModels) -> "PredictionData | PredictionModels | None":
    """What heads do to the next tokens of a passage, of every model of which that was measured;
    None if it was of none."""
    told = [model.manifest.get("prediction", {}).get("sentences") for model in data.models]
    if not any(told):
        return None
    found = [PredictionData(model.path) for model in data.models]
    if len(data.models) == 1:
        return found[0]
    measured = [place for place, sentences in enumerate(told) if sentences]
    labels = [data.labels[place] for place in measured]
    return PredictionModels([found[place] for place in measured], labels)


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
        with fitting(f"text {self.number}"):
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
        """What falls, without ablation; of a text with no ablations it is not known."""
        return float(self._arrays["drops.before"])

    @functools.cached_property
    def lens(self) -> Lens:
        """What its hidden states would predict; of a passage that an article shows besides, it is
        not known (`PredictionData.has_lens`)."""
        told = self._data._read(prediction_lens.lens_file(self.number))
        with fitting(f"text {self.number}"):
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
            words_of(told["words"]),
        )

    @with_memory(lambda _: 64)  # figures and sentences ask for the same at many states
    def head(self, layer: int, head: int) -> Head:
        """One head on this text."""
        told = self._data._read(prediction_head.head_file(self.number, layer, head))
        with fitting(f"text {self.number}"):
            arrays = prediction_head.decode(told)
            return Head(
                layer,
                head,
                arrays["effect"],
                arrays["probability"],
                writes_of(told.get("writes")),
                origins_of(told.get("origins")),
            )


class PredictionData(ModelData):
    """All datasets under one folder."""

    kind = "prediction"
    generated: GeneratedData | None = None
    """Means over generated sentences; None where they were not measured."""
    in_prose: tuple[tuple[int, int], ...] = ()
    """(layer, head) of heads that the text beside a figure is about; see `naming`."""

    def naming(self, *heads) -> "PredictionData":
        """The same for a figure that names points: it names these, whatever their values.

        heads: of the text beside it, each with a layer and a head
        """
        data = copy.copy(self)
        data.in_prose = tuple((each.layer, each.head) for each in heads)
        return data

    @property
    def apart(self) -> Sequence[ModelData]:
        """What was measured apart."""
        return [self.generated] if self.generated else []

    def with_apart(self, paths: Sequence[Path]) -> "PredictionData":
        """The same with its generated sentences; paths: their folder, as there is one model."""
        data = PredictionData(self.path)
        data.generated = GeneratedData(paths[0])
        return data

    @functools.cached_property
    def sentences(self) -> list[Sentence]:
        """The texts, in the order of the front matter."""
        about = self.manifest["prediction"]["sentences"]
        own = copy.copy(self)  # which does not hold them: they go with the data, not later
        return [Sentence(own, number) for number in range(len(about))]

    @property
    def has_lens(self) -> bool:
        """Whether it is told what hidden states would predict."""
        return prediction_lens.lens_file(0) in self.manifest["files"]

    @property
    def shown_heads(self) -> list[tuple[int, int]]:
        """(layer, head) of the largest effects, the largest first; the same in all texts.
        Of these it is told what they write, and what their scores are made of."""
        return [tuple(head) for head in self.manifest["prediction"]["heads"]]

    @property
    def reasons(self) -> dict[str, str]:
        """What is missing, such as "origins", and why."""
        return self.manifest["prediction"]["reasons"]


class PredictionModels(PassageModels):
    """What several models predict for the same passage, for figures with a switch between them."""

    kind = "prediction"

    def naming(self, *heads) -> "PredictionModels":
        """As of `PredictionData`; heads: of the first model."""
        first, *others = self.models
        return PredictionModels([first.naming(*heads), *others], self.labels)


def verify(data: PredictionData) -> None:
    """Verify the datasets of one article about predictions, beyond their schemas.

    raises: ReportError if a text has other tokens, rows, states or heads than the others say
    """
    for sentence in data.sentences:
        name = f"text {sentence.number}"
        if len(sentence.tokens) != sentence.length:
            raise ReportError(f"{name} has {len(sentence.tokens)} tokens")
        if sentence.rows != sentence.length - (not sentence.asks):
            raise ReportError(f"{name} has {sentence.rows} rows")
        shape = sentence.heads.shape
        if data.has_lens and sentence.lens.tokens.shape[:2] != (2 * shape[1] + 1, shape[0]):
            raise ReportError(f"{name}: its lens has {sentence.lens.tokens.shape[:2]} states")
        for layer, head in np.ndindex(shape[1:]):
            sentence.head(layer, head)
