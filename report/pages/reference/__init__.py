"""The reference of the documentation, made from the code that it describes.

write.py         writes its pages, for a publication that has a documentation: front matter,
                 commands, figures, datasets
documented.py    what a page consists of, and docstrings as Markdown
in_prose.py      functions, findings and filters that templates may use
"""
