"""Reads which paths Rust code names, for scripts/imports and scripts/dependencies.

It resolves `use` declarations, grouped or renamed, and every other `a::b` in the code, without a compiler. Comments
and strings are not code. Items under `#[cfg(test)]` are tests, and so is everything in a tests.rs or testing.rs. It
does not see paths that a macro assembles, nor what a type alias stands for.
"""

import functools
import re

TEST_MODULES = {"tests", "testing"}
MOST_FOLLOWED = 8  # imports of imports

NOT_CODE = re.compile(
    r"""
      //[^\n]*                                    # line comment
    | /\*.*?\*/                                   # block comment
    | \b(?:b|c)?r(?P<hashes>\#*)".*?"(?P=hashes)  # raw string
    | "(?:\\.|[^"\\])*"                           # string
    | '(?:\\.[^'\n]*|[^'\\\n])'                   # character (a lifetime has no closing quote)
    """,
    re.VERBOSE | re.DOTALL,
)
TOKEN = re.compile(r"(?:r\#)?[A-Za-z_]\w*|::|\S")
WORD = re.compile(r"[A-Za-z_]")
TEST = re.compile(r"#\[cfg\(test\)\]\s*")
ITEM = re.compile(r"(?:#\[[^\]]*\]\s*)*(?:pub|mod|use|fn|impl|struct|enum|trait|static|const|type|macro_rules)\b")


class Tree:
    """All files under src/, to resolve the paths in them."""

    def __init__(self, texts):
        """`texts`: the text of each file, by its path under src/ (`engine/mod.rs`)."""
        self.sources = [read(name, text) for name, text in sorted(texts.items())]
        self.modules = {source.module for source in self.sources}
        self.imports = {}  # module: {name in it: the paths that it is imported from}
        for source in self.sources:
            for _, path, scope, local in source.paths:
                if local and local not in ("_", "*"):
                    names = self.imports.setdefault(source.module + scope, {})
                    names.setdefault(local, []).append(path)

    def named(self, source):
        """(line, path) of each path in the code of `source`; the path starts with `crate` or the name of another crate.

        A path through a re-export of a parent module comes twice: as written, and as resolved.
        """
        for line, path, scope, _ in source.paths:
            for found in self.meanings(path, source.module + scope):
                yield line, found

    def module_of(self, path):
        """The module that holds the item at `path`, which starts with `crate`."""
        end = 1
        while end < len(path) and path[1 : end + 1] in self.modules:
            end += 1
        return path[1:end]

    def meanings(self, path, module, followed=()):
        """The absolute forms of `path` in `module`: as written, and as re-exports of parent modules resolve it."""
        if path in followed or len(followed) > MOST_FOLLOWED:
            return
        first, rest = path[0], path[1:]
        imported = self.imports.get(module, {}).get(first, []) if rest else []
        if first == "crate":
            yield path
            yield from self.re_exported(path, module, followed + (path,))
        elif first == "::":
            yield rest
        elif first in ("self", "super"):
            ups = next((i for i, word in enumerate(path) if word not in ("self", "super")), len(path))
            above = module[: max(0, len(module) - path[:ups].count("super"))]
            yield from self.meanings(("crate", *above, *path[ups:]), module, followed)
        elif module + (first,) in self.modules:
            yield from self.meanings(("crate", *module, *path), module, followed)
        elif any(meant[0] != first for meant in imported):
            for meant in imported:
                yield from self.meanings(meant + rest, module, followed + (path,))
        else:
            yield path

    def re_exported(self, path, module, followed):
        """The absolute forms of `path` if a parent of `module` imports its item instead of defining it."""
        for depth in range(min(len(module), len(path) - 1)):
            above, name, rest = path[1 : depth + 1], path[depth + 1], path[depth + 2 :]
            if above != module[:depth]:
                return
            is_module = above + (name,) in self.modules
            if is_module and rest:
                continue
            for meant in self.imports.get(above, {}).get(name, []):
                for found in self.meanings(meant + rest, above, followed):
                    yield from self.meanings(found, module, followed) if found[0] == "crate" else [found]


