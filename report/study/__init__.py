"""What an article asks of models: its front matter and template, and options that replace keys."""
