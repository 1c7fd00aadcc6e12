"""Star imports made explicit, imports that nothing reads, and imports counted as those of one module."""

from __future__ import annotations

import ast

import pytest

from atlas.learning.terms.description_length import n_tokens
from atlas.learning.terms.imports import (
    expand_stars,
    imported_modules,
    merge_imports,
    n_import_tokens,
    removable_imports,
    remove_unread_imports,
    star_modules,
)

PUBLIC = {"common": frozenset({"f", "g", "np", "size"}), "other": frozenset({"f", "h"})}


def named(source: str, *also: str) -> str:
    return ast.unparse(expand_stars(ast.parse(source), PUBLIC, frozenset(also)))


def test_the_modules_of_star_imports_are_told():
    source = "from common import *\nfrom math import pi\nif pi:\n    from a.b import *\nfrom . import *"
    assert star_modules(ast.parse(source)) == ["common", "", "a.b"]


@pytest.mark.parametrize(
    ("source", "imported"),
    [
        ("from common import *\ndef solve(x):\n    return f(np.abs(x))", "from common import f, np"),
        ("from common import *\nsize = 3\ndef solve(x):\n    return x + size", "import common"),
        ("from common import *\ndef solve(x):\n    return size(x)\ndef size(x):\n    return x", "import common"),
        ("from common import *\nprint(size)\nsize = 3", "from common import size"),
        ("from common import *\ndef a():\n    return size\nb = a()\nsize = 3", "from common import size"),
        (
            "from common import *\ndef a(f):\n    return size\n@a\ndef b():\n    pass\nsize = 3",
            "from common import size",
        ),
        ("from common import *\nsize += 1", "from common import size"),
        ("from common import *\nif x:\n    size = 2\nprint(size)", "from common import size"),
        ("from common import *\nclass A(f):\n    size = 2", "from common import f"),
        ("from common import *\nfrom other import *\nf(h)", "import common\nfrom other import f, h"),
        ("from common import *\nf()\nfrom other import *\nf()", "from common import f\nf()\nfrom other import f\n"),
        ("def size(): pass\nfrom common import *\nsize()", "def size():\n    pass\nfrom common import size"),
        (
            "def a():\n    return size\nfrom common import *\nb = a()\nsize = 3",
            "def a():\n    return size\nfrom common import size",
        ),
        ("from common import *\ncommon = 1\nprint(common)", "from common import *"),
    ],
)  # fmt: skip
def test_a_star_import_names_what_is_read_and_not_bound_before_that(source, imported):
    assert f"{named(source)}\n".startswith(imported)


def test_what_the_tests_read_is_imported_too():
    assert named("from common import *\ndef solve(x):\n    return f(x)", "np", "list") .startswith(
        "from common import f, np\n"
    )  # fmt: skip


def test_imports_may_go_that_the_program_reads_and_its_tests_do_not():
    source = "import re, math, os\nfrom a import b as c, d\ndef f():\n    import json\n    return json, re.x, c, d"
    assert removable_imports(ast.parse(source), frozenset({"d"})) == {"re", "c", "json"}
    assert removable_imports(ast.parse(source + "\n__all__ = ['re']"), frozenset()) == frozenset()


def test_an_import_stays_whose_module_may_be_read_through_another_name():
    program = ast.parse("import xml\nimport xml.dom.minidom as m\nimport json.tool as t\nprint(xml.dom, m, t)")
    assert removable_imports(program, frozenset()) == {"xml", "t"}


def test_imports_that_nothing_mentions_go_and_others_stay():
    source = (
        "import re, math\nimport os\nfrom a import b, c\ndef f():\n    import json\n    return c\n"
        "try:\n    import math\nexcept ImportError:\n    pass\ndef g():\n    import json"
    )
    gone = remove_unread_imports(ast.parse(source), frozenset({"re", "math", "b", "c", "json"}))
    assert ast.unparse(ast.fix_missing_locations(gone)) == (
        "import os\nfrom a import c\n\ndef f():\n    return c\ntry:\n    import math\nexcept ImportError:\n    pass\n\n"
        "def g():\n    import json"
    )


def test_a_library_imports_each_name_once_and_those_of_a_module_together():
    statements = {"from dsl import crop", "from dsl import fill as f", "import numpy as np", "from a.b import c"}
    text = "import numpy as np\nfrom a.b import c\nfrom dsl import crop, fill as f"
    assert "\n".join(merge_imports(statements)) == text
    assert n_import_tokens(frozenset(statements)) == n_tokens(text)
    assert imported_modules(statements) == {"dsl", "import numpy as np", "a.b"}


def test_one_of_two_things_of_a_name_has_another_name():
    both = frozenset({"from a import x", "from b import x"})
    assert n_import_tokens(both) == n_tokens("from a import x\nfrom b import x as y")
