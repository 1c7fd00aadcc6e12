"""Programs as terms: parsing, normal forms, matching, and how long a description is."""
