"""What the datasets of all kinds of article have in common for those who read them.

study.py    the datasets of an article of any kind, see `report.kinds`
model.py    those of one model
heads.py    its tables of heads, one a measure
conditions.py  what must hold of a study of conditions beyond its schemas
"""
