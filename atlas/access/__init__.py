"""Who may enter a store that is served to others: named keys, each with a role and an end."""
