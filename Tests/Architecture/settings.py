"""Reads and rewrites `rooms.toml` and `paths.toml`."""

import ast
import re

try:
    import tomllib
except ImportError:  # Python before 3.11
    tomllib = None


def load(text):
    return tomllib.loads(text) if tomllib else plain(text)


def plain(text):
    """The TOML that these two files need: tables, and strings, numbers and arrays of strings."""
    found = here = {}
    for match in re.finditer(r"^\[([\w.-]+)\]|^([\w-]+) *= *(\[[^\]]*\]|.*)", text, re.MULTILINE):
        header, name, value = match.groups()
        if header:
            here = found
            for part in header.split("."):
                here = here.setdefault(part, {})
        else:
            here[name] = ast.literal_eval(value.strip())
    return found


def updated(text, found, counts):
    """rooms.toml with the exceptions that are needed now. Ceilings go down only."""
    known = sorted({problem.key for problem in found if problem.key})
    lines = "".join(f'    "{key}",\n' for key in known)
    text = re.sub(r"^known = \[[^\]]*\]\n", lambda _: f"known = [\n{lines}]\n" if known else "known = []\n", text,
                  flags=re.MULTILINE)
    head, ceilings, rest = text.partition("[ceilings]\n")

    def lower(match):
        return f"{match.group(1)} = {min(int(match.group(2)), counts[match.group(1)])}"

    table, separator, tail = rest.partition("\n\n")
    return head + ceilings + re.sub(r"^(\w+) = (\d+)", lower, table, flags=re.MULTILINE) + separator + tail
