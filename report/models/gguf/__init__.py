"""Models in GGUF files, as llama.cpp, Ollama and LM Studio keep them, read as a checkpoint is."""
