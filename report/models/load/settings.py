"""What is read of a checkpoint before its weights: config, class and tokenizer."""

import copy
import operator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transformers import (
    AutoConfig,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedTokenizerBase,
)

from report.errors import ReportError
from report.models.find import names
from report.models.gguf import formats
from report.models.gguf.architectures import architecture_of
from report.models.gguf.file import is_gguf, open_gguf
from report.models.gguf.tokenizer import tokenizer_of
from report.models.load.classes import model_class, require_known
from report.models.load.identity import tokenizer_files
from report.models.load.sentences import one_sentence, without_panics
from report.models.load.stated import read_config, require_allowed, require_objects
from report.models.load.tokenizing import require_plain
from report.models.quantised.methods import packing


@dataclass(frozen=True)
class Settings:
    """A model whose weights can be loaded.

    own_code: whether the checkpoint's own code is run
    config: what `model_class` takes; renamed: how the names of the checkpoint's tensors change,
        dict of pattern -> replacement
    packed_as: what config.json calls the way in which weights are packed into fewer bits, such as
        "fp8"; None if they are not, or come in a GGUF file
    """

    source: names.Source
    own_code: bool
    config: PretrainedConfig
    model_class: type
    renamed: dict[str, str]
    tokenizer: PreTrainedTokenizerBase
    packed_as: str | None

    @property
    def name(self) -> str:
        """What the model is called; of an adapter, the model that it belongs to."""
        return self.source.model.name

    def number_of_layers(self, asked: int | None) -> int:
        """How many layers are measured of those that are there; `asked` None means all.

        raises: ReportError if more are asked for than there are, or none
        """
        with one_sentence(f"model '{self.name}': its config.json states no number of layers"):
            there = operator.index(self.config.get_text_config(decoder=True).num_hidden_layers)
        if asked is not None and not 1 <= asked <= there:
            raise ReportError(
                f"model '{self.name}' has {there} layers (0 to {there - 1}), asked for were the "
                f"first {asked}; ask for fewer, or leave `layers` out"
            )
        return asked or there


def read_settings(
    source: names.Source, trust_remote_code: str | None, tokenizing: dict | None = None
) -> Settings:
    """Config, class and tokenizer of a model; of one on the hub these files are fetched first.

    source: `names.Source`; trust_remote_code: name of the model whose own code may run, or None
    tokenizing: as `tokenizer` of `Loading`
    returns: Settings; the tokenizer of an adapter alone comes before that of its model
    raises: ReportError if one of them is missing or damaged, or the architecture is not loaded here
    """
    if source.base is not None:
        own = bool(tokenizer_files(source.folder))
        of_base = None if own else tokenizing
        settings = read_settings(source.base, trust_remote_code, of_base)
        settings = replace(settings, source=source)
        if own:
            found = _load_tokenizer(source.name, source.folder, False, tokenizing or {})
            settings = replace(settings, tokenizer=found)
        return settings
    folder = source.folder
    trusted = trust_remote_code == source.name
    if is_gguf(folder):
        if tokenizing:
            raise ReportError(
                f"'{source.name}' is a GGUF file, whose tokenizer is read in one way only; leave "
                "`tokenizer` out"
            )
        return _of_gguf(source)
    if folder is None:
        from report.models.find import hub

        folder = hub.fetch_settings(source.name, source.revision, code=trusted)
    stated = read_config(folder, source.name)
    require_objects(folder, source.name)
    own_code = require_known(stated, source.name, trust_remote_code)
    packed = packing(stated, source.name)
    if packed is not None and own_code:
        raise ReportError(
            f"model '{source.name}' is quantised ({packed.label}) and brings its own code, which "
            "may read its weights in its own way; use the checkpoint that it was made from"
        )
    config = from_pretrained(
        source.name, "its config.json", AutoConfig, folder, trust_remote_code=own_code
    )
    with one_sentence(f"model '{source.name}': its config.json names no class that can load it"):
        cls, config, renamed = model_class(config, source.name, own_code)
    for part in (config, config.get_text_config()):  # its weights come unpacked
        vars(part).pop("quantization_config", None)
    tokenizer = _load_tokenizer(source.name, folder, own_code, tokenizing or {})
    label = None if packed is None else packed.label
    return Settings(source, own_code, config, cls, renamed, tokenizer, label)


def _of_gguf(source):
    """The same of a GGUF file, which brings no code, and whose numbers are unpacked as they are
    read."""
    file = open_gguf(source.folder)
    formats.package()  # its absence is said before anything is built
    stated = architecture_of(file).config
    require_allowed(stated, f"'{file.name}'")
    with one_sentence(f"'{file.name}': what it says describes no model that can be built"):
        config = AutoConfig.for_model(**copy.deepcopy(stated))
        cls, config, renamed = model_class(config, source.name)
    with one_sentence(f"'{file.name}': its tokenizer cannot be used"), without_panics():
        tokenizer = tokenizer_of(file)
        require_plain(tokenizer, source.name)
    return Settings(source, False, config, cls, renamed, tokenizer, None)


def _load_tokenizer(name, folder, own_code, options):
    if not tokenizer_files(folder):
        raise ReportError(f"model folder '{name}' has no tokenizer; it needs tokenizer.json")
    found = from_pretrained(
        name, "its tokenizer", AutoTokenizer, folder, trust_remote_code=own_code, **options
    )
    for option, value in options.items():
        if value and not getattr(getattr(found, "backend_tokenizer", None), option, False):
            raise ReportError(
                f"model '{name}': transformers does not know its tokenizer as one with that "
                f"mistake, so {option} changes nothing; leave `tokenizer` out"
            )
    with one_sentence(f"model '{name}': its tokenizer cannot be used"):
        require_plain(found, name)
    return found


def from_pretrained(name: str, what: str, loader: type, folder: Path | None, **options) -> Any:
    """Call a loader of transformers on local files only; its errors become one sentence.

    folder: Path; None where `options` hold what would be read there
    raises: ReportError
    """
    said = f"model '{name}': {what} cannot be loaded"
    where = None if folder is None else str(folder)
    with one_sentence(said, folder, name), without_panics():
        return loader.from_pretrained(where, local_files_only=True, **options)
