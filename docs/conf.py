"""How Sphinx builds the site. `make docs` runs it with warnings as errors; nothing is fetched, then or by the pages."""

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("SCIPY_ARRAY_API", "1")

from rosenblatt import __version__  # noqa: E402

project = "rosenblatt"
author = "the rosenblatt developers"
copyright = "the rosenblatt developers"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "our_docstrings",
    "members",
    "commands",
    "every_rule",
    "live_lessons",
    "mathml",
    "offline",
    "outside_links",
]
root_doc = "index"
exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]
nitpicky = False
highlight_language = "text"
smartquotes_action = "qe"  # options keep their two dashes

# The pages that are also read as they stand, in a checkout
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

# API
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say what a parameter is, in words
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False  # the template lists them, without what scikit-learn adds
numpydoc_validation_checks: set[str] = set()
warnings.filterwarnings("ignore", category=UserWarning, module="numpydoc")

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "doc_module": ("rosenblatt",),
    "backreferences_dir": None,
    "write_computation_times": False,
    "remove_config_comments": True,
    "capture_repr": (),
}

# Look
html_theme = "pydata_sphinx_theme"
html_title = "rosenblatt"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"  # browsers draw it: no script, nothing to fetch
html_favicon = "_static/icon.svg"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_nav_level": 1,
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navigation_depth": 2,
    "show_toc_level": 2,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "tutorial": [], "commands": []}
