"""What an article reads, where its front matter says more than a name: a text, or a row of data."""

from pydantic import BaseModel, ConfigDict, Field, model_validator

ENDINGS = (".csv", ".tsv", ".json", ".jsonl")
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
        if self.file and not self.file.lower().endswith(ENDINGS):
            raise ValueError(
                f"the file {self.file!r} must end in one of {', '.join(ENDINGS)}; the path of a "
                ".txt or .md file stands after `passage:` by itself"
            )
        return self


def kind_of(value):
    """Which of the two a value after `passage:` is meant to be."""
    return "row" if isinstance(value, dict | PassageSpec) else "name"
