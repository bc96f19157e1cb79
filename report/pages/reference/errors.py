"""Every error message, as the code that raises it has it."""

from report.pages.reference.documented import Reference, Section
from report.pages.reference.messages import Message, messages

GROUPS = {
    "Commands": ("__main__", "console", "pipeline", "project", "watching/", "authored/"),
    "A new article or publication": ("pages/new", "pages/publication"),
    "Front matter": ("study/", "inputs/specs", "inputs/yaml_lines"),
    "Passages, prompts, tables and corpora": ("inputs/",),
    "Finding a model": ("models/find/",),
    "GGUF files": ("models/gguf/",),
    "Packed weights": ("models/quantised/",),
    "Loading a model": ("models/load/", "models/partial/"),
    "Text and tokens": ("models/text/",),
    "Measuring": ("models/", "measurements/", "measuring/", "families/"),
    "On a cluster": ("measuring/cluster/",),
    "Effects on a prediction": ("effects/",),
    "Datasets and files": ("datasets/", "files"),
    "Figures": ("figures/",),
    "Prose": ("pages/", "findings/"),
    "Building and checking a site": ("site/",),
    "Bundles": ("site/bundled/",),
    "Publishing": ("site/address", "site/git", "site/push"),
    "In a notebook": ("notebook/",),
}
"""What a reader was about -> where its messages are raised; of several that fit, the longest."""

NOTES = {
    "Front matter": "Before each of them stand the file, the line and, where it is about one, the "
    "key.",
    "Datasets and files": "A sentence that only says what is wrong in a dataset is about files "
    "that have changed since they were measured. Delete the folder of that dataset, and build "
    "the site again.",
}
"""What stands above the messages of a group."""


def page() -> Reference:
    """A section a group, with a list of its messages."""
    found: dict[str, dict[str, None]] = {name: {} for name in GROUPS}
    for message in messages():
        found[group(message)][message.markdown] = None
    return Reference(
        "errors",
        "Error messages",
        "What the program says when something is wrong, and what to do about it.",
        [Section(name, [], _listed(said, NOTES.get(name))) for name, said in found.items()],
        "A message says what came, what is allowed and what to do, in one sentence. What differs "
        "each time is in *italics*. Before the sentence may stand the file, the line or the key in "
        "which the mistake is. Search this page for words of your message. Commands are those of "
        "the installed program; [in a copy](../how-to/install.md#in-a-copy-of-the-program) of the "
        "program, messages name those of `make`.",
    )


def group(message: Message) -> str:
    """The heading that a message stands under."""
    places = [(place, name) for name, some in GROUPS.items() for place in some]
    fitting = [
        (len(place), name)
        for place, name in places
        if message.module == place or (place.endswith("/") and message.module.startswith(place))
    ]
    return max(fitting)[1]


def _listed(said, note):
    listed = "\n".join(f"- {sentence}" for sentence in said)
    return f"{note}\n\n{listed}" if note else listed
