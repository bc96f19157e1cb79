"""Ways in which a JSON file goes wrong: in its bytes, and in what it says."""

import copy
import json

from hypothesis import strategies as st

RAW = {
    "@nan@": "NaN",
    "@inf@": "-Infinity",
    "@beyond@": "1e999",
    "@digits@": "9" * 5000,
    "@minus@": "-0",
    "@whole@": "3.0",
}
"""Strings that stand for what `json.dumps` does not write."""

DEEP = json.loads("[" * 80 + "]" * 80)

VALUES = [
    *(None, True, False, 0, 1, -1, 2, 23, 24, 10**6, 2**31, 2**53, 2**53 + 2, -(2**63), 10**30),
    *(0.5, 2.0, -0.0, 1e-320, 1e16, 1e300, -1e308, [], {}, DEEP, [0], {"a": 1}, *RAW),
    *("", " ", "x" * 3000, "\0", "\ud800", "\U0001f600", "../../x", "</script>", "{{ 7*7 }}"),
]
"""What is put in the place of what belongs there."""


@st.composite
def damaged_bytes(draw, content):
    """Bytes that were cut, overwritten, or have others among them."""
    found = bytearray(content)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(found)))
        end = min(len(found), start + draw(st.integers(0, 40)))
        found[start:end] = draw(
            st.one_of(st.binary(max_size=8), st.sampled_from([b"", b"[" * 5000, b"\xff", b"1e999"]))
        )
    if draw(st.booleans()):
        del found[draw(st.integers(0, len(found))) :]
    return bytes(found)


@st.composite
def damaged_json(draw, data):
    """The text of a JSON value of which one or several parts are others, missing or there twice."""
    whole = [copy.deepcopy(data)]
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        holder, key = draw(_place(whole))
        _change(draw, holder, key)
    text = json.dumps(whole[0])
    for name, raw in RAW.items():
        text = text.replace(f'"{name}"', raw)
    if draw(st.integers(0, 15)) == 0 and isinstance(whole[0], dict) and whole[0]:
        name = draw(st.sampled_from(sorted(whole[0])))
        text = text.replace("{", f"{{{json.dumps(name)}:0,", 1)
    return text


@st.composite
def _place(draw, whole):
    """(list or dict, its key) somewhere inside."""
    holder, key = whole, 0
    while True:
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner or draw(st.integers(0, 4)) == 0:
            return holder, key
        keys = list(inner) if isinstance(inner, dict) else range(len(inner))
        holder, key = inner, draw(st.sampled_from(keys))


def _change(draw, holder, key):
    ways = ["replace", "nudge", "remove", "swap", "twice"] if len(holder) else ["replace"]
    way = draw(st.sampled_from(ways))
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    other = draw(st.sampled_from(keys))
    value = holder[key]
    if way == "nudge" and type(value) in (int, float):
        holder[key] = value + draw(st.sampled_from([1, -1, 0.25, 1000]))
    elif way == "remove" and len(holder) > 1:
        del holder[key]
    elif way == "swap":
        holder[key], holder[other] = holder[other], holder[key]
    elif way == "twice" and isinstance(holder, list):
        holder.insert(other, copy.deepcopy(value))
    elif way == "twice" and isinstance(holder, dict):
        holder[f"{key}-2"] = copy.deepcopy(value)
    else:
        holder[key] = copy.deepcopy(draw(st.sampled_from(VALUES)))
