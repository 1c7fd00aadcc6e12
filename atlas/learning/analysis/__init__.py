"""What is known of a program before it is rewritten: scopes, data flow, purity and uses."""
