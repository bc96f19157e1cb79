"""GGUF files byte by byte, so that they can say what no library would write."""

import struct

UINT32, FLOAT32, BOOL, TEXT, LIST = 4, 6, 7, 8, 9
F32, Q4_0 = 0, 2


def text(content):
    """A text as the format has it: its length, and its bytes."""
    content = content if isinstance(content, bytes) else content.encode()
    return struct.pack("<Q", len(content)) + content


def value(key, kind, content):
    """A value: its key, its type, and what it holds, bytes."""
    return text(key) + struct.pack("<I", kind) + content


def whole(key, number):
    """A whole number."""
    return value(key, UINT32, struct.pack("<I", number))


def listed(key, kind, count, content):
    """A list."""
    return value(key, LIST, struct.pack("<IQ", kind, count) + content)


def tensor(name, sizes, kind=F32, place=0, dimensions=None):
    """An entry of the table of tensors; sizes: the innermost first."""
    dimensions = len(sizes) if dimensions is None else dimensions
    return (
        text(name)
        + struct.pack("<I", dimensions)
        + b"".join(struct.pack("<Q", size) for size in sizes)
        + struct.pack("<IQ", kind, place)
    )


def file(values=(), tensors=(), data=b"", version=3, counts=None, magic=b"GGUF"):
    """A whole file; counts: what it says of tensors and values."""
    head = magic + struct.pack("<I", version)
    head += struct.pack("<QQ", *(counts or (len(tensors), len(values))))
    head += b"".join(values) + b"".join(tensors)
    return head + bytes(-len(head) % 32) + data
