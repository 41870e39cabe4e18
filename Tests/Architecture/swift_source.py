"""Reads Swift sources as far as the checks of `Tests/Architecture/check` need it: which names a file declares, which it
uses, what its comments say. No parser of the language: braces, keywords and names, with strings and comments taken out.
"""

import bisect
import collections
import re

TYPES = {"struct", "class", "enum", "actor", "protocol", "extension"}
ACCESS = {"open", "public", "package", "internal", "fileprivate", "private"}
STARTS = re.compile(r'//|/\*|#*"""|#*"')
TOKEN = re.compile(r"`(\w+)`|([A-Za-z_$][\w$]*)|(->|[{}()\[\].,:=])")
LABEL = re.compile(r"->|[\w`]+|[()\[\]<>{},:]")


class Declaration:
    """A type, function, property or case at the level of a file or a type."""

    def __init__(self, name, kind, access, owner, line, span):
        self.name, self.kind, self.access, self.owner, self.line, self.span = name, kind, access, owner, line, span
        self.labels, self.override = None, False


# A name that is not being declared. `dotted`: after a dot, behind `qualifier`; `called`: before a parenthesis; `owner`:
# the type in whose declaration or extension it stands; `label`: the first argument's, "_" where it has none, "" where
# there is no argument, None where nothing is called.
Use = collections.namedtuple("Use", "name position dotted called owner qualifier label")


