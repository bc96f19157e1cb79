"""What models read: passages, corpora, rows of data, prompts, conditions, fillers and tables."""
