"""A model in one GGUF file, or in parts: NAME-00001-of-00003.gguf and so on."""

import functools
import hashlib
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from report.errors import ReportError
from report.models.gguf.formats import package
from report.models.gguf.header import MAGIC, Tensor, read_header
from report.text import quoted, shortened

SUFFIX = ".gguf"
PART = re.compile(r"(?P<name>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")
MOST_PARTS = 1000

LONGEST_NAME = 80
"""Characters of a model's name."""

ABOUT = re.compile(r"general\.(?!architecture$).*|split\..*|quantize\..*")
"""Keys whose values change no measurement: authors, licences, how it was made."""


NO_TEXT = re.compile(r"(v|a|mm|mtmd)\..+")
"""Tensors of the parts of a model that read pictures or sound, which some files have too."""

FORMAT = re.compile(r"[A-Z]+\d+(_[K\d](?![A-Z]))?")
"""What the name of a mixture begins with: of "Q4_K_M" the format Q4_K, of "IQ3_XS" any IQ3."""


@dataclass(frozen=True, eq=False)
class GgufFile:
    """A model in GGUF files; one object as long as the files stay as they are.

    paths: the files, in the order of their numbers
    values: dict of key -> value, of the first file, which has them all
    tensors: dict of name -> `Tensor`, of all files
    sums: dict of key -> SHA-256 of its value's bytes
    """

    paths: tuple[Path, ...]
    values: dict[str, Any]
    tensors: dict[str, Tensor]
    sums: dict[str, str]

    @property
    def name(self) -> str:
        """The name of the first file, for messages."""
        return self.paths[0].name

    @property
    def stored_as(self) -> str:
        """The formats of its matrices, that of most numbers first, and before them the name that
        the file has for the mixture: "Q4_K_M: Q8_0, Q5_0, Q4_K". One that names a format which no
        matrix has is left out.
        """
        numbers = Counter()
        for name, tensor in self.tensors.items():
            if len(tensor.shape) > 1 and not NO_TEXT.fullmatch(name):
                numbers[tensor.format.name] += math.prod(tensor.shape)
        stated = self.values.get("general.file_type")
        known = {kind.value: kind.name for kind in package().LlamaFileType}
        name = known.get(stated, "").partition("_")[2] if type(stated) is int else ""
        begins = FORMAT.match(name)
        fits = begins and any(each.startswith(begins[0]) for each in numbers)
        return mixture(name if fits else "", numbers)

    def settings_sha256(self) -> str:
        """Checksum of all values that may change a number or a token."""
        return self._sum(key for key in self.sums if not ABOUT.fullmatch(key))

    def tokenizer_sha256(self) -> str:
        """Checksum of all values that make its tokenizer."""
        return self._sum(key for key in self.sums if key.startswith("tokenizer."))

    def _sum(self, keys: Iterable[str]) -> str:
        listed = json.dumps([[key, self.sums[key]] for key in sorted(keys)])
        return hashlib.sha256(listed.encode()).hexdigest()


def mixture(name: str, numbers: Counter[str]) -> str:
    """A way to store weights in words: "Q4_K_M: Q8_0, Q5_0", "gptq: INT4, BF16", "Q4_1".

    name: what the model calls it, "" for nothing
    numbers: how many numbers there are of each format
    """
    formats = ", ".join(each for each, _ in numbers.most_common())
    return f"{name}: {formats}" if name and name != formats else formats


def is_gguf(path: Path | str | None) -> bool:
    """Whether a path is that of a GGUF file: by its ending, or, as Ollama's have none, its first
    bytes."""
    if path is None or not Path(path).is_file():
        return False
    if Path(path).suffix == SUFFIX:
        return True
    try:
        with Path(path).open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def open_gguf(path: Path | str) -> GgufFile:
    """A model by the path of its file, or of any of its parts.

    raises: ReportError naming a part that is missing or damaged, or belongs to something else
    """
    paths = _parts(Path(path))
    for part in paths:
        if not part.is_file():
            raise ReportError(
                f"the model in '{Path(path).name}' comes in {len(paths)} parts, and {part.name} is "
                "missing; put it beside the others"
            )
    return _read(tuple(paths), tuple(_stamp(part) for part in paths))


def model_name(path: Path | str) -> str:
    """What the model in a GGUF file is called: as the file says, else as the file is called,
    without the ending and the number of its part.

    raises: ReportError as `open_gguf`
    """
    name, stated = Path(path).name, open_gguf(path).values.get("general.name")
    part = PART.fullmatch(name)
    called = part["name"] if part else name.removesuffix(SUFFIX)
    return (_cleaned(stated) if isinstance(stated, str) else "") or called


def _cleaned(text: str) -> str:
    """A name out of a file: on one line, without what is not printed, and not long."""
    spaced = (" " if letter.isspace() else letter for letter in text)
    printable = "".join(letter for letter in spaced if unicodedata.category(letter)[0] != "C")
    # "@" would begin a revision, and a slash a folder
    words = re.sub(r"[@/\\]", " ", printable).split()
    return shortened(" ".join(words), LONGEST_NAME)


def _parts(path: Path) -> list[Path]:
    part = PART.fullmatch(path.name)
    if part is None:
        return [path]
    count = int(part["count"])
    if not 1 <= int(part["number"]) <= count <= MOST_PARTS:
        raise ReportError(
            f"{quoted(path.name)} is no part of a model: its parts are numbered from 00001, and "
            f"there are {MOST_PARTS:,} at most; give the first one"
        )
    return [
        path.with_name(f"{part['name']}-{number:05}-of-{count:05}.gguf")
        for number in range(1, count + 1)
    ]


def _stamp(path):
    about = path.stat()
    return about.st_size, about.st_mtime_ns


@functools.lru_cache(maxsize=4)
def _read(paths, _):
    """The files as one; read again when one of them changes."""
    first, *others = [read_header(path) for path in paths]
    _require_parts(paths, [first, *others])
    tensors = dict(first.tensors)
    for path, part in zip(paths[1:], others, strict=True):
        twice = tensors.keys() & part.tensors.keys()
        if twice:
            raise ReportError(
                f"'{path.name}' has the tensor {quoted(min(twice))} of an earlier part; download "
                "or copy the parts again"
            )
        tensors |= part.tensors
    if not tensors:
        raise ReportError(f"'{paths[0].name}' has no weights, only settings; give a model's file")
    return GgufFile(paths, first.values, tensors, first.sums)


def _require_parts(paths, headers):
    """Stop for a file that is another part than its name says, or one of several."""
    for number, (path, header) in enumerate(zip(paths, headers, strict=True)):
        count = header.values.get("split.count", 1)
        place = header.values.get("split.no", 0)
        if (count or 1) != len(paths) or place != number:
            raise ReportError(
                f"'{path.name}' says that it is part {quoted(place)} of {quoted(count)}, counted "
                f"from 0, and its name says {number} of {len(paths)}; give all parts the names "
                "that they came with"
            )
    stated = headers[0].values.get("split.tensors.count")
    there = sum(len(header.tensors) for header in headers)
    if stated is not None and len(paths) > 1 and stated != there:
        raise ReportError(
            f"the parts of '{paths[0].name}' hold {there} tensors and should hold "
            f"{quoted(stated)}; download or copy them again"
        )
