"""Figures of the house: `Tests/Architecture/check --measure`."""

import statistics


def file_of(house, name):
    """The one source that a step means: by its name, with as many folders before it as it takes to be the only one."""
    found = [path for path in house.sources if path.endswith("/" + name)]
    return found[0] if len(found) == 1 else None


def declares(house, name, function):
    file = file_of(house, name)
    return file is not None and any(one.name == function for one in house.sources[file].declarations)


def ways(paths):
    return [(name, table) for name, table in paths.items() if name != "leaves"]


def missing(house, paths):
    """Steps whose function is not, or no longer, in the file that they name."""
    for way, table in ways(paths):
        for step in table["steps"]:
            name, function = step.split(" ")
            if not declares(house, name, function):
                yield f"Tests/Architecture/paths.toml:1: {way}: {name} has no {function} (trace, or --update-known)"


def refreshed(house, text):
    """paths.toml without steps that are gone: one whose function is now in one other file leads there."""
    lines = []
    for line in text.split("\n"):
        name, _, function = line.strip().strip('",').partition(" ")
        if line.startswith('    "') and name.endswith(".swift") and not declares(house, name, function):
            found = [path for path in house.sources if declares(house, path.removeprefix("Sources/"), function)]
            if len(found) != 1:
                continue
            line = f'    "{found[0].removeprefix("Sources/")} {function}",'
        lines.append(line)
    return "\n".join(lines)


def figures(house, steps):
    """Times a file is entered, distinct files, returns to a file that was left before, changes of module."""
    files = [file_of(house, step.split(" ")[0]) for step in steps]
    files = [file for file, last in zip(files, [None, *files]) if file != last]
    seen, returns = set(), 0
    for file in files:
        returns += file in seen
        seen.add(file)
    modules = [file.split("/")[1] for file in files]
    return len(files), len(seen), returns, sum(a != b for a, b in zip(modules, modules[1:]))


def report(house, paths, check_rooms):
    print(f"{'module':20}{'files':>7}{'lines':>8}{'median':>8}  largest")
    for module in house.modules:
        sizes = {path: len(file.newlines) for path, file in house.sources.items() if house.module(path) == module}
        largest = max(sizes, key=sizes.get)
        print(f"{module:20}{len(sizes):7}{sum(sizes.values()):8}{statistics.median(sizes.values()):8.0f}"
              f"  {sizes[largest]} {largest.split('/', 2)[2]}")
    upward = [problem for problem in check_rooms(house) if problem.key]
    files = {(problem.file, problem.text.rsplit("(", 1)[1]) for problem in upward}
    print(f"\nupward references: {len(upward)} names, {len(files)} from file to file")
    wrong = list(missing(house, paths))
    if wrong:
        print(*wrong, sep="\n")
        return 1
    print(f"\n{'':38}{'steps':>8}{'files':>8}{'returns':>9}{'changes of module':>19}")
    for _, table in ways(paths):
        steps, files, returns, modules = figures(house, table["steps"])
        print(f"{table['title']:38}{steps:8}{files:8}{returns:9}{modules:19}")
    return 0
