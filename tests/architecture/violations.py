#!/usr/bin/env python3
"""violations.py [COMPILER]: each kind of violation of the architecture is provoked and found.

Builds small trees in a temporary folder, each with one thing wrong, runs tools/tidy or
tools/purity on it, and looks for the rule's name, the place and nothing else. The same trees
without the fault pass. Ends with the counts.
"""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPILER = "g++"

TABLE = """part(base)
part(model base)
part(core base model)
part(policies core)
part(store base)
part(store/sqlite store)
part(controller core)
"""

HEADER = "// {what} is a part of this test.\n#pragma once\n\n{body}\n"


def header(what, *includes, body=""):
    text = "".join(f'#include "{name}"\n' for name in includes)
    return HEADER.format(what=what, body=text + body)


GOOD = {
    "src/CMakeLists.txt": TABLE,
    "src/base/result.h": header("Result"),
    "src/model/job.h": header("Job", "base/result.h"),
    "src/core/state.h": header("State", "model/job.h", "base/result.h"),
    "src/policies/order.h": header("Order", "core/state.h"),
    "src/store/log.h": header("Log", "base/result.h"),
    "src/store/sqlite/sqlite_log.h": header("SqliteLog", "store/log.h"),
    "src/controller/controller.h": header("Controller", "core/state.h"),
}


def run(tool, *arguments):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", tool), *arguments],
                          capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


class Tree(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="dove-architecture-")
        self.addCleanup(self.folder.cleanup)

    def write(self, files):
        for path, text in files.items():
            full = os.path.join(self.folder.name, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)

    def tidy(self, changes, rule=None):
        """What tidy says. Sources of a line or two open with a comment only where `rule` is about that."""
        self.write({**GOOD, **changes})
        code, out = run("tidy", "--root", self.folder.name)
        if rule == "header-comment":
            return code, out
        lines = [line for line in out.splitlines(True) if ".cc:1: header-comment: " not in line]
        return (code if lines else 0), "".join(lines)

    def finds(self, place, rule, changes):
        """Exactly one line, and it names the place and the rule."""
        code, out = self.tidy(changes, rule)
        lines = out.splitlines()
        self.assertEqual(code, 1, out)
        self.assertEqual(len(lines), 1, out)
        self.assertTrue(lines[0].startswith(f"{place}: {rule}: "), out)

    def passes(self, changes):
        code, out = self.tidy(changes)
        self.assertEqual((code, out), (0, ""))


