"""What the four numbers of the acceptance test mean: a table to read, and yes or no."""

from typing import Any

from report.errors import ReportError


def verdicts(result: dict[str, Any]) -> list[dict[str, Any]]:
    """One dict a number: {"name", "measured", "wanted", "accepted"}; the first three are str.

    result: as of `acceptance`. The head numbers count on the held-out book, or on the corpus if the
    held-out part has never been measured; the loss is then not judged.
    """
    limits, held_out = result["limits"], result["held_out"]
    where, part = ("held-out book", held_out) if held_out else ("corpus", result["corpus"])
    heads = {
        "first_token": (f"largest target is the first token, {where}", part["first_token"]),
        "previous_token": (
            f"largest target is the previous token, {where}",
            part["previous_token"],
        ),
        "induction": ("induction, mean probability", result["induction"]),
    }
    rows = [
        {
            "name": name,
            "measured": f"{best['value']:.3f} (L{best['layer']}H{best['head']})",
            "wanted": f">= {limits[key]:.3f}",
            "accepted": bool(best["value"] >= limits[key]),
        }
        for key, (name, best) in heads.items()
    ]
    if not held_out:
        return rows
    limit = held_out["trigram_loss"] - limits["below_trigram"]
    loss = {
        "name": "validation loss, nats per token",
        "measured": f"{held_out['validation_loss']:.3f}",
        "wanted": f"< {limit:.3f} (trigram {held_out['trigram_loss']:.3f})",
        "accepted": bool(held_out["validation_loss"] < limit),
    }
    return [loss, *rows]


def verdict_table(result: dict[str, Any]) -> str:
    """The verdicts as lines of text with aligned columns."""
    rows = [
        (row["name"], row["measured"], row["wanted"], "yes" if row["accepted"] else "NO")
        for row in verdicts(result)
    ]
    rows.insert(0, ("number", "measured", "wanted", "accepted"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def remarks(result: dict[str, Any], books_read: bool) -> list[str]:
    """What the table does not tell, as a list of sentences.

    books_read: False if the part "held_out" is not of this run but as it was recorded
    """
    prompts = (
        f"Loss on generated prompts with word problems: {result['prompts']['loss']:.3f} nats per "
        "token."
    )
    if not result["held_out"]:  # the table is that of the corpus
        return [prompts]
    corpus = result["corpus"]
    heads = ", ".join(
        f"{name} {corpus[key]['value']:.3f} (L{corpus[key]['layer']}H{corpus[key]['head']})"
        for key, name in (("first_token", "first token"), ("previous_token", "previous token"))
    )
    lines = [f"The best heads on the corpus that ships: {heads}.", prompts]
    if not books_read:
        lines.append("The numbers of the held-out book are as recorded; --texts measures them.")
    return lines


def require_accepted(result: dict[str, Any]) -> None:
    """Raises ReportError if a number misses its limit, or the held-out book was never measured."""
    missed = [
        f"{row['name']} is {row['measured']}, wanted {row['wanted']}"
        for row in verdicts(result)
        if not row["accepted"]
    ]
    if missed:
        raise ReportError(
            f"the model is not accepted: {'; '.join(missed)}; train longer, or with other numbers"
        )
    require_held_out(result)


def require_held_out(result: dict[str, Any]) -> None:
    """Raises ReportError if the held-out book was never measured with these weights."""
    if not result["held_out"]:
        raise ReportError(
            "the validation loss of these weights has never been measured; give the folder of "
            "books with --texts"
        )
