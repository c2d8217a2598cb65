"""Tables: delimited text, Parquet, Arrow and data frames, their columns recognised and encoded as vectors.

``header`` and ``delimited`` read text, ``columnar`` everything else; ``values`` parses cells, ``infer`` decides the
kind of every column, ``learn`` learns categories, words and preprocessing, ``encode`` makes vectors of columns,
``preprocess`` fills in and scales them, and ``table`` is the one source of examples that uses them all.
"""