class SwiftFile:
    def __init__(self, text):
        self.newlines = [m.start() for m in re.finditer("\n", text)]
        self.comments = []  # (line, text)
        self.strings = []  # (line, text), interpolations left out
        self.declarations, self.uses, self.extensions, self.imports = [], [], [], []
        self.locals = set()  # names of variables, parameters and labels, wherever they are
        self.code = self._blank(text)
        self._read()

    def line(self, position):
        return bisect.bisect_left(self.newlines, position) + 1

    # Strings and comments become white space of the same length; what a string interpolates stays.
    def _blank(self, text):
        parts, position = [], 0
        while match := STARTS.search(text, position):
            start, kind = match.start(), match.group()
            parts.append(text[position:start])
            if kind == "//":
                end = text.find("\n", start)
                end = len(text) if end < 0 else end
                self.comments.append((self.line(start), text[start:end]))
                parts.append(" ")
            elif kind == "/*":
                end = text.find("*/", start) + 2
                end = len(text) if end < 2 else end
                for number, line in enumerate(text[start:end].split("\n")):
                    self.comments.append((self.line(start) + number, line))
                parts.append(re.sub("[^\n]", " ", text[start:end]))
            else:
                end = self._string(text, start, kind, parts)
            # Positions stay those of the text.
            parts[-1] = parts[-1].ljust(end - start)
            position = end
        parts.append(text[position:])
        return "".join(parts)

    def _string(self, text, start, quote, parts):
        hashes = quote.rstrip('"')
        close, escape = quote.lstrip("#") + hashes, "\\" + hashes
        position, code, plain = start + len(quote), " " * len(quote), []
        while position < len(text) and not text.startswith(close, position):
            if text.startswith(escape + "(", position):
                inner = end = position + len(escape) + 1
                depth = 1
                while depth and end < len(text):
                    if match := re.compile(r'#*"""|#*"').match(text, end):
                        end = self._string(text, end, match.group(), [])
                        continue
                    depth += {"(": 1, ")": -1}.get(text[end], 0)
                    end += 1
                code += " " * (len(escape)) + "(" + SwiftFile(text[inner : end - 1]).code + ")"
                position = end
            else:
                step = len(escape) + 1 if text.startswith(escape, position) else 1
                plain.append(text[position : position + step])
                code += re.sub("[^\n]", " ", text[position : position + step])
                position += step
        self.strings.append((self.line(start), "".join(plain)))
        parts.append(code)
        return min(position + len(close), len(text))

    def _read(self):
        tokens = [(m.group(1) or m.group(2) or m.group(3), m.start()) for m in TOKEN.finditer(self.code)]
        tokens = [("", 0)] * 2 + tokens + [("", 0)] * 4
        scopes = []  # (the type's name, or None where code runs; the declaration; parentheses open around it)
        parens, pending, in_case, modifiers, skipped = 0, None, False, set(), 0
        bodies, owner = 0, ""
        for index in range(2, len(tokens) - 4):
            (token, position), before, after = tokens[index], tokens[index - 1][0], tokens[index + 1][0]
            outside = not parens and not bodies
            if token == "{":
                scopes.append((*(pending if pending and not parens else (None, None)), parens))
                pending = None if not parens else pending
                parens, in_case = 0, False
                bodies += scopes[-1][0] is None
                owner = scopes[-1][0] or owner
            elif token == "}" and scopes:
                name, declaration, parens = scopes.pop()
                bodies -= name is None
                owner = next((scope[0] for scope in reversed(scopes) if scope[0]), "")
                pending, in_case = None if not parens else pending, False
                if declaration:
                    declaration.span = (declaration.span[0], position)
            elif token in ("(", "["):
                parens += 1
            elif token in (")", "]"):
                parens = max(parens - 1, 0)
            if not (token[0].isalpha() or token[0] in "_$") or index < skipped:
                continue
            head = outside and before != "." and after != ":"
            in_case = in_case and (token == "case" or before in (",", ".", "case", "=", ":"))
            if before == "import" and token in TYPES | {"func", "var", "let", "typealias"}:
                skipped = -index - 1
            elif before == "import" or skipped == -index:
                self.imports.append((token, self.line(position)))
            elif token == "import":
                pass
            elif head and token in ACCESS | {"override", "static", "final", "mutating"}:
                modifiers.update({token} if after != "(" else ())  # private(set) says nothing of who may read
            elif head and token in TYPES and after not in ("var", "let", "init"):
                name, skipped = after, index + 2
                while token == "extension" and tokens[skipped][0] == ".":
                    name, skipped = f"{name}.{tokens[skipped + 1][0]}", skipped + 2
                if token == "extension":
                    self.extensions.append(Use(name.split(".")[-1], position, False, False, name, None, None))
                    pending = (name, None)
                else:
                    made = self._declare(after, "type", modifiers, owner, position)
                    pending = (f"{owner}.{after}" if owner else after, made)
                modifiers = set()
            elif head and token in ("func", "init", "subscript", "var", "let", "typealias", "associatedtype"):
                if token in ("init", "subscript"):
                    made = self._declare(token, "func", modifiers, owner, position)
                    made.labels = self._labels(position)
                    pending = (None, made)
                elif after[:1].isalpha() or after[:1] == "_":
                    kind = {"let": "var", "associatedtype": "typealias"}.get(token, token)
                    made = self._declare(after, kind, modifiers, owner, position)
                    if token == "func":
                        made.labels = self._labels(position)
                    pending, skipped = (None, made), index + 2
                else:  # an operator, or a pattern
                    pending = (None, None)
                modifiers = set()
            elif outside and token == "case":
                in_case = True
            elif outside and in_case and before in ("case", ","):
                self._declare(token, "case", modifiers, owner, position).labels = []
            else:
                if before in ("var", "let", "for") or after in (":", "in"):
                    self.locals.add(token)
                if not (after == ":" and before in ("(", ",")):
                    qualifier = tokens[index - 2][0] if before == "." else None
                    label = None if after != "(" else "" if tokens[index + 2][0] == ")" else "_"
                    label = tokens[index + 2][0] if label == "_" and tokens[index + 3][0] == ":" else label
                    self.uses.append(
                        Use(token, position, before == ".", after == "(", owner, qualifier, label))

    def _declare(self, name, kind, modifiers, owner, position):
        access = next((word for word in modifiers if word in ACCESS), "internal")
        made = Declaration(name, kind, access, owner, self.line(position), (position, position))
        made.override = "override" in modifiers
        self.declarations.append(made)
        return made

    # The labels of the parameter list that begins after a position: `place(_:at:)` has ["_", "at"].
    def _labels(self, position):
        start = self.code.find("(", position)
        labels, depth, first = [], 0, False
        for match in LABEL.finditer(self.code, start):
            word = match.group()
            if word in "([<{":
                depth += 1
                first = depth == 1
            elif word in ")]>}":
                depth -= 1
                if not depth:
                    break
            elif word == ",":
                first = depth == 1
            elif first and (word[0].isalnum() or word[0] in "_`"):
                labels.append(word.strip("`"))
                first = False
        return labels
