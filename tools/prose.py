"""Sentences that a native reader stumbles over, for tools/tidy (rule `prose`).

Reads the prose of README.md, ARCHITECTURE.md, STYLE.md, docs/ and api/; the comments and messages of C++ under src/ and of
bench/, python/, console/, tools/, examples/ and deploy/; and the comments of tests/. A message is a string literal of the
product with five words or more. The list is short on purpose: each pattern was found dozens of times, has a plain
equivalent, and is almost never right.
"""
import re

# A space of a pattern is any white space, so that a phrase is found across the end of a line.
PATTERNS = [(re.compile(pattern.replace(" ", r"\s+")), remedy) for pattern, remedy in (
    (r"\bOf\b(?! course\b)", "begin with the subject: \"The attempt's …\", \"Among …\""),
    (r"\bWhat of\b", "begin with the subject: \"The part of …\""),
    (r"\bWho (?:was|is|has|had|holds?|wants?|needs?|used|never|comes|waits)\b(?![^.]*\?)", 'name it: "A job that …", "Users that …"'),
    (r"\b(?:jobs?|queues?|tasks?|nodes?|attempts?|agents?),? who\b", 'who is for people: write "that"'),
    (r"(?<!,\s)\b[Ss]o (?:often|many|much)\b(?! (?:that|as)\b)", 'say what is counted: "the number of …", "at least N", "that many"'),
    (r"\b(?:for|than) so long\b(?! as\b)", 'say how long: "for this long", "at least that long"'),
    (r"\b(?:tells?|told|telling) of\b", 'write "reports"'),
    (r"\b(?:hangs?|hung|hanging) on\b", 'write "depends on"'),
    (r"\bgo(?:es)? by\b", 'write "is ordered by", "follows" or "uses"'),
    (r"\b(?:is|are|was|were) said\b", "name who says it, or state the fact"),
    (r"\bof late\b", 'write "recently"'),
    (r"\b[Rr]eckon(?:s|ed|ing)?\b", 'write "compute" or "count"'),
    (r"\bha(?:s|ve) (?:its|their) turn\b", 'write "is next"'),
    (r"\b[Ss]ome (?:\d|ten|dozen|fifty|hundred|thousand)", 'write "about" or "a few"'),
    (r"\bheld against\b", 'write "compared with" or "checked against"'),
)]
README_LINES, README_COLUMNS = 120, 120
PAGES = ("README.md", "ARCHITECTURE.md", "STYLE.md")
CODE_OF_PAGE = re.compile(r"^```.*?^```|^ {4}\S[^\n]*|`[^`\n]*`", re.M | re.S)
SPAN = re.compile(r"`[^`]*`")
SPAN_OF_LINE = re.compile(r"`[^`\n]*`")
BROWSER = (".ts", ".tsx", ".mjs", ".js")
NOT_LINE_END = re.compile(r"[^\n]")
MESSAGE_WORDS = 5
# The pieces of C++ that have a meaning of their own: a raw string, a comment, a string, a character.
TOKEN = re.compile(r'R"([^\s()\\]{0,16})\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?P<string>(?:\\.|[^"\\\n])*)"'
                   r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.S)


QUOTED = r"""|"(?P<double>(?:\\.|[^"\\\n])*)"|'(?P<single>(?:\\.|[^'\\\n])*)'"""
# The comments and strings of scripts, and of what browsers run, where an element's text is one of its strings.
OF_SCRIPT = re.compile(r'"""(?P<long>.*?)"""|#(?P<comment>[^\n]*)' + QUOTED, re.S)
OF_BROWSER = re.compile(r"(?<!:)//(?P<comment>[^\n]*)|/\*(?P<aside>.*?)\*/|`(?P<template>(?:\\.|[^`\\])*)`"
                        r"|>(?P<element>[^<>{}();=]+)<" + QUOTED, re.S)


def blank(text):
    return NOT_LINE_END.sub(" ", text)


def is_read(path):
    if path.endswith(".md"):
        return path in PAGES or path.startswith(("docs/", "api/", "console/"))
    if path.startswith("src/"):
        return path.endswith((".h", ".cc"))
    if path.startswith("tests/seeds/"):
        return False
    if path.startswith(("tests/", "tools/", "examples/", "deploy/")):
        name = path.rpartition("/")[2]
        return name.endswith((".py", ".sh", ".h", ".cc", ".c", ".postinst", ".prerm", ".postrm")) or "." not in name
    return path.startswith(("api/", "bench/", "python/")) or (
        path.startswith("console/") and path.endswith(BROWSER) and ".gen." not in path)


