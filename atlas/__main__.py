"""`python -m atlas`: the command line."""

from atlas.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
