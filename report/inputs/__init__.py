"""What models read, as front matter asks for it.

passages.py     texts of articles, and the corpus of short texts; corpora.py larger ones, also on
                other machines (network.py)
tables.py       rows of data as tables; records.py finds the rows, rows.py what front matter spells
                out
prompts.py      system prompts and questions; conditions.py their variants, fillers.py what some put
                between
predictions.py  texts whose next token is asked about; generated.py makes sentences of this kind
pairs.py        two prompts that differ in a word, and patterns that make several of these
questions.py    generated questions whose answers are known
needles.py      facts that are hidden in a long text, and their questions
specs.py        keys of front matter that have keys of their own; yaml_lines.py says in which line
                a value stands
"""