class Source:
    """One file: its module, its code without tests, its tests, and the paths in its code."""

    def __init__(self, name, text):
        self.name = name
        self.module = tuple(name.removesuffix(".rs").split("/"))
        if self.module[-1] in ("mod", "lib", "main"):
            self.module = self.module[:-1]
        self.code, self.tests = divide(blank(text))
        if TEST_MODULES & set(self.module):
            self.code, self.tests = "", self.code + self.tests
        self.paths = list(paths_of(self.code))


@functools.cache
def read(name, text):
    """The source, cached because scripts/test_gates checks the same files many times."""
    return Source(name, text)


def blank(text):
    """The text without comments and strings, with the same line numbers."""
    return NOT_CODE.sub(lambda found: "\n" * found[0].count("\n") or " ", text)


def divide(text):
    """The text without the items under `#[cfg(test)]`, with the same line numbers, and the text of these items."""
    code, tests, at = [], [], 0
    while found := TEST.search(text, at):
        end = end_of_item(text, found.end())
        code.append(text[at : found.start()])
        code.append("\n" * text.count("\n", found.start(), end))
        tests.append(text[found.start() : end])
        at = end
    return "".join(code) + text[at:], "\n".join(tests)


def end_of_item(text, at):
    """The end of the item that starts at `at`; a field, a variant or a macro argument ends at its comma."""
    ends = ";" if ITEM.match(text, at) else ";,"
    while text.startswith("#[", at):
        at = text.index("]", at) + 1
    depth = 0
    for place in range(at, len(text)):
        if text[place] in "([{":
            depth += 1
        elif text[place] in ")]}":
            depth -= 1
            if depth < 0:
                return place
            if depth == 0 and text[place] == "}":
                return place + 1
        elif text[place] in ends and depth == 0:
            return place + 1
    return len(text)


def paths_of(code):
    """(line, path, enclosing inline modules, name under which a `use` imports it or None) of each path."""
    tokens = [(found[0].removeprefix("r#"), found.start()) for found in TOKEN.finditer(code)]
    words = [word for word, _ in tokens] + [""] * 3
    line_of, lines, counted = [], 1, 0
    for _, start in tokens:
        lines += code.count("\n", counted, start)
        counted = start
        line_of.append(lines)
    scope, depth, at = [], 0, 0  # scope: (name, depth of its brace) of each enclosing inline module
    while at < len(tokens):
        word, next_word, before = words[at], words[at + 1], words[at - 1] if at else ""
        leaves, end, is_use = [], at + 1, False
        if word == "use" and (WORD.match(next_word) or next_word in ("::", "{")):
            is_use = True
            leaves, end = tree(words, at + 1, True)
        elif word == "mod" and words[at + 2] == "{":
            scope.append((next_word, depth))
        elif word == "{":
            depth += 1
        elif word == "}":
            depth -= 1
            if scope and scope[-1][1] == depth:
                scope.pop()
        elif WORD.match(word) and next_word == "::" and before not in ("::", "."):
            leaves, end = tree(words, at, False)
        elif word == "::" and WORD.match(next_word) and before not in (">", "]", ")"):
            leaves, end = tree(words, at, False)
        for path, local, where in leaves:
            yield line_of[where], path, tuple(name for name, _ in scope), local if is_use else None
        at = end


def tree(words, at, is_use, path=()):
    """Reads `a::b::{c, d as e}` at `at`: (path, its local name, index of its last word) of each leaf, and the end."""
    if words[at] == "::":  # another crate, even if something here has its name
        path, at = ("::",), at + 1
    where = at
    while WORD.match(words[at]) or words[at] == "*":
        path, where, at = path + (words[at],), at, at + 1
        if words[at] != "::":
            if path[-1] == "self" and len(path) > 1:
                path = path[:-1]
            local = path[-1]
            if is_use and words[at] == "as":
                local, at = words[at + 1], at + 2
            return [(path, local, where)], at
        at += 1
    if words[at] != "{" or not is_use:  # a turbofish, or `self::$name` in a macro
        return [(path, None, where)], at
    leaves, at = [], at + 1
    while words[at] not in ("}", ""):
        if WORD.match(words[at]) or words[at] in ("*", "{", "::"):
            inner, at = tree(words, at, is_use, path)
            leaves += inner
        else:
            at += 1
    return leaves, at + 1
