-- Run once, when the database of compose.yaml is made. ATLAS makes its own schema.
CREATE EXTENSION vector;
