"""What an article asks of models.

study.py          an article, read from its template
front_matter.py   the keys at its top; study.py reads them, and says in a sentence what is wrong
options.py        the options of the command line that replace keys
"""
