"""Translate kernel text, a small typed part of Python, into C.

Kernel text is the part of Python in which the engines and searches are written: typed
functions over numbers, records and lists, without objects that are made on the way.
Python runs it as it stands; the C that this package writes from it gives the same
numbers, to the bit.

:mod:`ctext.source` reads modules and :mod:`ctext.types` their annotations;
:mod:`ctext.program` holds the functions, :mod:`ctext.expressions` and
:mod:`ctext.translate` write the C. What a text may contain is said in
:mod:`ctext.translate`; everything else is a :class:`~ctext.source.TextError` that names
file, line and what to write instead.
"""
