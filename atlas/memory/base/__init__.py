"""What every memory is made of: records, retrieval, ranking, edits and export."""