class Table(Tree):
    def test_a_good_tree_passes(self):
        self.passes({})

    def test_an_include_without_an_arrow(self):
        self.finds("src/model/node.h:4", "include",
                   {"src/model/node.h": header("Node", "core/state.h")})

    def test_a_user_of_store_may_not_use_its_implementation(self):
        self.finds("src/controller/start.cc:1", "include",
                   {"src/controller/start.cc": '#include "store/sqlite/sqlite_log.h"\n'})

    def test_a_part_within_a_part_may_not_use_more_than_its_line(self):
        self.finds("src/store/sqlite/rows.cc:1", "include",
                   {"src/store/sqlite/rows.cc": '#include "model/job.h"\n'})

    def test_an_include_of_no_part(self):
        self.finds("src/core/step.cc:1", "unknown-part", {"src/core/step.cc": '#include "vendor/map.h"\n'})

    def test_an_include_by_a_relative_path(self):
        self.finds("src/core/step.cc:1", "include", {"src/core/step.cc": '#include "../model/job.h"\n'})
        self.finds("src/core/step.cc:1", "include", {"src/core/step.cc": '#include "state.h"\n'})

    def test_an_include_of_no_file(self):
        self.finds("src/core/step.cc:1", "include", {"src/core/step.cc": '#include "model/jobs.h"\n'})

    def test_a_folder_that_is_not_in_the_table(self):
        self.finds("src/console/page.cc:1", "unknown-part", {"src/console/page.cc": "int page = 1;\n"})
        os.remove(os.path.join(self.folder.name, "src/console/page.cc"))

    def test_a_folder_below_a_part_belongs_to_it(self):
        self.finds("src/core/cycle/pass.cc:1", "include", {"src/core/cycle/pass.cc": '#include "store/log.h"\n'})
        self.passes({"src/core/cycle/pass.cc": '#include "model/job.h"\n'})

    def test_a_line_of_the_table_without_a_folder(self):
        self.finds("src/CMakeLists.txt:8", "unknown-part", {"src/CMakeLists.txt": TABLE + "part(proxy)\n"})

    def test_an_arrow_to_no_part(self):
        self.finds("src/CMakeLists.txt:5", "unknown-part",
                   {"src/CMakeLists.txt": TABLE.replace("part(store base)", "part(store base bsae)")})

    def test_an_arrow_that_nobody_uses(self):
        self.finds("src/CMakeLists.txt:7", "unused-arrow",
                   {"src/CMakeLists.txt": TABLE.replace("part(controller core)", "part(controller core model)")})

    def test_an_arrow_may_wait_for_the_first_file_of_a_part(self):
        self.passes({"src/agent/.keep": "", "src/CMakeLists.txt": TABLE + "part(agent model)\n"})

    def test_an_arrow_that_only_tests_use(self):
        files = {"src/controller/controller_test.cc": '#include "store/log.h"\n',
                 "src/CMakeLists.txt": TABLE.replace("part(controller core)", "part(controller core store)")}
        self.finds("src/CMakeLists.txt:7", "unused-arrow", files)
        files["src/CMakeLists.txt"] = TABLE
        self.finds("src/controller/controller_test.cc:1", "include", files)
        files["src/CMakeLists.txt"] = TABLE + "tests_use(controller store)\n"
        self.passes(files)
        files["src/controller/controller_fixture.h"] = header("Fixture", "store/log.h")
        self.passes(files)
        files["src/controller/start.cc"] = '#include "store/log.h"\n'
        self.finds("src/controller/start.cc:1", "include", files)

    def test_a_circle(self):
        files = {"src/CMakeLists.txt": TABLE.replace("part(model base)", "part(model base policies)"),
                 "src/model/node.h": header("Node", "policies/order.h")}
        code, out = self.tidy(files)
        self.assertEqual(code, 1)
        self.assertRegex(out, r"^src/CMakeLists.txt:\d+: circle: .*policies -> .*\n$")


