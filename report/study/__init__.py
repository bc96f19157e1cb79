"""What is asked: an article's front matter and template, and the options in their place."""
