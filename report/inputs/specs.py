"""What front matter may say of conditions, a corpus, a passage and a cluster: keys of their own."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

ROW_ENDINGS = (".csv", ".tsv", ".json", ".jsonl")
"""Of files of rows."""

PLACES = ("text", "dataset", "file")


class PassageSpec(BaseModel):
    """`{text: ...}`, or one row: `{dataset: seattle-weather, row: 3, columns: [date, weather]}` of
    vega_datasets, `{file: reviews.csv, row: 3, column: review}` of a file of one's own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str | None = Field(None, min_length=1)
    """The text itself."""
    dataset: str | None = Field(None, min_length=1)
    """A data set inside vega_datasets."""
    file: str | None = Field(None, min_length=1)
    """A file of rows."""
    row: int = Field(0, ge=0)
    """Which row, from 0."""
    column: str | None = Field(None, min_length=1)
    """The column that is read, as it stands there."""
    columns: list[str] = []
    """Several of them, read as lines "name: value"; default: all."""
    title: str = ""
    """What pages call the text; default: where it is from."""
    language: str = ""
    """Of the text, like the `lang` attribute of HTML, e.g. "en"."""

    @model_validator(mode="after")
    def _fits_together(self):
        said = [name for name in PLACES if name in self.model_fields_set]
        about = [n for n in ("row", "column", "columns") if n in self.model_fields_set]
        if len(said) != 1:
            listed = " and ".join(f"`{name}`" for name in said) or "none of them"
            raise ValueError(f"says {listed}; say one of `text`, `dataset` and `file`")
        if said == ["text"] and about:
            raise ValueError(f"says `{about[0]}` of a text; that is for a `dataset` or a `file`")
        if self.column and self.columns:
            raise ValueError("says `column` and `columns`; say one of them")
        if self.file and not self.file.lower().endswith(ROW_ENDINGS):
            raise ValueError(
                f"the file {self.file!r} must end in one of {', '.join(ROW_ENDINGS)}; the path of "
                "a .txt or .md file stands after `passage:` by itself"
            )
        return self


def kind_of(value):
    """Which of the two a value after `passage:` is meant to be."""
    return "row" if isinstance(value, dict | PassageSpec) else "name"


CORPUS_ENDINGS = (".txt", ".jsonl", ".ndjson", ".csv", ".tsv")
"""Of files of texts: a text a line; or an object a line, or rows, of which one column is read."""

COMPRESSED = (".gz", ".bz2", ".xz")
"""Endings that may follow those."""


