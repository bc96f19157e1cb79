"""The weight files of a checkpoint folder: which there are, what is in them, and their checksum.

Read without torch, since a site is rebuilt without it. A model in a GGUF file counts as a folder
here, its tensors under transformers' names. A safetensors file is eight bytes (the length of its
header), the header (JSON: each tensor's dtype, shape and byte range), and the tensors. https://huggingface.co/docs/safetensors

All this is in one file because all of it asks the same two things: the index, and the headers.
"""

import hashlib
import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from report.errors import ReportError
from report.files import is_plain, others_json, strict_json
from report.models.gguf.file import is_gguf, open_gguf
from report.models.gguf.views import views
from report.text import quoted

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"

PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")

NOT_TEXT = re.compile(r"(^|\.)(vision|visual|audio|multi_modal|mm_)")
"""Tensors of the parts of a model that read no text."""

AFTER_LAYERS = re.compile(
    r"(^|\.)(lm_head|embed_out|ln_f|norm_f|final_norm|final_layer_?norm|pooler|cls|score)\."
    r"|^((\w*model|transformer)\.)*norm\."
)
"""Tensors, outside the layers, that a model uses after its last layer."""


def weight_map(folder: str | Path) -> dict[str, str]:
    """dict of each tensor's name to the name of the file that holds it.

    folder: a checkpoint, as save_pretrained writes it; a single file counts before an index, as
        transformers has it
    raises: ReportError if there are no weights, only pickled ones, or the index cannot be read
    """
    folder = Path(folder)
    if is_gguf(folder):
        return {name: view.tensor.path.name for name, view in views(open_gguf(folder)).items()}
    if (folder / SINGLE).is_file():
        return dict.fromkeys(read_header(folder / SINGLE), SINGLE)
    if (folder / INDEX).is_file():
        return read_index(folder / INDEX)
    raise no_weights(f"model folder '{folder.name}'", [path.name for path in folder.iterdir()])


def no_weights(
    whose: str, names: Iterable[str], instead: str = "convert them to safetensors"
) -> ReportError:
    """The ReportError for a checkpoint whose files, of these `names`, hold no usable weights.

    instead: what to do where there are weights, but pickled ones
    """
    pickled = sorted(name for name in names if name.endswith(PICKLE_SUFFIXES))
    if pickled:
        return ReportError(
            f"{whose} has weights only as pickle ({pickled[0]}), which can run code when opened "
            f"and is refused; {instead}"
        )
    return ReportError(f"{whose} has no weights; it needs {SINGLE}, or weight files and {INDEX}")


def read_index(path: Path) -> dict[str, str]:
    """The weight map that an index states: dict of tensor name -> name of its weight file.

    raises: ReportError if it is no index, or names files elsewhere
    """
    try:
        index = others_json(path.read_text(encoding="utf-8"))
        files, about = index["weight_map"], index.get("metadata") or {}
        plain = [name for name in files.values() if is_plain(name) and "/" not in name]
        if len(plain) == len(files) > 0 and 0 <= about.get("total_size", 0) < math.inf:
            return dict(files)
        reason = ""
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f" ({error})"
    raise ReportError(
        f"'{path.parent.name}/{path.name}' has no weight_map of tensors and files beside it, "
        f"or another total_size than a number{reason}; copy the whole folder again"
    )


def weight_files(folder: str | Path, names: Iterable[str] | None = None) -> list[Path]:
    """Paths of the files that hold the weights, sorted; each is there and has all its bytes.

    names: tensors wanted; None for all
    raises: ReportError naming the first file that is missing, cut short or damaged, or lacks a
        wanted tensor that the index says it has
    """
    if is_gguf(folder):
        return list(open_gguf(folder).paths)
    folder, held = Path(folder), weight_map(folder)
    names = list(held if names is None else names)
    needed = files_for(held, names)
    lacking = [name for name in needed if not (folder / name).is_file()]
    if lacking:
        raise ReportError(
            f"model folder '{folder.name}' lacks {len(lacking)} of {len(needed)} weight "
            f"files, the first is {lacking[0]}; copy the whole folder"
        )
    headers = {name: read_header(folder / name) for name in needed}
    for name in names:
        if name not in headers[held[name]]:
            raise lacks_tensor(folder / held[name], name)
    return [folder / name for name in needed]


