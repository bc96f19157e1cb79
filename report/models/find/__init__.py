"""Which files a model's name stands for: embedded, in a folder, or on the hub."""
