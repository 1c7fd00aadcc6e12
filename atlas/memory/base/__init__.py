"""The parts of every memory: records, retrieval, ranking, edits and export."""
