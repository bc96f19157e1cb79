"""What is read of a checkpoint before its weights: config, class and tokenizer.

Which class of transformers loads a checkpoint: the one that saved it, so nothing is missing.

Code that a checkpoint brings along is run only for a model whose name was given for this.
"""

import copy
import operator
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import transformers
from transformers import (
    CONFIG_MAPPING,
    MODEL_FOR_CAUSAL_LM_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from report.errors import PROGRAM, ReportError
from report.models.find import names
from report.models.gguf import formats
from report.models.gguf.architectures import architecture_of
from report.models.gguf.file import is_gguf, open_gguf
from report.models.gguf.tokenizer import tokenizer_of
from report.models.load.identity import tokenizer_files
from report.models.load.sentences import one_sentence, without_panics
from report.models.load.stated import read_config, require_allowed, require_objects
from report.models.load.tokenizing import require_plain
from report.models.quantised.methods import packing
from report.text import quoted

NAME = re.compile(r"[\w./-]{1,100}")

TEXT = "input_ids"
"""What transformers calls the tokens of a text among the inputs of a model."""

TEXT_PART = {
    "Gemma3ForConditionalGeneration": (
        "Gemma3ForCausalLM",
        {r"^(model\.)?language_model\.(model\.)?": "model."},
    ),
}
"""Wrappers of a text model and an image tower -> the class of the text model alone, and how the
names of the wrapper's tensors become its own. Without this its weights would be random."""


def require_known(raw: dict[str, Any], name: str, trusted: str | None) -> bool:
    """Stop for an architecture that only code inside the checkpoint, or nothing here, can build.

    raw: dict, the content of config.json; name: of the model; trusted: the model name that the user
        gave for running its code, or None
    returns: whether the checkpoint's own code is to be run
    raises: ReportError saying how to allow the checkpoint's code, or that the architecture is
        unknown
    """
    own_code = raw.get("auto_map") or {}
    if not isinstance(own_code, dict):
        raise ReportError(f"'{name}/config.json': auto_map is no object of names; remove it")
    if own_code and trusted == name:
        _require_own(own_code, name)
        return True
    model_type = raw["model_type"]
    if model_type in CONFIG_MAPPING:
        return False
    if own_code:
        named = f", given for {trusted!r}" if trusted else ""
        code = _shown(next(iter(own_code.values())))
        raise ReportError(
            f"model '{name}' ({_shown(model_type)}) brings its own code ({code}), which would run "
            f"on this machine{named}; read it, then allow it by name: --trust-remote-code {name}, "
            f"or trust_remote_code: {name} in the front matter"
        )
    raise ReportError(
        f"model '{name}' has the architecture '{_shown(model_type)}', which transformers "
        f"{transformers.__version__} does not know; a newer transformers may, or a model with an "
        f"architecture listed by `{PROGRAM} models`"
    )


def _shown(value):
    """A name out of a file: as it is if it is one, else as a sentence quotes it."""
    return value if NAME.fullmatch(str(value)) else quoted(value)


def _require_own(own_code, name):
    """Stop for code of another repository than the one that is trusted."""
    for named in own_code.values():
        for reference in named if isinstance(named, list) else [named]:
            if "--" in str(reference):
                raise ReportError(
                    f"model '{name}' names code of another model ({_shown(reference)}), which is "
                    "not trusted by trusting this one; copy that code into the folder and read it"
                )


def _require_text(saved_by, name):
    """Stop for a class whose first input is no text."""
    read = saved_by.main_input_name
    if read != TEXT:
        raise ReportError(
            f"model '{name}' is a {saved_by.__name__}, which reads {read} and no text ({TEXT}); "
            "measured are models that read text: decoders (GPT, Llama, …) and encoders (BERT, …)"
        )


def model_class(
    config: PretrainedConfig, name: str, own_code: bool = False
) -> tuple[type, PretrainedConfig, dict[str, str]]:
    """The class that loads a checkpoint, the config it takes, and how names of tensors change.

    config: as AutoConfig reads it; name: of the model, for messages; own_code: whether the
        checkpoint's own code is run
    returns: (class, config, dict of pattern -> replacement); the class is one of transformers'
        automatic ones where the checkpoint does not say what saved it, or brings its own
    raises: ReportError for an architecture that has no single stack of layers, or reads no text
    """
    architectures = config.architectures or []
    if config.is_encoder_decoder:
        raise ReportError(
            f"model '{name}' is a {next(iter(architectures), config.model_type)}, an encoder and a "
            "decoder; measured are models with one stack of layers: decoders (GPT, Llama, …) and "
            "encoders (BERT, …)"
        )
    for architecture in [] if own_code else architectures:
        if architecture in TEXT_PART:
            alone, renamed = TEXT_PART[architecture]
            return getattr(transformers, alone), config.get_text_config(), dict(renamed)
        saved_by = getattr(transformers, architecture, None)
        if isinstance(saved_by, type) and issubclass(saved_by, PreTrainedModel):
            _require_text(saved_by, name)
            return saved_by, config, {}
    causal = "AutoModelForCausalLM" in (getattr(config, "auto_map", None) or {})
    if (own_code and causal) or type(config) in MODEL_FOR_CAUSAL_LM_MAPPING:
        return AutoModelForCausalLM, config, {}
    return AutoModel, config, {}


@dataclass(frozen=True)
class Settings:
    """A model whose weights can be loaded.

    own_code: whether the checkpoint's own code is run
    config: what `model_class` takes; renamed: how the names of the checkpoint's tensors change,
        dict of pattern -> replacement
    """

    source: names.Source
    own_code: bool
    config: PretrainedConfig
    model_class: type
    renamed: dict[str, str]
    tokenizer: PreTrainedTokenizerBase

    @property
    def name(self) -> str:
        """What the model is called; of an adapter, the model that it belongs to."""
        return self.source.model.name

    def number_of_layers(self, number: int | None) -> int:
        """How many layers are measured of those that are there; `number` None means all.

        raises: ReportError if more are asked for than there are, or none
        """
        with one_sentence(f"model '{self.name}': its config.json states no number of layers"):
            there = operator.index(self.config.get_text_config(decoder=True).num_hidden_layers)
        if number is not None and not 1 <= number <= there:
            raise ReportError(
                f"model '{self.name}' has {there} layers (0 to {there - 1}), asked for were the "
                f"first {number}; ask for fewer, or leave `layers` out"
            )
        return number or there


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
        has_tokenizer = bool(tokenizer_files(source.folder))
        of_base = None if has_tokenizer else tokenizing
        settings = read_settings(source.base, trust_remote_code, of_base)
        settings = replace(settings, source=source)
        if has_tokenizer:
            tokenizer = _load_tokenizer(source.name, source.folder, False, tokenizing or {})
            settings = replace(settings, tokenizer=tokenizer)
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
    return Settings(source, own_code, config, cls, renamed, tokenizer)


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
    return Settings(source, False, config, cls, renamed, tokenizer)


def _load_tokenizer(name, folder, own_code, options):
    if not tokenizer_files(folder):
        raise ReportError(f"model folder '{name}' has no tokenizer; it needs tokenizer.json")
    tokenizer = from_pretrained(
        name, "its tokenizer", AutoTokenizer, folder, trust_remote_code=own_code, **options
    )
    for option, value in options.items():
        if value and not getattr(getattr(tokenizer, "backend_tokenizer", None), option, False):
            raise ReportError(
                f"model '{name}': transformers does not know its tokenizer as one with that "
                f"mistake, so {option} changes nothing; leave `tokenizer` out"
            )
    with one_sentence(f"model '{name}': its tokenizer cannot be used"):
        require_plain(tokenizer, name)
    return tokenizer


def from_pretrained(name: str, what: str, loader: type, folder: Path | None, **options) -> Any:
    """Call a loader of transformers on local files only; its errors become one sentence.

    folder: Path; None where `options` hold what would be read there
    raises: ReportError
    """
    sentence = f"model '{name}': {what} cannot be loaded"
    where = None if folder is None else str(folder)
    with one_sentence(sentence, folder, name), without_panics():
        return loader.from_pretrained(where, local_files_only=True, **options)
