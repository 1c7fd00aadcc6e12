"""One screen a file: inputs, a call of its view, drawing."""