def lacks_tensor(path: Path, name: str) -> ReportError:
    """The ReportError for a weight file without a tensor that the index says it has."""
    return ReportError(
        f"'{path.parent.name}/{path.name}' lacks the tensor {quoted(name)}, which the index says "
        "it has; download or copy the folder again"
    )


def files_for(tensor_files: dict[str, str], names: Sequence[str] | None = None) -> list[str]:
    """Names of the files that hold some tensors, sorted.

    tensor_files: dict as `weight_map` returns it; names: tensors of it, None for all
    """
    return sorted({tensor_files[name] for name in (tensor_files if names is None else names)})


def layer_of(name: str) -> int | None:
    """The index of the layer that a tensor belongs to, or None: 3 for "model.layers.3.mlp.up"."""
    parts = (part for part in name.split(".") if part.isdecimal() and len(part) < 10)
    return next(map(int, parts), None)


def first_layers(names: Iterable[str], count: int) -> list[str]:
    """The tensors needed to reach the attention of layer `count - 1`, of those named.

    names: iterable of the checkpoint's own tensor names
    Later layers are left out, and so is what comes after the last layer or reads images or sound.
    In doubt a tensor is kept: one too many costs time, one too few makes a wrong model.
    """
    return [name for name in names if _is_needed(name, count)]


def _is_needed(name, count):
    layer = layer_of(name)
    if NOT_TEXT.search(name):
        return False
    return not AFTER_LAYERS.search(name) if layer is None else layer < count


def read_header(path: str | Path) -> dict[str, dict[str, Any]]:
    """The tensors of a safetensors file, by name.

    returns: dict of name -> {"dtype": "F32", "shape": [...], "span": (start, end)}, the span in
        bytes from the file's beginning
    raises: ReportError if the file is no safetensors file or was cut short
    """
    path = Path(path)
    whole = path.stat().st_size
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(whole - 8, 100_000_000):
                raise ValueError("its first bytes are not the length of a header")
            header = strict_json(file.read(length))
        tensors = {
            name: {
                "dtype": _dtype(entry["dtype"]),
                "shape": _shape(entry["shape"]),
                "span": tuple(8 + length + offset for offset in entry["data_offsets"]),
            }
            for name, entry in header.items()
            if name != "__metadata__"
        }
        spans = [tensor["span"] for tensor in tensors.values()]
        end = max((span_end for _, span_end in spans), default=8 + length)
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        RecursionError,
    ) as error:
        raise ReportError(
            f"'{path.parent.name}/{path.name}' is not a safetensors file; download or copy it "
            "again (in a clone, `git lfs pull` brings the files themselves)"
        ) from error
    if end != whole:
        raise ReportError(
            f"'{path.parent.name}/{path.name}' is damaged: it has {whole:,} bytes and should have "
            f"{end:,}; download or copy it again"
        )
    _require_side_by_side(tensors, 8 + length, f"{path.parent.name}/{path.name}")
    return tensors


def _shape(sizes):
    shape = [operator.index(size) for size in sizes]
    if len(shape) > 64 or max(shape, default=0) >= 2**63:  # the product would take hours
        raise ValueError("a shape is none that torch allows")
    return shape


def _dtype(name):
    if not isinstance(name, str) or not re.fullmatch(r"\w{1,20}", name):
        raise ValueError("a dtype is no name")
    return name


BITS = {"F64": 64, "F32": 32, "F16": 16, "BF16": 16, "I64": 64, "I32": 32, "I16": 16, "I8": 8}
BITS |= {"U64": 64, "U32": 32, "U16": 16, "U8": 8, "BOOL": 8, "F8_E4M3": 8, "F8_E5M2": 8}
"""Bits of a number of each dtype. The sizes of tensors of other dtypes are not checked."""


