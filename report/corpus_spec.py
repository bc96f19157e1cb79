"""Many texts, where front matter names a file of them: `corpus: {file: reviews.jsonl}`."""

from pydantic import BaseModel, ConfigDict, Field, field_validator

ENDINGS = (".txt", ".jsonl", ".ndjson", ".csv", ".tsv")
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
        if ending(file) not in ENDINGS:
            listed = ", ".join(ENDINGS)
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
