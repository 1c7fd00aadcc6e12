"""What describes a kind of memory: its filters, its orders, its fields and its columns."""
