"""From text to tokens, and back to what they are.

tokens.py      a text as tokens, exactly as the model's tokenizer does it; which are parts of one
               character
spelling.py    what each token is, in the text's own characters
vocabulary.py  tokens that are in no text, as a reader would see them
messages.py    a text, or the segments of a prompt, as messages in a chat template
chat.py        the chats that a template makes of messages, filled in by chat_process.py
segments.py    which segment of a prompt a token belongs to
cells.py       which cell, name or delimiter of a table
regions.py     which word, sentence, line, paragraph, turn or cell of a text
needle.py      where a fact may stand in a long text
turns.py       the turns of a chat in a chat template
ordered.py     ordered lists whose words are tokens
frequent.py    words that are tokens, the most frequent ones of some texts
"""
