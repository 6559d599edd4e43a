"""Just enough C++ reading for the lint: blanking of comments and literals, and matching of brackets.
Positions never move, so that what is found in blanked text has the line of the original."""

import re

LITERAL = re.compile(
    r'//[^\n]*'
    r'|/\*.*?\*/'
    r'|R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",  # not the separator of 1'000
    re.DOTALL)


def blank(text: str) -> str:
    """The text with comments and the insides of literals replaced by spaces."""

    def erase(match: re.Match) -> str:
        found = match.group()
        if found.startswith("/"):
            return re.sub(r"[^\n]", " ", found)
        return '"' + re.sub(r"[^\n]", " ", found[1:-1]) + '"'

    return LITERAL.sub(erase, text)


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


CLOSING = {"(": ")", "[": "]", "{": "}"}


def closing(code: str, start: int) -> int:
    """Position of the bracket that closes the one at `start`, or the end of the text."""
    depth = 0
    for match in re.compile(r"[()\[\]{}]").finditer(code, start):
        depth += 1 if match.group() in CLOSING else -1
        if depth == 0:
            return match.start()
    return len(code)


class Lambda:
    """A lambda expression: its captures and the range of its body, braces included."""

    def __init__(self, start: int, captures: str, body_start: int, body_end: int):
        self.start = start
        self.captures = captures
        self.body_start = body_start
        self.body_end = body_end


# What may stand between a lambda's captures or parameters and its body.
SPECIFIERS = re.compile(r"(?:\s|mutable\b|noexcept\b|constexpr\b|->\s*[\w:<>,&*\s]+?(?=\s*\{))*")


def lambdas(code: str):
    """All lambda expressions of blanked code."""
    found = []
    for match in re.finditer(r"\[", code):
        start = match.start()
        before = code[:start].rstrip()
        if before and (before[-1].isalnum() or before[-1] in "_)]\"["):
            if not re.search(r"\b(return|co_return|co_yield)$", before):
                continue  # a subscript, or the second bracket of an attribute
        if code.startswith("[[", start):
            continue
        end = closing(code, start)
        position = end + 1
        parameters = re.compile(r"\s*\(").match(code, position)
        if parameters:
            position = closing(code, parameters.end() - 1) + 1
        position = SPECIFIERS.match(code, position).end()
        if position < len(code) and code[position] == "{":
            found.append(Lambda(start, code[start + 1:end].strip(), position,
                                closing(code, position) + 1))
    return found


def without(code: str, ranges) -> str:
    """The code with the given (start, end) ranges blanked."""
    for start, end in ranges:
        code = code[:start] + re.sub(r"[^\n]", " ", code[start:end]) + code[end:]
    return code
