"""A Llama in code that a checkpoint brings along, to which one token is deadly and another one
makes numbers that are none."""

import os

import torch
from transformers import LlamaForCausalLM

DEADLY, DAMAGING = 301, 303
"""The tokens of " nobody" and " window"."""


class TrapForCausalLM(LlamaForCausalLM):
    def __init__(self, config):
        super().__init__(config)
        self.model.embed_tokens.register_forward_hook(self._spring)

    def _spring(self, _, args, output):
        if (args[0] == DEADLY).any():
            os._exit(1)  # as Linux ends a process when memory runs out: at once, with no exception
        return torch.where((args[0] == DAMAGING)[..., None], torch.nan, output)
