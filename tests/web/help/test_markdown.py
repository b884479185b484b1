"""Tests of rendering a page of the documentation: headings, code, tables, comments, and rejected markup."""

from __future__ import annotations

import re

import pytest

from svc.web.help.markdown import HelpError, parse, render


def html(text: str) -> str:
    """Return the HTML of a page that has this text below its title."""
    return render(parse(f"# Title\n\nSummary.\n\n{text}"), NotImplemented)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<script>alert(1)</script>", "raw HTML: <script>"),
        ("<div>\n\ntext\n\n</div>", "raw HTML: <div>"),
        ("text <b>bold</b>", "raw HTML: <b>"),
        ('<a id="x" onclick="y()"></a>', "raw HTML: <a id"),
        ('<a id="x">text</a>', "raw HTML: <a id"),
        ("<!-- comment --> <img src=x>", "raw HTML"),
        ("<svc@localhost> <!-- a --> <br>", "raw HTML"),
        ("![chart](chart.png)", "an image"),
        ("#### Deep", "the level of the heading “Deep”"),
        ("# Second title", "the level of the heading “Second title”"),
        ('<a id="x"></a>text <a id="x"></a>', "an anchor twice"),
        ('## Make\n\n<a id="make"></a>text', "an anchor twice"),
        ("## Help pages", "an anchor twice, or one of"),
    ],
)
def test_page_with_unsupported_markup_is_refused(text, problem):
    with pytest.raises(HelpError, match=re.escape(problem)):
        html(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "a title"), ("Text", "a title"), ("## Title\n\nText.", "a title"), ("# Title", "a sentence")],
)
def test_page_without_title_or_summary_is_refused(text, problem):
    with pytest.raises(HelpError, match=f"must .* {problem}"):
        parse(text)


def test_markup_in_text_and_code_is_escaped():
    assert "<code>&lt;script&gt;&amp;amp;</code>" in html("`<script>&amp;`")
    for code in ("```html\n<script>\n```", "    <script>\n"):
        assert '<pre tabindex="0"><code>&lt;script&gt;\n</code></pre>' in html(code)
    assert "1 &lt; 2" in html("1 < 2")
    assert "<a" not in html("[x](javascript:alert(1)) [y](data:text/html,x)")
    title = parse("# A `<b>` title\n\nA `<i>` sentence.")
    assert (title.title, title.summary) == ("A <b> title", "A <i> sentence.")


def test_comments_are_removed_and_anchors_are_kept():
    assert html("<!-- made by a program -->\n\nA<!-- x -->B\n\n<!-- end -->") == "<p>Summary.</p>\n<p>AB</p>\n"
    assert html('- <a id="days-kept"></a>`days`').endswith(
        '<ul>\n<li><span id="days-kept"></span><code>days</code></li>\n</ul>\n'
    )


def test_headings_have_the_ids_of_github():
    document = parse("# T\n\nS.\n\n## Bitly, Short.io & `x_y`\n\n### Same\n\n### Same\n\n## Über uns\n")
    assert [(each.level, each.id) for each in document.headings] == [
        (2, "bitly-shortio--x_y"),
        (3, "same"),
        (3, "same-1"),
        (2, "über-uns"),
    ]
    assert '<h3 id="same-1">Same</h3>' in render(document, NotImplemented)


def test_table_cells_have_labels_and_no_inline_style():
    found = html("| `a` | |\n| --- | ---: |\n| 1 | 2 |\n| x \\| y | |\n")
    assert "<th><code>a</code></th>\n<td" in found  # a header cell without text is an ordinary cell
    assert '<td data-label="a">1</td>\n<td class="number">2</td>' in found
    assert '<td data-label="a">x | y</td>' in found
    assert "style" not in found


def test_second_table_has_its_own_labels():
    found = html("| a |\n| - |\n| 1 |\n\n| b | c |\n| - | - |\n| 2 | 3 |\n")
    assert re.findall(r'data-label="(\w)">(\d)', found) == [("a", "1"), ("b", "2"), ("c", "3")]