def _require_side_by_side(tensors, start, where):
    """Stop if tensors overlap or leave gaps, or if one has another size than its shape needs."""
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1]["span"]):
        (begin, end), shape = tensor["span"], tensor["shape"]
        if begin != start or end < begin or min(shape, default=0) < 0:
            raise ReportError(
                f"'{where}' is damaged: '{name[:80]}' does not follow the tensor before it; "
                "download or copy it again"
            )
        wanted = math.prod(shape) * BITS.get(tensor["dtype"], 0) // 8
        if wanted != end - begin and tensor["dtype"] in BITS:
            raise ReportError(
                f"'{where}' is damaged: '{name[:80]}' has {end - begin} bytes and should have "
                f"{wanted}; download or copy it again"
            )
        start = end


def shapes(folder: str | Path, whole: bool = True) -> dict[str, list[int]]:
    """dict of each tensor's name to its shape.

    whole: whether all weight files are to be there; else the tensors of missing ones are left out
    raises: ReportError as `weight_files`; for a file with a tensor that the index places elsewhere
        or does not name, and for one of nothing but zeros
    """
    if is_gguf(folder):
        return {name: list(view.shape) for name, view in views(open_gguf(folder)).items()}
    held, shape_of = weight_map(folder), {}
    paths = {Path(folder) / file for file in held.values()}
    for path in weight_files(folder) if whole else sorted(filter(Path.is_file, paths)):
        for name, tensor in read_header(path).items():
            if held.get(name) != path.name:
                where = f"says that it is in {held[name]}" if name in held else "does not name it"
                raise ReportError(
                    f"'{path.parent.name}/{path.name}' holds the tensor {quoted(name)}, and the "
                    f"index {where}; download or copy the folder again, or mend {INDEX}"
                )
            shape_of[name] = tensor["shape"]
        require_numbers(path)
    return shape_of


def require_numbers(path: Path) -> None:
    """Stop for a safetensors file of nothing but zeros, as a copy that was interrupted leaves one
    behind for which room was made first. Any other is read up to its first number alone.

    raises: ReportError
    """
    with path.open("rb") as file:
        file.seek(8 + int.from_bytes(file.read(8), "little"))
        chunk = begun = file.read(1 << 16)
        while chunk and not chunk.strip(b"\0"):
            chunk = file.read(1 << 20)
    if begun and not chunk:
        raise ReportError(
            f"'{path.parent.name}/{path.name}' holds nothing but zeros, as a copy that was "
            "interrupted; download or copy it again"
        )


def parameters(
    folder: str | Path,
    held: dict[str, list[int]],
    wanted: Callable[[list[str]], Iterable[str]] | None = None,
) -> int:
    """How many numbers a checkpoint's tensors hold.

    held: dict of name -> shape, as the model has them, which may not be as they are stored
    wanted: function of the names of all tensors -> the names that count; None for all
    raises: ReportError as `weight_files`
    """
    weight_files(folder, None if wanted is None else wanted(list(weight_map(folder))))
    names = held if wanted is None else wanted(list(held))
    return sum(math.prod(held[name]) for name in names)


def weights_sha256(folder: str | Path, count: int | None = None) -> str:
    """Checksum of a checkpoint's weights, in hexadecimal.

    count: first layers that are measured, None for all
    returns: for all layers the SHA-256 of the weight files, one after the other; for the first
        layers that of the tensors that these need, each with its name, dtype and shape, by name
    raises: ReportError as `weight_files`
    """
    digest = hashlib.sha256()
    if count is None:
        for path in weight_files(folder):
            _add(digest, path, 0, path.stat().st_size)
        return digest.hexdigest()
    if is_gguf(folder):
        held = views(open_gguf(folder))
        for name in sorted(first_layers(held, count)):
            view = held[name]
            about = [name, view.tensor.format.name, list(view.shape)]
            digest.update(json.dumps(about).encode())
            _add(digest, view.tensor.path, view.start, view.start + view.bytes)
        return digest.hexdigest()
    folder, files = Path(folder), weight_map(folder)
    names = first_layers(files, count)
    headers = {path.name: read_header(path) for path in weight_files(folder, names)}
    for name in sorted(names):
        tensor = headers[files[name]][name]
        digest.update(json.dumps([name, tensor["dtype"], tensor["shape"]]).encode())
        _add(digest, folder / files[name], *tensor["span"])
    return digest.hexdigest()


def _add(digest, path, start, end):
    with path.open("rb") as file:
        file.seek(start)
        while chunk := file.read(min(1 << 20, end - file.tell())):
            digest.update(chunk)
