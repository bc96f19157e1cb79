"""The files a reader's browser loads: how measurements become JSON, and back. No torch here.

formats/    how numbers become JSON
write/      the folder of datasets of one model
read/       the same folder, for figures and templates; each kind has its own in report/kinds/
store.py    every dataset is written and read through it, and checked against its schema;
            damaged.py says what to do about one that does not fit
whole.py    whether a folder is as it was measured: no file missing, changed or added
"""
