"""What a site's datasets weigh beside what hosts take, said before the site is built."""

from collections.abc import Iterable
from pathlib import Path

from report.datasets import store
from report.text import sized

SITE_BYTES = 10**9
"""What GitHub Pages takes of a site (its documentation: "no larger than 1 GB")."""

FILE_BYTES = 100 * 2**20
"""What GitHub takes of one file (its documentation: files larger than 100 MiB are blocked)."""


def too_heavy(folders: Iterable[Path]) -> list[str]:
    """Sentences about what is beyond a host's limits, none if nothing is.

    folders: of all datasets of the site
    """
    sizes = {
        folder / name: facts["bytes"]
        for folder in folders
        for name, facts in store.read(folder / "manifest.json")["files"].items()
    }
    sentences, whole = [], sum(sizes.values())
    if whole > SITE_BYTES:
        sentences.append(
            f"The datasets of this site are {sized(whole)}; GitHub Pages takes at most "
            f"{sized(SITE_BYTES)}. Measure fewer layers (--layers 0-3) or shorter passages, keep "
            "fewer heads of each layer (--heads 0-2), or publish on another host."
        )
    sentences += [
        f"{path} is {sized(size)}; GitHub takes files of at most {sized(FILE_BYTES)}. Shorten its "
        "passage, or publish on another host."
        for path, size in sizes.items()
        if size > FILE_BYTES
    ]
    return sentences
