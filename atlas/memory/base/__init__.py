"""The parts that every memory is made of: records, retrieval, ranking, edits and export."""