class Prose(Tree):
    def test_each_pattern_is_found_in_a_page(self):
        for sentence in ("Of the nodes the best is taken.", "What of it is left is kept.", "Who was stopped has a pause.",
                         "It stops jobs who wait.", "It is tried so often.", "It waits for so long.", "A rank tells of a step.",
                         "The order hangs on the share.", "It goes by the share.", "A node is said to be lost.",
                         "It used the least of late.", "Shares are reckoned anew.", "A queue has its turn.",
                         "It takes some ten minutes.", "Paths are held against the table."):
            with self.subTest(sentence):
                self.finds("docs/guide/page.md:3", "prose", {"docs/guide/page.md": f"# Page\n\n{sentence}\n"})

    def test_a_phrase_is_found_across_the_end_of_a_line(self):
        self.finds("docs/page.md:1", "prose", {"docs/page.md": "A rank that tells\nof a step.\n"})
        os.remove(os.path.join(self.folder.name, "docs/page.md"))
        self.finds("src/model/node.h:1", "prose",
                   {"src/model/node.h": "// Node: it hangs\n// on its rack.\n#pragma once\n"})
        os.remove(os.path.join(self.folder.name, "src/model/node.h"))
        self.finds("src/model/node.cc:2", "prose", {"src/model/node.cc": "int x;\nint y;  // it hangs\nint z;  // on its rack\n"})

    def test_headers_of_every_part_are_read(self):
        self.finds("src/core/clock.h:1", "prose", {"src/core/clock.h": "// Clock: it hangs on the log.\n#pragma once\n"})

    def test_messages_are_read(self):
        said = 'auto a = fmt::format("the node hangs on its rack, {}", 1);\n'
        self.finds("src/model/node.cc:2", "prose", {"src/model/node.cc": "int x;\n" + said})
        os.remove(os.path.join(self.folder.name, "src/model/node.cc"))
        self.finds("src/model/rack.cc:1", "prose", {"src/model/rack.cc": 'auto a = "a rank of this job tells "\n         "of a step";\n'})
        os.remove(os.path.join(self.folder.name, "src/model/rack.cc"))
        self.passes({"src/model/node_test.cc": said, "src/model/node.cc":
                     'auto a = "hangs on"; f("a list of four", "tells of it");  // "a quote\n'
                     "constexpr char b = '\"';\n"
                     'auto c = R"(\n  the node hangs on its rack\n)";\nauto d = "it is not \\"so\\", `goes by` of the list";\n'})

    def test_scripts_the_console_and_the_api_are_read(self):
        for path, text, line in (
                ("api/openapi.yaml", "a: 1\nb: {description: \"Of the nodes the best, `Of`.\"}\n", 2),
                ("api/protocol.md", "# Page\n\nIt goes by the share.\n", 3),
                ("bench/fast.sh", "#!/bin/sh\n# It hangs\n# on the share.\n", 2),
                ("bench/fleet.py", '"""A fleet.\n\nIt goes by the share.\n"""\n', 3),
                ("tests/e2e/faces_test.py", "a = 1\n# It hangs on the share.\n", 2),
                ("deploy/slurm/take_over.sh", "#!/bin/sh\n# It hangs on the share.\n", 2),
                ("python/dove/client.py", "raise Error('the node hangs on its rack')\n", 1),
                ("console/src/jobs.tsx", "const a = 1; // it hangs on the share\n", 1),
                ("console/src/why.tsx", "return (\n  <p>\n    The node hangs on its rack.\n  </p>\n);\n", 3)):
            with self.subTest(path):
                self.finds(f"{path}:{line}", "prose", {path: text})
                os.remove(os.path.join(self.folder.name, path))
        self.passes({"bench/plain.py": "said = 'goes by'  # it says `goes by`\n", "console/src/a.gen.ts": "// it hangs on it\n",
                     "console/src/a.test.ts": "it('hangs on the share that it has');\n",
                     "console/src/b.ts": "const link = 'http://so many';\n"})

    def test_comments_apart_are_no_phrase(self):
        self.passes({"src/model/node.cc": "int x;  // what an agent tells\nint y;\nint z;  // of its node\n"})

    def test_plain_sentences_code_and_questions_pass(self):
        self.passes({"docs/page.md": "## Who may use a pool\n\nOf course. The list is long, so many wait; it is so much that\n"
                                     "nobody counts. Who is next? `order: Of` says so.\n\n    # Of this\n\n```\ngoes by\n```\n",
                     "src/model/node.h": "// Node: `Of<T>` in code.\n#pragma once\nOf<int> goes(by);\n",
                     "src/model/node.cc": "auto u = \"http://so many\";\n", "tests/README.md": "It goes by the share.\n"})

    def test_the_readme_has_one_page(self):
        self.passes({"README.md": "A line.\n" * 120})
        self.finds("README.md:121", "prose", {"README.md": "A line.\n" * 121})
        self.finds("README.md:2", "prose", {"README.md": "A line.\n" + "x" * 121 + "\n"})


