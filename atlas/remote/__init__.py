"""A memory that another process serves, with the methods and the errors of one that is opened here."""
