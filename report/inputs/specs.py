"""The keys of front matter that have keys of their own: conditions, answers, prompts, generated,
corpus, passage, cluster."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from report.text import isolated, quoted, xml_text

ROW_ENDINGS = (".csv", ".tsv", ".json", ".jsonl")
"""Endings of files of rows."""

LINES = (".csv", ".tsv")
"""Those of rows that are lines of cells."""

TAB = "tab"
"""How front matter may spell a tab, which YAML reads as a space."""


def _delimiter(value):
    """What stands between cells: one sign."""
    if value == TAB:
        return "\t"
    if len(value) != 1 or value.isalnum() or value in "\"'\r\n ":
        raise ValueError(f"must be one sign such as ; or | or the word {TAB}, not {quoted(value)}")
    return value


class Spec(BaseModel):
    """What an author writes below a key of front matter; a key that it does not have is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Delimiter = Annotated[str, AfterValidator(_delimiter)]


def page_text(text: str) -> str:
    """Text for pages, feed and cards, which cannot hold control characters."""
    return isolated(xml_text(text))


Shown = Annotated[str, Field(min_length=1), AfterValidator(page_text)]


def require_lines(delimiter: str | None, file: str | None) -> None:
    """Stop for a delimiter of what has none; ValueError."""
    if delimiter is not None and ending(file or "") not in LINES:
        raise ValueError(f"says `delimiter`; that is for files that end in {' or '.join(LINES)}")


PLACES = ("text", "dataset", "file")
"""Keys of which a passage has exactly one."""


class PassageSpec(Spec):
    """A passage that is a text or a row: `{text: ...}`, or
    `{dataset: seattle-weather, row: 3, columns: [date, weather]}` of vega_datasets, or
    `{file: reviews.csv, row: 3, column: review}` of a file of one's own."""

    text: str | None = Field(None, min_length=1)
    """The text itself."""
    dataset: str | None = Field(None, min_length=1)
    """A data set inside vega_datasets."""
    file: str | None = Field(None, min_length=1)
    """A file of rows."""
    row: int = Field(0, ge=0)
    """Which row, from 0."""
    column: str | None = Field(None, min_length=1)
    """The column whose cell is the text."""
    columns: list[str] = []
    """Several columns, read as lines "name: value"; default: all."""
    delimiter: Delimiter | None = None
    """What stands between the cells of a .csv or .tsv file: one sign, or `tab`; default: what
    splits all lines alike."""
    title: str = ""
    """What pages call the text; default: its source."""
    language: str = ""
    """Language of the text, like the `lang` attribute of HTML, e.g. "en"."""

    @model_validator(mode="after")
    def _fits_together(self):
        places = [name for name in PLACES if name in self.model_fields_set]
        about = [n for n in ("row", "column", "columns") if n in self.model_fields_set]
        if len(places) != 1:
            listed = " and ".join(f"`{name}`" for name in places) or "none of them"
            raise ValueError(f"says {listed}; say one of `text`, `dataset` and `file`")
        if places == ["text"] and about:
            raise ValueError(f"says `{about[0]}` of a text; that is for a `dataset` or a `file`")
        if self.column and self.columns:
            raise ValueError("says `column` and `columns`; say one of them")
        if self.file and not self.file.lower().endswith(ROW_ENDINGS):
            raise ValueError(
                f"the file {self.file!r} must end in one of {', '.join(ROW_ENDINGS)}; the path of "
                "a .txt or .md file stands after `passage:` by itself"
            )
        require_lines(self.delimiter, self.file)
        return self


def row_or_name(value: object) -> str:
    """Whether a value after `passage:` is a "row" (a mapping) or a "name"."""
    return "row" if isinstance(value, dict | PassageSpec) else "name"


CORPUS_ENDINGS = (".txt", ".jsonl", ".ndjson", ".csv", ".tsv")
"""Endings of files of texts: a text a line; or an object a line, or rows, with one column read."""

COMPRESSED = (".gz", ".bz2", ".xz")
"""Endings that may follow those."""


class TokenizerSpec(Spec):
    """How a model's tokenizer is read where its files are known to be wrong:
    `{fix_mistral_regex: true}`."""

    fix_mistral_regex: bool
    """Whether a Mistral tokenizer that was saved with another model's way to cut texts cuts them as
    its makers do. transformers tells such files by their config.json."""


