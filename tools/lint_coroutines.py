"""The coroutine traps: code that clang compiles well and g++ 12 silently miscompiles, or that dangles
with any compiler. Each rule yields (rule, position, message) over blanked code."""

import re

from lint_text import closing, lambdas, without

AWAIT = re.compile(r"\bco_await\b")
COROUTINE = re.compile(r"\bco_(?:await|return|yield)\b")
LOGICAL = re.compile(r"\|\||(?<=[\w)\]}\"])\s+&&\s")


def check(code: str):
    if not COROUTINE.search(code):
        return
    found = lambdas(code)
    yield from capturing(code, found)
    # Each lambda body is a place of its own: blank the bodies inside of it, then look at it alone.
    for body in [(0, len(code))] + [(l.body_start, l.body_end) for l in found]:
        inner = [(l.body_start, l.body_end) for l in found
                 if body[0] < l.body_start and l.body_end < body[1]
                 or body == (0, len(code))]
        own = without(code, inner)
        own = re.sub(r"[^\n]", " ", own[:body[0]]) + own[body[0]:body[1]]
        yield from statements(own)
        yield from conditions(own)
        yield from braces(own)


def capturing(code: str, found):
    for outer in found:
        inner = [(l.body_start, l.body_end) for l in found
                 if outer.body_start < l.body_start and l.body_end < outer.body_end]
        body = without(code, inner)[outer.body_start:outer.body_end]
        if outer.captures and COROUTINE.search(body):
            yield ("coroutine-lambda", outer.start,
                   f"a coroutine lambda captures [{outer.captures}]: the captures die with the lambda, "
                   "before the coroutine ends; pass them as parameters of a function")


CONDITION = re.compile(r"\b(?:if|while|for|switch)\s*(?:constexpr\s*)?\(")


def statements(code: str):
    # A condition that awaits nothing says nothing about the statement behind it.
    heads = [(m.end(), closing(code, m.end() - 1)) for m in CONDITION.finditer(code)]
    code = without(code, [(a, b) for a, b in heads if not AWAIT.search(code[a:b])])
    for match in re.finditer(r"[^;{}]+", code):
        awaits = list(AWAIT.finditer(match.group()))
        if len(awaits) > 1:
            yield ("await-twice", match.start() + awaits[1].start(),
                   "co_await twice in one statement: put the first result in a named local")
        elif awaits and LOGICAL.search(match.group()):
            yield ("await-condition", match.start() + awaits[0].start(),
                   "co_await beside && or ||: put its result in a named local")


def conditions(code: str):
    for match in CONDITION.finditer(code):
        inside = code[match.end():closing(code, match.end() - 1)]
        awaited = AWAIT.search(inside)
        if awaited and not LOGICAL.search(inside):
            yield ("await-condition", match.end() + awaited.start(),
                   "co_await inside a condition: put its result in a named local before")


def braces(code: str):
    for match in AWAIT.finditer(code):
        # The awaited expression: up to the `;` or the bracket that closes around it.
        depth, end = 0, len(code)
        for symbol in re.compile(r"[()\[\]{};]").finditer(code, match.end()):
            if symbol.group() in "([{":
                depth += 1
            elif symbol.group() == ";" or depth == 0:
                end = symbol.start()
                break
            else:
                depth -= 1
        # A lambda body was blanked with its braces, so any brace left is an initialiser.
        brace = code.find("{", match.end(), end)
        if brace != -1:
            yield ("await-braces", brace,
                   "a braced temporary inside of a co_await expression: make it a named local")
    # An initialiser list around a co_await: a block would have a `;` of its own.
    for match in re.finditer(r"\{", code):
        end = closing(code, match.start())
        inside = code[match.start() + 1:end]
        inside = re.sub(r"\{[^{}]*\}", "", inside)
        if AWAIT.search(inside) and ";" not in inside and "{" not in inside:
            yield ("await-braces", match.start(),
                   "co_await inside an initialiser list: put its result in a named local before")
