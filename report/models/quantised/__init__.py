"""Checkpoints whose weights are packed into fewer bits, read as the numbers that they stand for.

methods.py  which formats a config.json means, and how AWQ, GPTQ, MLX and MXFP4 unpack
parts.py    which stored tensors make which weight, what a format says about them, and what
            formats have in common
bitsandbytes.py, compressed.py    its formats; compressed-tensors and 8-bit floats
"""
