"""Entry point of the standalone dashboard, with Streamlit's options."""

from __future__ import annotations

import sys
from pathlib import Path

from atlas import AtlasError
from atlas.core.imports.distribution import extra


def main() -> None:
    """Run the dashboard until it is stopped."""
    root = Path(__file__).resolve().parents[2]
    sys.path[0] = str(root)
    try:
        with extra("dashboard", "the dashboard"):
            from streamlit.web.cli import main as streamlit
    except AtlasError as error:
        sys.exit(f"atlas: {error}")
    streamlit(["run", str(root / "app.py"), *sys.argv[1:]], prog_name="streamlit")


if __name__ == "__main__":
    main()