class CorpusSpec(Spec):
    """A corpus: `texts.txt`, or `{file: "s3://bucket/*.jsonl.gz", column: text, first: 100000}`."""

    file: str = Field(min_length=1)
    """A path, an address that fsspec reads (s3://, gs://, https://, hf://), or a pattern with `*`
    for several files."""
    column: str = Field("text", min_length=1)
    """The column that is read of objects and rows; not used for .txt files."""
    delimiter: Delimiter | None = None
    """What stands between the cells of a .csv or .tsv file: one sign, or `tab`; default: what
    splits the first lines alike."""
    first: int | None = Field(None, ge=1)
    """Read only so many texts from the beginning; default: all."""
    skip: list[int] = []
    """Indices of texts to leave out, from 0."""
    title: str = ""
    """What pages call the texts; default: the name of the file."""
    license: str = ""
    """What the texts may be used under; said where they are shown."""

    @field_validator("file")
    @classmethod
    def _known(cls, file):
        if ending(file) not in CORPUS_ENDINGS:
            listed = ", ".join(CORPUS_ENDINGS)
            raise ValueError(
                f"the file {file!r} must end in one of {listed}, perhaps with "
                f"{', '.join(COMPRESSED)} after it"
            )
        return file

    @model_validator(mode="after")
    def _fits_together(self):
        require_lines(self.delimiter, self.file)
        return self

    @field_validator("skip")
    @classmethod
    def _from_zero(cls, skip):
        if any(index < 0 for index in skip):
            raise ValueError("texts count from 0; give their numbers")
        return skip


def ending(file: str) -> str:
    """The ending of a file's name without that of its compression, e.g. ".jsonl"."""
    name = file.lower()
    for compression in COMPRESSED:
        name = name.removesuffix(compression)
    return f".{name.rpartition('.')[2]}"


def named_or_spelt_out(value: object) -> object:
    """The name of a file as a mapping for `CorpusSpec`; anything else unchanged."""
    return {"file": value} if isinstance(value, str) else value


NAME = r"^[a-z][a-z0-9_-]*$"
"""Names that a condition may have in data files and figures."""

MOST_TOKENS = 4096
"""A longer segment must be a typing error."""

PromptSegment = Literal["system", "question"]
"""The segments of a prompt, see `report.inputs.conditions.question_prompt`."""


class ConditionSpec(Spec):
    """One condition: the prompt as it is, or with one segment changed.

    `before: question` adds a segment before the question, `replace: system` puts it in place of the
    system prompt, `remove: system` leaves the system prompt out.
    """

    name: str = Field(pattern=NAME)
    """What data files and the template call it: small letters, digits, hyphens, underscores."""
    label: str = ""
    """What a reader sees; default: the name."""
    before: PromptSegment | None = None
    """The segment that a new one is put before."""
    replace: PromptSegment | None = None
    """The segment that a new one takes the place of."""
    remove: PromptSegment | None = None
    """The segment that is left out."""
    kind: Literal["repeated", "sentence", "random tokens", "text"] = "repeated"
    """How the segment is made, see `report.inputs.fillers`. "text" is used as it is; the others get
    a line of their own."""
    text: str | None = Field(None, min_length=1)
    """The string that is repeated (default: "/"), or the text that is used as it is."""
    times: int | None = Field(None, ge=1, le=MOST_TOKENS)
    """How often the string is repeated; default: 55, or as `like` requires."""
    tokens: int | None = Field(None, ge=1, le=MOST_TOKENS)
    """Number of tokens, with the end of the line; default: as `like` requires."""
    like: str | None = None
    """A condition: the new segment gets exactly as many tokens as the one of that condition."""
    seed: int = Field(0, ge=0)
    """What a sentence or random tokens are drawn from: another number, another text."""

    @model_validator(mode="after")
    def _fits_together(self):
        changes = _given(self, "before", "replace", "remove")
        made_of = _given(self, "kind", "text", "times", "tokens", "like", "seed")
        sizes = _given(self, "times", "tokens", "like")
        if len(changes) > 1:
            raise ValueError(
                f"says {_listed(changes)}; a condition changes one segment, say only one"
            )
        if made_of and changes in ([], ["remove"]):
            raise ValueError(
                f"says {_listed(made_of)} of a segment that it does not have; say `before` or "
                "`replace` as well"
            )
        if changes in ([], ["remove"]):
            return self
        if len(sizes) > 1:
            raise ValueError(f"says {_listed(sizes)}; say only one, the length of the segment")
        if self.kind == "text" and (self.text is None or sizes):
            raise ValueError("kind 'text' takes a `text`, which is used as it is, and no size")
        if self.kind in ("sentence", "random tokens") and (self.text or self.times or not sizes):
            raise ValueError(
                f"kind {self.kind!r} is generated: say its length with `like` or `tokens`, and "
                "neither `text` nor `times`"
            )
        return self