class CorpusSpec(BaseModel):
    """`texts.txt`, or `{file: "s3://bucket/part-*.jsonl.gz", column: text, first: 100000}`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field(min_length=1)
    """A path, an address that fsspec reads (s3://, gs://, https://, hf://), or a pattern with `*`
    that several files fit."""
    column: str = Field("text", min_length=1)
    """What is read of each object or row; a .txt file has a text a line."""
    first: int | None = Field(None, ge=1)
    """How many of the first texts are read; default: all."""
    skip: list[int] = []
    """Texts that are left out, by index from 0."""
    title: str = ""
    """What pages call the texts; default: the name of the file."""

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

    @field_validator("skip")
    @classmethod
    def _from_zero(cls, skip):
        if any(index < 0 for index in skip):
            raise ValueError("texts count from 0")
        return skip


def ending(file):
    """The ending of a file's name, that of its compression left out: ".jsonl"."""
    name = file.lower()
    for each in COMPRESSED:
        name = name.removesuffix(each)
    return f".{name.rpartition('.')[2]}"


def named_or_spelt_out(value):
    """A name of a file as what `CorpusSpec` takes; anything else as it is."""
    return {"file": value} if isinstance(value, str) else value


NAME = r"^[a-z][a-z0-9_-]*$"
"""What a condition may be called: data files and figures use it."""

MOST_TOKENS = 4096
"""A longer segment than this is a slip of the pen."""

PromptSegment = Literal["system", "question"]
"""The segments of a prompt, see `report.inputs.conditions.question_prompt`."""


class ConditionSpec(BaseModel):
    """One condition, a line of front matter: the prompt as it is, or with one segment changed.

    `before: question` adds a segment before one, `replace: system` puts it in its place,
    `remove: system` leaves one out.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=NAME)
    label: str = ""
    """What a reader sees; default: the name."""
    before: PromptSegment | None = None
    replace: PromptSegment | None = None
    remove: PromptSegment | None = None
    kind: Literal["repeated", "sentence", "random tokens", "text"] = "repeated"
    """What the segment is made of, see `report.inputs.fillers`; "text" stands there as it is, the
    others have a line of their own."""
    text: str | None = Field(None, min_length=1)
    """What is repeated (default: "/"), or stands there as it is."""
    times: int | None = Field(None, ge=1, le=MOST_TOKENS)
    """How often it is repeated; default: 55, or what `like` says."""
    tokens: int | None = Field(None, ge=1, le=MOST_TOKENS)
    """How many tokens it has, the end of its line included; default: what `like` says."""
    like: str | None = None
    """A condition whose new segment this one has exactly as many tokens as."""
    seed: int = Field(0, ge=0)

    @model_validator(mode="after")
    def _fits_together(self):
        changes = _given(self, "before", "replace", "remove")
        made_of = _given(self, "kind", "text", "times", "tokens", "like", "seed")
        sizes = _given(self, "times", "tokens", "like")
        if len(changes) > 1:
            raise ValueError(f"says {_listed(changes)}; a condition changes one segment, say one")
        if made_of and changes in ([], ["remove"]):
            raise ValueError(
                f"says {_listed(made_of)} of a segment that it does not have; say `before` or "
                "`replace` as well"
            )
        if changes in ([], ["remove"]):
            return self
        if len(sizes) > 1:
            raise ValueError(f"says {_listed(sizes)}; one of them tells how long the segment is")
        if self.kind == "text" and (self.text is None or sizes):
            raise ValueError("kind 'text' takes a `text`, which stands there as it is, and no size")
        if self.kind in ("sentence", "random tokens") and (self.text or self.times or not sizes):
            raise ValueError(
                f"kind {self.kind!r} is made up: say how long it is with `like` or `tokens`, and "
                "neither `text` nor `times`"
            )
        return self


def require_agreement(conditions):
    """Stop for conditions of one name, or one that is `like` none that has a length of its own.

    raises: ValueError saying what is allowed
    """
    names = [each.name for each in conditions]
    for number, each in enumerate(conditions):
        if each.name in names[:number]:
            raise ValueError(f"two conditions are called {each.name!r}; give each its own name")
        if each.like is None:
            continue
        sized = [other.name for other in conditions if other.like is None and _has_new(other)]
        if each.like not in sized:
            raise ValueError(
                f"condition {each.name!r} is like {each.like!r}, which is no condition with a "
                f"new segment of its own length; there are: {', '.join(sized) or 'none'}"
            )


def _has_new(spec):
    """Whether a `ConditionSpec` has a segment that the prompt itself has not."""
    return spec.before is not None or spec.replace is not None


def _given(spec, *names):
    """Those of some keys that front matter has."""
    return [name for name in names if name in spec.model_fields_set]


def _listed(names):
    return " and ".join(f"`{name}`" for name in names)


class ClusterSpec(BaseModel):
    """How the work is divided, and what each worker is given. It changes no number."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    num_cpus: float = Field(1, gt=0)
    """Processors a worker asks for, and threads that it computes with."""
    num_gpus: float | None = Field(None, ge=0)
    """GPUs a worker asks for; default: one where the cluster has any and `device` allows it."""
    workers: int | None = Field(None, ge=1)
    """How many there are at most; default: as many as fit. A cluster that grows on demand is asked
    for so many."""
    texts: int = Field(64, ge=1)
    """How many texts of a corpus are a shard, which is what is lost and measured again when a
    worker is."""
    retries: int = Field(2, ge=0)
    """How often a shard is tried again before its texts are."""
