"""From a name to the tensors of every head: find and load a checkpoint, measure its attention.

gguf/       GGUF files, as llama.cpp has them: header, numbers, settings, tokenizer
quantised/  checkpoints whose weights are packed into fewer bits
find/       which files a name stands for
load/       the checkpoint becomes a model in memory
partial/    or a model with some of its weights
attention/  reaches the attention of every layer while a model runs
text/       from text to tokens, segments of prompts and cells of tables
measure/    runs a model on a passage, prompts, a table or a corpus
"""