class Shape(Tree):
    def test_a_long_file(self):
        self.finds("src/base/list.cc:501", "long-file", {"src/base/list.cc": "int x;\n" * 501})
        self.passes({"src/base/list.cc": "int x;\n" * 500})

    def test_a_long_script(self):
        self.write({"tools/count": ""})
        os.chmod(os.path.join(self.folder.name, "tools/count"), 0o755)
        self.finds("tools/count:501", "long-file", {"tools/count": "#!/bin/sh\n" + ":\n" * 500})

    def test_a_long_function(self):
        body = "  x++;\n" * 69
        self.finds("src/base/f.cc:1", "long-function", {"src/base/f.cc": "void f(int x) {\n" + body + "}\n"})
        self.passes({"src/base/f.cc": "void f(int x) {\n" + body[:-len("  x++;\n")] + "}\n"})

    def test_a_long_function_in_a_class_in_a_namespace(self):
        body = "    x++;\n" * 70
        text = ("namespace dove {\nclass F final : public Base<int(int)> {\n public:\n"
                "  void f(int x,\n         int y) const {\n" + body + "  }\n};\n}  // namespace dove\n")
        self.finds("src/base/f.cc:4", "long-function", {"src/base/f.cc": text})

    def test_braces_in_strings_and_comments_do_not_end_a_function(self):
        text = 'void f(int x) {\n  auto t = R"(\n}\n)";\n  /*\n}\n*/\n' + "  x++;\n" * 70 + "}\n"
        self.finds("src/base/f.cc:1", "long-function", {"src/base/f.cc": text})

    def test_a_long_class_or_table_is_not_a_function(self):
        self.passes({"src/base/f.cc": "class F {\n" + "  int f(int x);\n" * 90 + "};\n"
                                      "const Row kRows[] = {\n" + "    row(1),\n" * 90 + "};\n"})

    def test_a_drawer(self):
        for path in ("src/base/string_utils.cc", "src/core/job_manager.cc", "tools/common.sh", "tests/helpers/x.py"):
            with self.subTest(path):
                self.finds(f"{path}:1", "drawer", {path: "\n"})
                os.remove(os.path.join(self.folder.name, path))
        self.passes({"src/base/utilisation.cc": "\n"})

    def test_a_header_without_an_opening_comment(self):
        self.finds("src/base/bare.h:1", "header-comment", {"src/base/bare.h": "#pragma once\n"})

    def test_a_source_without_a_header_opens_with_a_comment(self):
        self.finds("src/base/bare.cc:1", "header-comment", {"src/base/bare.cc": "int x;\n"})
        for good in ({"src/base/bare.cc": "// Bare holds x.\nint x;\n", "src/base/bare_test.cc": "int x;\n"},
                     {"src/base/bare.cc": "int x;\n", "src/base/bare.h": header("Bare")}):
            self.assertEqual(self.tidy(good, "header-comment"), (0, ""))

    def test_a_folder_of_more_than_forty_files(self):
        files = {f"src/base/part{i}.h": header("Part") for i in range(38)}
        files["src/base/other.h"] = header("Other")
        self.passes(files)  # with result.h: forty
        self.passes({**files, "src/base/one_test.cc": "int x;\n", "src/base/below/more.h": header("More")})
        self.finds("src/base:1", "big-folder", {**files, "src/base/last.h": header("Last")})

    def test_units_that_include_each_other(self):
        one = {"src/base/a.h": header("A"), "src/base/a.cc": '#include "base/b.h"\n',
               "src/base/b.h": header("B"), "src/base/b.cc": '#include "base/a.h"\n'}
        self.passes(one)  # two may
        self.finds("src/base/a.cc:1", "unit-circle",
                   {**one, "src/base/b.cc": '#include "base/c.h"\n', "src/base/c.h": header("C", "base/a.h")})

    def test_a_header_without_pragma_once(self):
        self.finds("src/base/twice.h:1", "pragma-once", {"src/base/twice.h": "// Twice is a header.\n"})

    def test_unfinished_work(self):
        for word in ("TO" "DO", "FIX" "ME"):
            self.finds("src/base/a.cc:2", "unfinished", {"src/base/a.cc": f"\n// {word}: write this\n"})
        self.passes({"src/base/a.cc": "// TO" "DO(#12): write this\n"})

    def test_a_path_of_one_machine(self):
        self.finds("docs/guide/start.md:1", "machine-path", {"docs/guide/start.md": "cd /wo" "rk/main\n"})
        self.passes({"docs/guide/start.md": "cd ~/wo" "rk/main; ls $PWD/wo" "rk/x\n"})


