"""What authors write is run here: templates, figures, settings. Whatever it does is a sentence.

boundary.py  an error of any class becomes one sentence with file and line, or a defect of ours
endless.py   work without an end in a thread that serves a page
later.py     what is asked for while it is still to be measured
guard.py     a process that sees the program end, whatever ended it, and work that has no end
"""
