"""What an article asks of models.

study.py          an article, read from its template
front_matter.py   the keys at its top; mistakes.py says in a sentence what is wrong with them
options.py        the options of the command line that replace keys
"""
