"""Which class of transformers loads a checkpoint: the one that saved it, so nothing is missing.

Code that a checkpoint brings along is run only for a model whose name was given for this.
"""

import re
from typing import Any

import transformers
from transformers import (
    CONFIG_MAPPING,
    MODEL_FOR_CAUSAL_LM_MAPPING,
    AutoModel,
    AutoModelForCausalLM,
    PretrainedConfig,
    PreTrainedModel,
)

from report.errors import PROGRAM, ReportError
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
