"""What models read: passages, corpora, rows of data, prompts, conditions, fillers,
questions and tables."""
