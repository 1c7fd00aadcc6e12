"""Program of the server. It is run by its directory, and imports the pages from the directory that contains them."""

from __future__ import annotations

import sys
from pathlib import Path

from atlas import AtlasError
from atlas.core.imports.distribution import extra


def main() -> None:
    """Serve until it is stopped."""
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    try:
        with extra("server", "`atlas serve`"):
            from pages.server.command import serve
    except AtlasError as error:
        sys.exit(f"atlas: {error}")
    serve()


if __name__ == "__main__":
    main()
