"""Foreign objects in a store's PostgreSQL schema, such as triggers that run with ATLAS's statements."""

from __future__ import annotations

import re

from atlas.storage.postgres.schema import FUNCTIONS, SCRIPT
from atlas.storage.sql.connection import Connection, TextArray

_TABLES = sorted(re.findall(r"CREATE TABLE (\w+)", SCRIPT))
_INDEXES = sorted(re.findall(r"CREATE (?:UNIQUE )?INDEX (\w+)", SCRIPT))
_BODIES = re.findall(r"AS '([^']+)'", FUNCTIONS)

_FOREIGN = """
WITH own AS (
    SELECT c.oid, c.relname, c.relkind, c.relrowsecurity FROM pg_class c
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relname::text = ANY(?)
)
SELECT 'trigger', t.tgname, o.relname FROM pg_trigger t JOIN own o ON o.oid = t.tgrelid WHERE NOT t.tgisinternal
UNION ALL SELECT 'rule', r.rulename, o.relname FROM pg_rewrite r JOIN own o ON o.oid = r.ev_class
UNION ALL SELECT 'policy', p.polname, o.relname FROM pg_policy p JOIN own o ON o.oid = p.polrelid
UNION ALL SELECT 'row security', relname, relname FROM own WHERE relrowsecurity
UNION ALL SELECT 'view or foreign table', relname, relname FROM own WHERE relkind <> 'r'
UNION ALL SELECT 'constraint', k.conname, o.relname FROM pg_constraint k JOIN own o ON o.oid = k.conrelid
    WHERE k.contype NOT IN ('p', 'u', 'f', 'n')
UNION ALL SELECT 'default or generated column', a.attname, o.relname FROM pg_attrdef d
    JOIN own o ON o.oid = d.adrelid JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
    WHERE a.attgenerated <> '' OR pg_get_expr(d.adbin, d.adrelid) NOT IN ('0', '''''::text')
UNION ALL SELECT 'index', c.relname, o.relname FROM pg_index i JOIN own o ON o.oid = i.indrelid
    JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relname::text <> ALL(?) AND c.relname !~ '^index_vectors_[0-9a-f]{16}$'
    AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.conrelid = o.oid)
UNION ALL SELECT 'function', p.oid::regprocedure::text, '' FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace
    AND (p.proname = 'items' OR current_schema() <> 'public')
    AND NOT (p.proname = 'items' AND p.prosrc = ANY(?))
    AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid
        AND d.deptype = 'e')
ORDER BY 1, 2, 3
"""
"""Objects attached to the store's tables, and functions in its schema. Other tables are harmless, and `public` is
shared."""


def foreign_objects(connection: Connection) -> list[str]:
    """Return the objects in the schema that ATLAS did not create, such as `trigger 'evil' on records`."""
    rows = connection.execute(_FOREIGN, (TextArray(_TABLES), TextArray(_INDEXES), TextArray(_BODIES))).fetchall()
    return [f"{kind} {str(name)[:80]!r}{f' on {table}' if table else ''}" for kind, name, table in rows]