def paragraphs(path, text, is_product):
    """The prose of a file: pairs of a text and the number of each of its lines."""
    if path.endswith(".md"):
        return [page(text)]
    if path.startswith("api/") and path.endswith(".yaml"):
        return [(SPAN_OF_LINE.sub(" ", text), range(1, text.count("\n") + 2))]
    if path.endswith((".h", ".cc", ".c")):
        return [comments(text), messages(text)] if is_product else [comments(text)]
    is_product = is_product and ".test." not in path and not path.startswith("tests/")
    return [scripted(text, OF_BROWSER if path.endswith(BROWSER) else OF_SCRIPT, is_product)]


def page(text):
    """The text of a page without its code, and the number of each of its lines."""
    return CODE_OF_PAGE.sub(lambda m: blank(m.group(0)), text), range(1, text.count("\n") + 2)


def comments(text):
    """The comments of C++ alone, and the number of each of their lines; a line without one parts paragraphs."""
    lines, numbers = [], []
    for number, line in enumerate(text.split("\n"), 1):
        code, slashes, comment = line.partition("//")
        if not slashes or code.endswith(":"):
            continue
        if numbers and numbers[-1] != number - 1:
            lines.append(".")
            numbers.append(number)
        lines.append(SPAN.sub(" ", comment))
        numbers.append(number)
    return "\n".join(lines), numbers


def literals(text):
    """(line, text, whether it goes on the literal before it) for each string of C++; raw ones hold other languages."""
    last = None
    for token in TOKEN.finditer(text):
        if token.group("string") is None:
            continue
        yield (text.count("\n", 0, token.start()) + 1, token.group("string"),
               last is not None and not text[last:token.start()].strip())
        last = token.end()


def messages(text):
    """The messages of C++, a paragraph each, and the number of each of their lines."""
    lines, numbers, words, begun = [], [], 0, 0
    for number, literal, goes_on in [*literals(text), (0, "", False)]:
        if not goes_on:
            if words < MESSAGE_WORDS:
                del lines[begun:], numbers[begun:]
            lines.append(".")
            numbers.append(number)
            begun, words = len(lines), 0
        lines.append(SPAN.sub(" ", literal.replace("\\n", " ")))
        numbers.append(number)
        words += len(literal.split())
    return "\n".join(lines), numbers


def scripted(text, pieces, is_product):
    """The comments of a script, and the messages of a product, with the number of each of their lines."""
    lines, numbers, commented = [], [], 0
    for piece in pieces.finditer(text):
        kind, number = piece.lastgroup, text.count("\n", 0, piece.start()) + 1
        if kind not in ("comment", "aside", "long") and (not is_product or len(piece[kind].split()) < MESSAGE_WORDS):
            continue
        if kind != "comment" or number != commented + 1:
            lines.append(".")
            numbers.append(number)
        commented = number if kind == "comment" else 0
        for line in SPAN.sub(lambda m: blank(m.group(0)), piece[kind]).replace("\\n", "  ").split("\n"):
            lines.append(line)
            numbers.append(number)
            number += 1
    return "\n".join(lines), numbers


def readme(lines):
    if len(lines) > README_LINES:
        yield README_LINES + 1, f"{len(lines)} lines, at most {README_LINES}: move the details to docs/"
    for number, line in enumerate(lines, 1):
        if len(line) > README_COLUMNS:
            yield number, f"{len(line)} columns, at most {README_COLUMNS}"


def findings(path, text, is_product):
    """Yields (line, remedy) for each phrase of the list in a file that tidy reads, and for a README that is too long. Only
    a product's messages are read, not those of its tests."""
    if not is_read(path):
        return
    if path == "README.md":
        yield from readme(text.splitlines())
    for prose, numbers in paragraphs(path, text, is_product):
        for pattern, remedy in PATTERNS:
            for match in pattern.finditer(prose):
                yield numbers[prose.count("\n", 0, match.start())], f'"{" ".join(match.group(0).split())}": {remedy}'
