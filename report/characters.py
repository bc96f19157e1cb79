"""Text as files and pages can hold it."""

LONGEST = 160
"""Characters of a value that a sentence quotes."""


def whole(text):
    """A text without halves of characters, which JSON and YAML can write as "\\ud83d".

    Two halves that belong together are joined; for what is left stands U+FFFD.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def quoted(value):
    """A value as a sentence about it quotes it: in one line, without its middle if it is long."""
    said = repr(value)
    half = LONGEST // 2
    return said if len(said) <= LONGEST else f"{said[:half]} … {said[-half:]}"
