"""From the files of a checkpoint to a model in memory."""
