"""Words of people on records: tags, pins and notes, with readable JSON files beside the ledger, and judged hits."""
