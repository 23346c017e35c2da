"""An executed notebook as one static HTML page: no network, no script, formulas as MathML, light and dark, narrow.

nbconvert's own templates fetch MathJax and RequireJS and drop alt texts (reference: notebooks 6.9). The page carries a
content policy that forbids scripts and requests, because outputs may quote generated code. Source: issue 8 item 5.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import jinja2
import latex2mathml.converter
import mistune
import nbformat
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

DATA = Path(__file__).resolve().parent / "report_data"
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
PICTURES = ("image/png", "image/jpeg")


def template(name: str) -> jinja2.Template:
    """A page template of `report_data/`; values are escaped unless marked safe."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(DATA), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.globals["css"] = (DATA / "page.css").read_text(encoding="utf-8")
    return environment.get_template(name)


def page_of(path: Path, home: str = "../index.html") -> str:
    """The HTML text of an executed notebook."""
    notebook = nbformat.read(path, as_version=4)
    cells = [_cell(cell) for cell in notebook.cells]
    return template("notebook.html").render(title=path.stem, home=home, cells=[cell for cell in cells if cell])


def _cell(cell: Any) -> dict[str, Any] | None:
    if cell.cell_type == "markdown":
        return {"kind": "text", "html": markdown(cell.source)}
    if cell.cell_type != "code" or not (cell.source.strip() or cell.outputs):
        return None
    tags = cell.metadata.get("tags", [])
    return {
        "kind": "code",
        "folded": "folded" in tags or cell.metadata.get("jupyter", {}).get("source_hidden", False),
        "count": cell.execution_count,
        "html": code(cell.source),
        "outputs": [text for output in cell.outputs if (text := _output(output))],
    }


def _output(output: Any) -> str:
    if output.output_type == "stream":
        return f'<pre class="out">{html.escape(plain(output.text))}</pre>'
    if output.output_type == "error":
        return f'<pre class="out error">{html.escape(plain(chr(10).join(output.traceback)))}</pre>'
    data = output.get("data", {})
    for kind in PICTURES:
        if kind in data:
            facts = output.get("metadata", {}).get(kind, {})
            alt = html.escape(facts.get("alt") or "Picture printed by the cell above")
            width = f' width="{int(facts["width"])}"' if "width" in facts else ""
            bytes_ = "".join(data[kind].split())
            return f'<img class="figure" alt="{alt}"{width} src="data:{kind};base64,{bytes_}">'
    if "application/vnd.jupyter.widget-view+json" in data:
        return ""  # every widget has a static twin in the notebook
    if "text/html" in data:
        return f'<div class="wide">{data["text/html"]}</div>'
    if "text/markdown" in data:
        return markdown(data["text/markdown"])
    return f'<pre class="out">{html.escape(plain(data["text/plain"]))}</pre>' if "text/plain" in data else ""


def plain(text: str) -> str:
    """Terminal text as a reader would see it: no colour codes, and of a line that was overwritten only the last state.

    >>> plain("10%\\r90%\\nend")
    '90%\\nend'
    """
    return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in ANSI.sub("", text).split("\n"))


def code(source: str, language: str = "python") -> str:
    """Highlighted code; an unknown language stays plain.

    >>> code("x = 1", "nonsense")
    '<pre class="code"><code>x = 1</code></pre>'
    """
    try:
        body = highlight(source, get_lexer_by_name(language), HtmlFormatter(nowrap=True)).rstrip("\n")
    except ClassNotFound:
        body = html.escape(source)
    return f'<pre class="code"><code>{body}</code></pre>'


def math(tex: str, block: bool = False) -> str:
    """A formula as MathML; one that cannot be read stays TeX text.

    >>> math("r_i").startswith("<math")
    True
    """
    try:
        return latex2mathml.converter.convert(tex, display="block" if block else "inline")
    except Exception:  # noqa: BLE001  the converter raises a dozen kinds; the TeX itself is a fair fallback
        return f"<code>{html.escape(tex)}</code>"


class _Renderer(mistune.HTMLRenderer):
    def block_code(self, code_text: str, info: str | None = None) -> str:
        return code(code_text.rstrip("\n"), (info or "text").split()[0])

    def inline_math(self, text: str) -> str:
        return math(text)

    def block_math(self, text: str) -> str:
        return f'<div class="wide">{math(text, block=True)}</div>'

    def table(self, text: str) -> str:
        return f'<div class="wide"><table>{text}</table></div>'


def markdown(text: str) -> str:
    """Markdown with tables and formulas as HTML; raw HTML in it is shown, not obeyed.

    >>> markdown("*a* <b>")
    '<p><em>a</em> &lt;b&gt;</p>\\n'
    """
    convert = mistune.create_markdown(renderer=_Renderer(escape=True), plugins=["math", "table", "strikethrough"])
    return str(convert(text))
