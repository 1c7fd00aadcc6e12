"""Names of the attributes of builtin types and of numpy's arrays."""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import fractions
import io
import re

_TYPES = (
    *(bool, bytearray, bytes, complex, dict, float, frozenset, int, list, memoryview, range, set, slice, str, tuple),
    *(BaseException, type, array.array, collections.Counter, collections.OrderedDict, collections.deque),
    *(datetime.date, datetime.datetime, datetime.timedelta, decimal.Decimal, fractions.Fraction),
    *(io.BytesIO, io.StringIO, io.TextIOWrapper, re.Match, re.Pattern),
)

# fmt: off
_ARRAY_MEMBERS = (
    "T", "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "base", "byteswap", "choose", "clip",
    "compress", "conj", "conjugate", "copy", "ctypes", "cumprod", "cumsum", "data", "diagonal", "dot", "dtype",
    "dump", "dumps", "fill", "flags", "flat", "flatten", "getfield", "imag", "item", "itemset", "itemsize", "max",
    "mean", "min", "nbytes", "ndim", "newbyteorder", "nonzero", "partition", "prod", "ptp", "put", "ravel", "real",
    "repeat", "reshape", "resize", "round", "searchsorted", "setfield", "setflags", "shape", "size", "sort",
    "squeeze", "std", "strides", "sum", "swapaxes", "take", "tobytes", "tofile", "tolist", "tostring", "trace",
    "transpose", "var", "view",
)
# fmt: on

MEMBERS = frozenset(name for kind in _TYPES for name in dir(kind)) | frozenset(_ARRAY_MEMBERS)
"""Attributes and methods of builtin types and of arrays, which a program means unless it defines such a name itself."""
