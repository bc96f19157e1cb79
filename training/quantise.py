"""A GGUF file rounded to another block format, to ask what the rounding changes.

Every matrix is turned into numbers, and these into blocks of the format, both by llama.cpp's own
package `gguf`; vectors and all settings stay as they are. Where the file is quantised itself, it is
rounded a second time: what that changes is not what it would have changed in the first file.
"""

from pathlib import Path

import gguf
import numpy as np

from report.errors import UsageError
from report.models.find.names import Source

OTHERS = ("GGUF.", "general.name", "general.architecture", "general.file_type")
"""Beginnings of keys that are not copied: the writer's own, and those that change."""


def quantise(source: Source, format_name: str, folder: Path) -> Path:
    """Write a file in a format beside others in a folder.

    source: a model in a GGUF file; format_name: such as "Q4_0"
    returns: the path of the file, NAME-FORMAT.gguf, whose model is called "NAME FORMAT"
    raises: UsageError for a format that `gguf` does not write, or that some rows are no whole
        blocks of
    """
    kind, reader = _writable(format_name), gguf.GGUFReader(source.folder)
    name = f"{source.name} {format_name}"
    path = folder / f"{name.replace(' ', '-')}.gguf"
    unfinished = path.with_suffix(".part")
    block = gguf.GGML_QUANT_SIZES[kind][0]
    matrices = [each for each in reader.tensors if each.shape.size > 1]
    if odd := [each for each in matrices if each.shape[0] % block]:
        raise UsageError(
            f"{len(odd)} of {len(matrices)} matrices of {source.file} have rows that are no whole "
            f"blocks of {block} numbers, as {format_name} needs them (the first is {odd[0].name}, "
            f"rows of {odd[0].shape[0]}); choose a format of smaller blocks"
        )
    folder.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(unfinished, reader.get_field("general.architecture").contents())
    writer.add_name(name)
    for key, field in reader.fields.items():
        if not key.startswith(OTHERS):
            writer.add_key_value(key, field.contents(), field.types[0], field.types[-1])
    for each in reader.tensors:
        content, stored = each.data, each.tensor_type
        if each.shape.size > 1:
            numbers = gguf.dequantize(content, stored).astype(np.float32)
            content, stored = gguf.quantize(numbers, kind), kind
        writer.add_tensor(each.name, np.ascontiguousarray(content), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    unfinished.replace(path)
    return path


def writable() -> list[str]:
    """The names of the formats that `gguf` writes."""
    found = []
    for kind, (numbers, _) in gguf.GGML_QUANT_SIZES.items():
        try:
            gguf.quantize(np.zeros((1, numbers), np.float32), kind)
        except NotImplementedError:
            continue
        found.append(kind.name)
    return found


def _writable(format_name):
    if format_name not in writable():
        raise UsageError(
            f"the package gguf does not write {format_name!r}; it writes {', '.join(writable())}"
        )
    return gguf.GGMLQuantizationType[format_name]
