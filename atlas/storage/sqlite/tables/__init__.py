"""Tables of the ledger: what is read and written of each inside an open transaction."""
