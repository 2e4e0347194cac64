"""Notebooks, run by a kernel of the Python that runs the tests.

python tests/notebooks.py examples/compare.ipynb     # keep what it shows now
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

__all__ = ["run"]

PATIENCE_SECONDS = 120


class _Here(KernelManager):
    """A kernel of this very Python."""

    @property
    def kernel_spec(self) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, language="python")


def run(notebook: NotebookNode, folder: Path) -> None:
    """Run all cells in a folder, and keep what they show in the notebook. nbclient tells which cell has failed."""
    NotebookClient(
        notebook,
        timeout=PATIENCE_SECONDS,
        kernel_manager_class=_Here,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    ).execute()


def main(path: Path) -> None:
    """Run a notebook in an empty folder, and keep what it shows now."""
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:
        run(notebook, Path(folder))
    nbformat.write(notebook, path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
