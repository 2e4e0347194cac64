"""How Sphinx makes the handbook from this folder. `python tools/docs.py` runs it."""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
# Sphinx documents the source beside this folder, not the installed package: compiled modules have no signatures.
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "batprotocol"
author = "the batprotocol developers"
project_copyright = author
release = version = _PROJECT["version"]
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "handbook",
]
exclude_patterns = ["_static", "_templates"]
templates_path = ["_templates"]
default_role = "literal"  # docstrings write `name`
smartquotes_action = "D"  # only dashes: quoted text is text to type
needs_sphinx = "8.1"

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4
suppress_warnings = ["myst.xref_missing"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_maximum_signature_line_length = 130  # with whole names of types, of which only the last part is shown
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"

html_theme = "furo"
html_title = f"batprotocol {release}"
html_static_path = ["_static"]
html_css_files = ["handbook.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_additional_pages = {"search": "search.html"}  # in place of Sphinx's: tools/handbook/searching.py
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "native"

text_newlines = "unix"
text_sectionchars = "=-~^"
