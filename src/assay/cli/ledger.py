"""`assay ledger`: verify, query, merge, show."""

from __future__ import annotations

import typer

app = typer.Typer(help="The evidence: verify it, query it, merge it, show it.")
