#!/usr/bin/env python3
"""Each check must fail on a small tree that is wrong, and pass on one that is right."""

import collections
import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import measure  # noqa: E402
import settings  # noqa: E402
from swift_source import SwiftFile  # noqa: E402

loader = importlib.machinery.SourceFileLoader("check", str(HERE / "check"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
loader.exec_module(check)

ROOMS = """
everywhere = ["Foundation"]
common = ["first"]
entry_points = ["main"]
external = ["Sequence"]
not_files = ["notes.md"]
known = []

[ceilings]
comments = 0
long_files = 0

[words]
comments = ["somebody", "those that"]
metaphors = ["bury"]
allowed = ["buryFlag"]
nouns = ["String", "Encoding"]

[modules.House]
imports = ["Ground"]
folders = ["Low", "Middle", ". High"]

[modules.Ground]
imports = []
folders = ["."]
"""

# Right in every way; each test adds what it is about.
TREE = {
    "Sources/Ground/Earth.swift": "public struct Earth { public var depth = 0 }\n",
    "Sources/House/Low/Floor.swift": "import Ground\nstruct Floor { let earth: Earth }\n",
    "Sources/House/Middle/Wall.swift": "struct Wall { let floor: Floor }\n",
    "Sources/House/High/Roof.swift": "struct Roof { let wall: Wall }\nfunc main() { _ = House.Roof.self }\n",
    "Sources/House/House.swift": "enum House { typealias Top = Roof; static let top = Top.self }\n",
    "Tests/HouseTests/Tests.swift": "let house = House.top\nprint(house.wall.floor.earth.depth)\n",
    "README.md": "# Read me\n\nSee [the roof](Documentation/roof.md#what-it-is).\n",
    "Documentation/roof.md": "# Roof\n\n## What it is\n\nNothing.\n",
}


class CheckTests(unittest.TestCase):
    def problems(self, files, only, rooms=ROOMS):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in (TREE | files).items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            wrong, self.found, self.counts = check.run(check.House(folder, settings.load(rooms)), [only])
            return [str(problem) for problem in wrong]

    def passes(self, only, files={}, rooms=ROOMS):
        self.assertEqual(self.problems(files, only, rooms), [])

    def fails(self, only, files, *expected, rooms=ROOMS):
        problems = self.problems(files, only, rooms)
        self.assertEqual(len(problems), len(expected), problems)
        for problem, text in zip(problems, expected):
            self.assertIn(text, problem)

    def test_a_tree_in_order_passes_everything(self):
        for only in check.CHECKS:
            self.passes(only)

    # MARK: Rooms

    def test_a_type_of_a_room_above(self):
        self.fails("rooms", {"Sources/House/Low/Floor.swift": "\nstruct Floor { let roof: Roof? }\n"},
                   "Sources/House/Low/Floor.swift:2: names `Roof` of High/")

    def test_a_type_of_a_room_above_in_an_interpolation(self):
        text = 'struct Floor { let text = "of \\(Roof.name("a)")) and" }\n'
        self.fails("rooms", {"Sources/House/Low/Floor.swift": text}, "Floor.swift:1: names `Roof`")

    def test_a_type_of_a_room_above_in_a_comment_or_string(self):
        text = 'import Ground\n// Roof\n/* Roof */ struct Floor { let text = "Roof", more = #"Roof "Roof"# }\n'
        self.passes("rooms", {"Sources/House/Low/Floor.swift": text})

    def test_an_extension_of_a_type_of_a_room_above(self):
        self.fails("rooms", {"Sources/House/Low/More.swift": "extension Roof { }\n"}, "More.swift:1: names `Roof`")

    def test_a_member_that_a_room_above_adds(self):
        above = {"Sources/House/High/Floor+Carpet.swift": "extension Floor { func carpet() {} }\n"}
        self.passes("rooms", above)
        wall = {"Sources/House/Middle/Wall.swift": "func lay(_ floor: Floor) { floor.carpet() }\n"}
        self.fails("rooms", above | wall, "Wall.swift:1: names `carpet`")

    def test_a_name_that_could_be_of_several_rooms_says_nothing(self):
        self.passes("rooms", {
            "Sources/House/High/Floor+Carpet.swift": "extension Floor { func carpet() {} }\n",
            "Sources/House/Low/Rug.swift": "struct Rug { func carpet() {} }\nfunc lay(_ rug: Rug) { rug.carpet() }\n",
        })

    def test_a_nested_type_of_a_room_above_needs_its_outer_name(self):
        above = {"Sources/House/High/Tile.swift": "struct Tile { struct Kind {} }\n"}
        self.passes("rooms", above | {"Sources/House/Low/Rug.swift": "struct Rug { let kind: Thing.Kind }\n"})

    def test_a_name_of_the_standard_library_says_nothing(self):
        self.passes("rooms", {
            "Sources/House/High/Array+First.swift": "extension Array { func first(_ a: Int) {} }\n",
            "Sources/House/Low/Rug.swift": "let a = [1].first(1)\n",
        })

    def test_a_module_that_may_not_be_imported(self):
        self.passes("rooms", {"Sources/House/Low/More.swift": "import Foundation\nimport struct Ground.Earth\n"})
        self.fails("rooms", {"Sources/Ground/Earth.swift": "public import House\n"}, "Ground may not import House")

    def test_a_product_that_nothing_imports(self):
        def package(product, package):
            return {"Package.swift": f"""
                .package(url: "https://example.org/ground", from: "1.0.0"),
                .target(name: "House", dependencies: [.product(name: "{product}", package: "{package}")]),
                .testTarget(name: "HouseTests", dependencies: ["House"]),
                """}
        self.passes("packages", package("Ground", "ground"))
        self.fails("packages", package("Cellar", "ground"), "House imports no Cellar")
        self.fails("packages", package("Ground", "earth"), "nothing uses a product of ground")

    def test_a_folder_that_the_table_lacks_and_one_that_the_tree_lacks(self):
        self.fails("rooms", {"Sources/House/Cellar/Wine.swift": "\n"}, "Wine.swift:1: rooms.toml has no such")
        self.fails("rooms", {}, "House has no folder Attic", rooms=ROOMS.replace('"Low"', '"Attic", "Low"'))

    def test_a_file_may_have_a_place_of_its_own(self):
        files = {"Sources/House/Size.swift": "struct Size {}\n",
                 "Sources/House/Low/Floor.swift": "struct Floor { let size: Size }\n"}
        self.fails("rooms", files, "names `Size`")
        self.passes("rooms", files, ROOMS.replace('"Low"', '"Size.swift", "Low"'))

    def test_a_known_exception_passes_until_it_is_not_needed(self):
        key = "up Sources/House/Low/Floor.swift Roof"
        known = ROOMS.replace("known = []", f'known = [\n    "{key}",\n]')
        self.passes("rooms", {"Sources/House/Low/Floor.swift": "struct Floor { let roof: Roof? }\n"}, known)
        self.fails("rooms", {}, f"no longer needed: {key}", rooms=known)
        self.passes("dead", {}, known)

    # MARK: Dead declarations

    def test_what_nothing_names(self):
        more = "package struct Attic {\n    func climb() { climb() }\n}\n"
        self.fails("dead", {"Sources/House/Low/More.swift": more}, "More.swift:1: nothing names `Attic`",
                   "More.swift:2: nothing names `climb`")

    def test_a_property_and_a_case_that_nothing_names(self):
        more = "enum Attic { case dark, light(by: Int); var height: Int { 1 } }\nlet attic = Attic.dark\n"
        self.fails("dead", {"Sources/House/Low/More.swift": more, "Tests/A/A.swift": "print(attic)\n"},
                   "nothing names `light`", "nothing names `height`")

    def test_what_only_its_extension_names(self):
        self.fails("dead", {"Sources/House/Low/More.swift": "struct Attic {}\nextension Attic {}\n"}, "`Attic`")

    def test_what_a_test_names(self):
        more = {"Sources/House/Low/More.swift": "struct Attic {}\n"}
        self.passes("dead", more | {"Tests/A/A.swift": "let a = Attic()\n"})

    def test_an_overload_that_nothing_calls(self):
        more = "struct Attic {\n    func climb(by: Int) {}\n    func climb(to: Int) {}\n}\n"
        self.fails("dead", {"Sources/House/Low/More.swift": more, "Tests/A/A.swift": "Attic().climb(by: 1)\n"},
                   "More.swift:3: nothing names `climb(to:)`")
        self.passes("dead", {"Sources/House/Low/More.swift": more, "Tests/A/A.swift": "Attic().map(climb)\n"})

    def test_public_declarations_live_where_a_document_names_them(self):
        more = {"Sources/House/Low/More.swift": "public struct Attic {}\n"}
        self.fails("dead", more, "`Attic`")
        self.passes("dead", more | {"Documentation/attic.md": "Use `Attic`.\n"})

    def test_private_declarations_and_entry_points_are_let_be(self):
        more = "private struct Attic {}\nclass B: A { override func a() {} }\nlet main = B.self\n"
        self.passes("dead", {"Sources/House/Low/More.swift": more})

    # MARK: Links

    def test_doc_links(self):
        right = ("/// ``Floor``, ``Floor/earth``, ``Roof/put(_:at:)``, ``put(_:at:)``, ``Sequence/map``.\n"
                 "struct Roof { func put(_ a: Int, at b: [Int: Int] = [:]) {} }\n")
        self.passes("links", {"Sources/House/High/Roof.swift": right})
        for link in ("Ceiling", "Floor/water", "Floor/put(_:at:)", "Roof/put(_:)", "water"):
            wrong = right.replace("``Floor``", f"``{link}``")
            self.fails("links", {"Sources/House/High/Roof.swift": wrong}, f"Roof.swift:1: ``{link}`` leads nowhere")

    def test_files_named_in_comments(self):
        more = "// Floor.swift, High/Roof.swift, README.md, notes.md, ~/a.md\n"
        self.passes("links", {"Sources/House/More.swift": more})
        self.fails("links", {"Sources/House/More.swift": "// See Ceiling.swift and Documentation/floor.\n"},
                   "no file Ceiling.swift", "no file Documentation/floor")

    def test_links_of_documents(self):
        self.fails("links", {"README.md": "[a](Documentation/floor.md) [b](https://a.b/c) [c](#here)\n"},
                   "README.md:1: the link Documentation/floor.md", "the link #here")
        self.fails("links", {"README.md": "# Here\n[a](Documentation/roof.md#nowhere) [c](#here) `Tests/HouseTests`\n"},
                   "roof.md#nowhere")
        self.fails("links", {"README.md": "Run `Tests/Nothing/run`.\n"}, "no file Tests/Nothing/run")

    def test_tables_that_say_where_something_is(self):
        table = "| a roof | `Sources/House/High/Roof.swift` | `{}` |\n"
        self.passes("links", {"README.md": table.format("Roof")})
        self.fails("links", {"README.md": table.format("Dome")}, "Roof.swift declares no `Dome`")
        self.fails("links", {"README.md": table.format("Roof").replace("Roof.swift", "Dome.swift")}, "no file")

    def test_tables_that_name_tests(self):
        tests = '@Test("It holds rain")\nfunc a() {}\n@Test(\n    "It is tight", arguments: [1])\nfunc b() {}\n'
        def tree(row):
            return {"Tests/HouseTests/RoofTests.swift": tests, "README.md": f"# Here\n\n{row}\n"}
        self.passes("links", tree('| rain | `RoofTests` "It holds", "tight" |'))
        self.passes("links", tree("| rain | `HouseTests/RoofTests` |"))
        self.passes("links", tree("What is in `Tests/HouseTests`, and `NoTests`, is no table."))
        self.fails("links", tree('| snow | `RoofTests` "tight", "snow" |'), "no test of RoofTests is called “snow”")
        self.fails("links", tree("| rain | `FloorTests` |"), "there are no tests FloorTests")

    # MARK: Words

    def test_words_that_comments_do_not_say(self):
        self.passes("words", {"Tests/A/A.swift": "// somebody\n"})
        self.fails("words", {"Sources/House/More.swift": "// Somebody\n/// and those that\nlet a = \"somebody\"\n"},
                   "More.swift:1", "More.swift:2")

    def test_a_ceiling_lets_as_many_pass_and_no_more(self):
        rooms = ROOMS.replace("comments = 0", "comments = 1")
        self.passes("words", {"Sources/House/More.swift": "// somebody\n"}, rooms)
        more = {"Sources/House/More.swift": "// somebody\n// somebody\n"}
        self.fails("words", more, "swift:1", "swift:2", rooms=rooms)

    def test_types_are_nouns(self):
        right = "struct KeyEncoding {}\nstruct DocString {}\nfunc building() {}\n"
        self.passes("words", {"Sources/House/More.swift": right})
        self.fails("words", {"Sources/House/More.swift": "private struct Building {}\n"}, "`Building`: a type")

    def test_metaphors(self):
        self.passes("words", {"Sources/House/More.swift": "let buryFlag = 1\nlet reburying = 2\n"})
        self.fails("words", {"Sources/House/More.swift": "func buryRows() {}\n"}, "`buryRows`, a metaphor")

    # MARK: Lines

    def test_long_lines_of_documents(self):
        long = "word " * 30
        self.passes("lines", {"README.md": f"| {long} |\n\n```\n{long}\n```\n\n    {long}\n"})
        self.fails("lines", {"README.md": f"a\n{long}\n"}, "README.md:2: 150 columns")

    def test_long_files(self):
        self.passes("lines", {"Sources/House/More.swift": "//\n" * 400})
        self.fails("lines", {"Sources/House/More.swift": "//\n" * 401}, "401 lines")

    def test_large_files(self):
        self.passes("lines", {"Fixtures/large.bin": " " * (1 << 20)})
        self.fails("lines", {"Fixtures/core": " " * (1 << 20) + "."}, "Fixtures/core:1: 1 MiB in one file")

    # MARK: What they rest on

    def test_updating_writes_what_is_needed_and_lowers_ceilings(self):
        files = {"Sources/House/Low/Floor.swift": "struct Floor { let roof: Roof? }\n"}
        rooms = ROOMS.replace("comments = 0", "comments = 5").replace("known = []", 'known = [\n    "up old",\n]')
        self.problems(files, "rooms", rooms)
        text = settings.updated(rooms, self.found, self.counts)
        self.assertIn("comments = 0\n", text)
        self.assertNotIn("up old", text)
        self.passes("rooms", files, text)
        self.assertEqual(settings.updated(text, [], collections.Counter(comments=9)), ROOMS)

    def test_settings_read_the_same_without_tomllib(self):
        if settings.tomllib:
            for name in ("rooms.toml", "paths.toml"):
                text = (HERE / name).read_text(encoding="utf-8")
                self.assertEqual(settings.plain(text), settings.tomllib.loads(text))

    def test_declarations_are_read(self):
        file = SwiftFile('''
            public final class Store<T>: A where T: B {
                package private(set) var size = [1].map { let inner = $0; return inner }
                enum Kind: Int { case small = 1, large(of: Int); static let all = 2 }
                func place(_ row: Int, at position: (Int, Int) = (0, 0), in `default`: [Int]) -> Int { func a() {} }
                init?(named name: String) {}
            }
            extension Store.Kind { private static func `switch`() {} }
            ''')
        self.assertEqual(
            [(made.owner, made.name, made.kind, made.access, made.labels) for made in file.declarations],
            [("", "Store", "type", "public", None), ("Store", "size", "var", "package", None),
             ("Store", "Kind", "type", "internal", None), ("Store.Kind", "small", "case", "internal", []),
             ("Store.Kind", "large", "case", "internal", []), ("Store.Kind", "all", "var", "internal", None),
             ("Store", "place", "func", "internal", ["_", "at", "in"]),
             ("Store", "init", "func", "internal", ["named"]),
             ("Store.Kind", "switch", "func", "private", [])])


class PathTests(unittest.TestCase):
    """The lists of steps of paths.toml."""

    def test_a_step_that_its_file_lacks(self):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in TREE.items():
                pathlib.Path(folder, path).parent.mkdir(parents=True, exist_ok=True)
                pathlib.Path(folder, path).write_text(text, encoding="utf-8")
            house = check.House(folder, settings.load(ROOMS))
            steps = ["House/High/Roof.swift main", "Floor.swift Floor", "Roof.swift main", "Earth.swift Earth"]
            self.assertEqual(list(measure.missing(house, {"up": {"steps": steps}})), [])
            self.assertEqual(measure.figures(house, steps), (4, 3, 1, 1))
            wrong = ["Roof.swift rain", "Cellar.swift main"]
            self.assertEqual(len(list(measure.missing(house, {"up": {"steps": wrong}}))), 2)
            text = 'steps = [\n    "Roof.swift rain",\n    "Cellar.swift main",\n    "Floor.swift Floor",\n]\n'
            right = 'steps = [\n    "House/High/Roof.swift main",\n    "Floor.swift Floor",\n]\n'
            self.assertEqual(measure.refreshed(house, text), right)


if __name__ == "__main__":
    unittest.main()