class AnswersSpec(Spec):
    """Whether fillers help the answer: generated questions, under every condition that adds a
    segment before the question, for several lengths of it."""

    questions: int = Field(300, ge=20, le=1200)
    """How many, see `report.inputs.questions`."""
    lengths: list[Annotated[int, Field(ge=1, le=MOST_TOKENS)]] = Field([10, 55, 110], min_length=1)
    """Numbers of tokens that the added segment has, with the end of its line."""
    seed: int = Field(0, ge=0)
    """What the questions are drawn from: another number, other questions."""

    @field_validator("lengths")
    @classmethod
    def _rising(cls, lengths):
        if sorted(set(lengths)) != lengths:
            raise ValueError("lengths go from the smallest to the largest, each once")
        return lengths


class PromptSpec(Spec):
    """A sentence that breaks off, and the next token that is asked about:
    `{text: "The capital of France is", target: " Paris", other: " Rome"}`."""

    text: str = Field(min_length=1)
    """What the model reads."""
    target: str = Field(min_length=1)
    """How the text goes on, with the space before it. Of several tokens the first counts."""
    other: str | None = Field(None, min_length=1)
    """Another way to go on, whose logit is subtracted; default: the mean over the vocabulary."""


class GeneratedSpec(Spec):
    """Generated sentences, see `report.inputs.generated`."""

    set: str = Field(min_length=1)
    """Which: givers."""
    number: int = Field(240, ge=20, le=2000)
    """How many."""
    ablated: int | None = Field(None, ge=2)
    """In how many of them, from the first on, heads are ablated, which takes most of the time;
    default: all."""
    seed: int = Field(0, ge=0)
    """What they are drawn from: another number, other sentences."""


def set_or_spelt_out(value: object) -> object:
    """The name of a set as a mapping for `GeneratedSpec`; anything else unchanged."""
    return {"set": value} if isinstance(value, str) else value


def require_agreement(conditions: Sequence[ConditionSpec]) -> None:
    """Stop for two conditions of one name, and for a `like` that names no length.

    raises: ValueError saying what is allowed
    """
    names = [condition.name for condition in conditions]
    sized = [spec.name for spec in conditions if spec.like is None and _has_new(spec)]
    for number, condition in enumerate(conditions):
        if condition.name in names[:number]:
            raise ValueError(
                f"two conditions are called {condition.name!r}; give each its own name"
            )
        if condition.like is not None and condition.like not in sized:
            raise ValueError(
                f"condition {condition.name!r} is like {condition.like!r}, which is no condition "
                "with a new segment of its own length; there are: "
                f"{', '.join(sized) or 'none'}"
            )


def _has_new(spec):
    """Whether a `ConditionSpec` has a segment that is not in the prompt itself."""
    return spec.before is not None or spec.replace is not None


def _given(spec, *names):
    """Those of the keys that front matter says."""
    return [name for name in names if name in spec.model_fields_set]


def _listed(names):
    return " and ".join(f"`{name}`" for name in names)


class ClusterSpec(Spec):
    """How the work is divided on a cluster, and what each worker gets. It changes no number."""

    num_cpus: float = Field(1, gt=0)
    """Processors of a worker, and the threads that it computes with."""
    num_gpus: float | None = Field(None, ge=0)
    """GPUs of a worker; default: 1 if the cluster has GPUs and `device` allows them."""
    workers: int | None = Field(None, ge=1)
    """Most workers at a time; default: as many as fit. A cluster that grows on demand is asked for
    this number."""
    texts: int = Field(64, ge=1)
    """Texts of a corpus in a batch, which is measured again if its worker is lost."""
    retries: int = Field(2, ge=0)
    """How often a batch is tried again before it is divided to find the text that fails."""