class Brain(Tree):
    def test_headers_that_vary(self):
        for name in ("unordered_map", "chrono", "thread", "random", "mutex", "fstream", "iostream", "filesystem"):
            for part in ("core", "policies"):
                with self.subTest(f"<{name}> in {part}"):
                    self.finds(f"src/{part}/a.cc:2", "impure", {f"src/{part}/a.cc": f"\n#include <{name}>\n"})
                    os.remove(os.path.join(self.folder.name, f"src/{part}/a.cc"))
        self.passes({"src/controller/a.cc": "#include <unordered_map>\n#include <chrono>\n#include <thread>\n",
                     "src/core/a_test.cc": "#include <fstream>\n"})

    def test_words_keep_no_time(self):
        for name in ("chrono", "thread", "mutex", "ctime"):
            for part in ("base", "model"):
                with self.subTest(f"<{name}> in {part}"):
                    self.finds(f"src/{part}/a.cc:1", "impure", {f"src/{part}/a.cc": f"#include <{name}>\n"})
                    os.remove(os.path.join(self.folder.name, f"src/{part}/a.cc"))

    def test_calls_that_vary(self):
        for call in ("time(nullptr)", "std::time(nullptr)", "rand()", "std::chrono::steady_clock::now()",
                     "std::unordered_set<int>{}"):
            self.finds("src/core/a.cc:1", "impure", {"src/core/a.cc": f"auto a = {call};\n"})
        self.passes({"src/core/a.cc": "auto a = event.time();  // time() is data\nauto b = run_time(1);\n"})

    def test_numbers_that_round(self):
        for number in ("double a = 1;", "float a = 1;", "auto a = 0.5;", "auto a = static_cast<double>(b);"):
            self.finds("src/policies/a.cc:1", "float", {"src/policies/a.cc": number + "\n"})
        self.passes({"src/policies/a.cc": 'auto a = "0.5";  // half a float\n', "src/controller/a.cc": "double a = 0.5;\n"})


class Purity(Tree):
    def purity(self, source, allowed="operator new*\n", library="libpart.core.a"):
        self.write({"a.cc": source, "allowed.txt": allowed, "build/src/.keep": ""})
        folder = self.folder.name
        subprocess.run([COMPILER, "-std=c++20", "-O2", "-c", "a.cc", "-o", "a.cc.o"], cwd=folder, check=True)
        subprocess.run(["ar", "qcs", f"build/src/{library}", "a.cc.o"], cwd=folder, check=True)
        return run("purity", os.path.join(folder, "build"), "--allowed", os.path.join(folder, "allowed.txt"))

    def test_a_clock_in_the_binary(self):
        code, out = self.purity("#include <chrono>\nlong f() {\n"
                                "  return std::chrono::system_clock::now().time_since_epoch().count();\n}\n")
        self.assertEqual(code, 1)
        self.assertRegex(out, r"^src/core/a\.cc: impure-symbol: `std::chrono::.*system_clock::now\(\)`")

    def test_a_system_call_declared_by_hand(self):
        code, out = self.purity('extern "C" long read(int, void*, unsigned long);\n'
                                "long f(void* p) { return read(0, p, 1); }\n")
        self.assertEqual(code, 1)
        self.assertIn("`read`", out)

    def test_what_is_allowed_and_what_is_defined_within_pass(self):
        self.assertEqual(self.purity("int g(int);\nint* f() { return new int(g(1)); }\nint g(int x) { return x; }\n"),
                         (0, ""))

    def test_the_libraries_of_rooms_are_looked_at(self):
        source = "#include <chrono>\nlong f() {\n  return std::chrono::system_clock::now().time_since_epoch().count();\n}\n"
        code, out = self.purity(source, library="libpart.core.state.a")
        self.assertEqual(code, 1)
        self.assertRegex(out, r"^src/core/state/a\.cc: impure-symbol: ")

    def test_what_is_allowed_to_one_file_only(self):
        source = 'extern "C" void abort();\nvoid f() { abort(); }\n'
        self.assertEqual(self.purity(source, "abort @ core/b.cc\n")[0], 1)

    def test_a_file_may_have_what_is_allowed_to_it(self):
        source = 'extern "C" void abort();\nvoid f() { abort(); }\n'
        self.assertEqual(self.purity(source, "abort @ core/a.cc\n"), (0, ""))

    def test_no_libraries_is_an_error_not_a_pass(self):
        self.assertEqual(run("purity", self.folder.name)[0], 2)


def main(arguments):
    global COMPILER
    if arguments:
        COMPILER = arguments[0]
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    failed = len({test.id() for test, _ in result.failures + result.errors})
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
