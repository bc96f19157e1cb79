"""The reference of the documentation, made from the code that it describes.

write.py         writes its pages, for a publication that has a documentation
documented.py    what a page consists of, and docstrings as Markdown
front_matter.py  the keys of front matter, from the model that reads them
command_line.py  commands and options, from what `--help` says
in_prose.py      functions, findings and filters that templates may use
drawing.py       the fields of a figure
datasets.py      the published schemas
"""
