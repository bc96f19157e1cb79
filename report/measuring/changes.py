"""What changed since datasets were measured: one short phrase a change."""

from report.kinds import questions

TOKENIZER = ("tokenizer", "special_tokens_map", "added_tokens", "vocab", "merges", "spiece")
"""Beginnings of the names of a tokenizer's files."""

SHOWN = 3
"""Most files of measuring code that are named; the rest are counted."""


def changes(before: dict, now: dict) -> list[str]:
    """What differs between two results of `key.determined_by`, as phrases; [] if nothing does.

    before: as recorded in a manifest; now: as computed now
    """
    phrases = _model(before, now) + _settings(before.get("settings", {}), now["settings"])
    known = {"model", "model_name", "settings", "conditions", "code", "libraries"}
    different = [
        part for part in sorted({*before, *now} - known) if before.get(part) != now.get(part)
    ]
    if "table" in different:  # the renderings follow from the table
        different = [part for part in different if part != "renderings"]
    inputs = {name: said for each in questions().values() for name, said in each.changes.items()}
    for part in different:
        chat = f"chat: {_said(before.get(part))} → {_said(now.get(part))}"
        heads = f"heads: {before.get(part, 'all')} → {now.get(part, 'all')}"
        phrases.append({"chat": chat, "heads": heads, **inputs}.get(part, f"{part} changed"))
    phrases += _conditions(before.get("conditions", []), now.get("conditions", []))
    phrases += _code(before["code"], now["code"])
    phrases += _versions(before["libraries"], now["libraries"])
    if not phrases and before["libraries"] != now["libraries"]:
        phrases.append("other libraries count")  # otherwise this follows from another change
    return phrases


def _model(before, now):
    """Changes of the model's name, else of its files."""
    name = now["model_name"]
    if before["model_name"] != name:
        return [f"model: {before['model_name']} → {name}"]
    old, new = before["model"], now["model"]
    if old == new:
        return []
    if "hub" in old and "hub" in new:
        return [f"revision of {name}: {old['revision'][:7]} → {new['revision'][:7]}"]
    if "hub" in old or "hub" in new:
        return [f"{name} is read from {'the hub' if 'hub' in new else 'a folder'} now"]
    different = [file for file in sorted({*old, *new}) if old.get(file) != new.get(file)]
    if _layers(before) != _layers(now):  # other layers have other weights
        different = [file for file in different if file != "weights"]
    return [_file(file, name) for file in different]


def _layers(parts):
    return parts.get("settings", {}).get("layers")


def _file(file, model):
    if file in ("weights", "adapter"):
        return f"the {file} of {model} changed"
    if file == "base":
        return f"the model that {model} is an adapter of changed"
    if file == "file":
        return f"{model} is read from another file now"
    if file.startswith(TOKENIZER) or file.endswith((".model", ".tiktoken")):
        return f"the tokenizer of {model} changed ({file})"
    if file.endswith(".jinja"):
        return f"the chat template of {model} changed"
    what = "code" if file.endswith(".py") else "settings"
    return f"the {what} of {model} changed ({file})"


def _settings(before, now):
    return [
        f"{name}: {_said(before.get(name), name)} → {_said(now.get(name), name)}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]


def _said(value, name=""):
    if value is None:
        return "all" if name == "layers" else "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _conditions(before, now):
    old, new = ({spec["name"]: spec for spec in conditions} for conditions in (before, now))
    phrases = [f"condition {name!r} is new" for name in new if name not in old]
    phrases += [f"condition {name!r} is gone" for name in old if name not in new]
    phrases += [
        f"condition {name!r} changed" for name in new if old.get(name, new[name]) != new[name]
    ]
    if not phrases and before != now:
        phrases.append("the order of the conditions changed")
    return phrases


def _code(before, now):
    if before == now:
        return []
    if not isinstance(before, dict):  # a manifest with one hash for all files
        return ["the measuring code changed"]
    files = [file for file in sorted({*before, *now}) if before.get(file) != now.get(file)]
    more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
    return [f"the measuring code changed: {', '.join(files[:SHOWN])}{more}"]


def _versions(before, now):
    return [
        f"{name} {before[name]} → {now[name]}"
        for name in sorted(before.keys() & now.keys())
        if before[name] != now[name]
    ]
