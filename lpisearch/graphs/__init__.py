"""Neighbour graphs: affinities between documents (rows of X).

Names are imported when they are first used: who only asks which graphs there are needs no SciPy.
"""
