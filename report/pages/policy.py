"""The text of the Content-Security-Policy: what a browser may load and run on a page."""

import base64
import hashlib
from collections.abc import Iterable

NAME = "Content-Security-Policy"


LOCKED = {
    "default-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",  # attributes `style`, of the theme and of figures
    "img-src": "'self' data:",  # the theme's icons, and figures on their way to a PNG file
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
}
"""Directive -> sources, besides `script-src`. A <meta> cannot say who may frame a page."""


def policy(hashes: Iterable[str] = ()) -> str:
    """The policy as text; hashes: of the inline scripts that may run, see `script_hash`."""
    scripts = {"script-src": " ".join(["'self'", *sorted(hashes)])}
    return "; ".join(f"{name} {sources}" for name, sources in (LOCKED | scripts).items())


def script_hash(text: str) -> str:
    """How a policy names an inline script with this text."""
    digest = hashlib.sha256(text.replace("\r\n", "\n").encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
