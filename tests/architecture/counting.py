#!/usr/bin/env python3
"""counting.py: the last line of tools/run_tests is the truth.

Runs a copy of tools/run_tests on a small tree whose tests pass, fail, skip, die, hang and leave
processes behind, and compares the counts and the exit code.
"""
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# A stand-in for a gtest program: writes the report that gtest would, then ends with a code.
PROGRAM = """#!/usr/bin/env python3
import json, os, sys
report, code = json.loads({report!r}), {code}
folder = os.environ["GTEST_OUTPUT"].removeprefix("json:")
if report is not None:
    with open(folder + os.path.basename(sys.argv[0]) + ".json", "w") as file:
        json.dump(report, file)
print("output of", sys.argv[0])
sys.exit(code)
"""


def case(name, result="COMPLETED", failed=False):
    found = {"name": name, "result": result}
    if failed:
        found["failures"] = [{"failure": "it is not so"}]
    return found


class Counting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dove-counting-")
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for name in ("tools", "build", "tests/e2e"):
            os.makedirs(os.path.join(self.root, name))
        shutil.copy(os.path.join(ROOT, "tools/run_tests"), os.path.join(self.root, "tools/run_tests"))
        self.write("build/dove", "#!/bin/sh\n")
        self.write("build/CTestTestfile.cmake", "")

    def write(self, path, text):
        full = os.path.join(self.root, path)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(full, 0o755)
        return full

    def program(self, name, cases, code):
        report = None if cases is None else {"testsuites": [{"name": "Suite", "testsuite": cases}]}
        full = self.write(f"build/{name}_test", PROGRAM.format(report=json.dumps(report), code=code))
        with open(os.path.join(self.root, "build/CTestTestfile.cmake"), "a", encoding="utf-8") as file:
            file.write(f'add_test({name} "{full}")\n')

    def script(self, name, *lines):
        self.write(f"tests/e2e/{name}.sh", "#!/bin/sh\n" + "\n".join(lines) + "\n")

    def run_tests(self, only, ci=False):
        env = {**os.environ, "CI": "true" if ci else ""}
        done = subprocess.run([sys.executable, "tools/run_tests", "build", "--only", only], cwd=self.root, env=env,
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout.rstrip().splitlines()[-1], done.stdout

    def counts(self, only, line, ci=False):
        code, last, out = self.run_tests(only, ci)
        self.assertEqual(last, line, out)
        self.assertEqual(code, 0 if " 0 failed" in line else 1, out)
        return out

    def test_cases_are_counted_not_programs(self):
        self.program("one", [case("a"), case("b"), case("c", "SKIPPED")], 0)
        self.program("two", [case("d")], 0)
        out = self.counts("unit", "3 passed, 0 failed, 1 skipped")
        self.assertIn("skipped: one: Suite.c", out)

    def test_failed_cases(self):
        self.program("one", [case("a"), case("b", failed=True)], 1)
        self.assertIn("failed: one: Suite.b", self.counts("unit", "1 passed, 1 failed, 0 skipped"))

    def test_a_program_that_dies_is_one_failure(self):
        self.program("one", None, 139)
        self.counts("unit", "0 passed, 1 failed, 0 skipped")

    def test_a_program_that_fails_after_its_cases_passed(self):
        self.program("one", [case("a")], 1)
        self.counts("unit", "1 passed, 1 failed, 0 skipped")

    def test_no_test_at_all_is_a_failure(self):
        self.counts("unit", "0 passed, 1 failed, 0 skipped")

    def test_a_program_that_is_not_there(self):
        self.write("build/CTestTestfile.cmake", f'add_test(gone "{self.root}/build/gone_test")\n')
        self.counts("unit", "0 passed, 1 failed, 0 skipped")

    def test_scripts(self):
        self.script("good", "exit 0")
        self.script("bad", "echo why it is bad", "exit 3")
        self.script("absent", "exit 77")
        self.script("counted", "echo 4 passed, 0 failed, 0 skipped")
        out = self.counts("e2e", "5 passed, 1 failed, 1 skipped")
        self.assertIn("    | why it is bad", out)

    def test_a_skip_in_ci_is_a_failure(self):
        self.script("absent", "exit 77")
        self.counts("e2e", "0 passed, 1 failed, 0 skipped", ci=True)

    def test_counts_do_not_hide_an_exit_code(self):
        self.script("liar", "echo 4 passed, 0 failed, 0 skipped", "exit 1")
        self.counts("e2e", "0 passed, 1 failed, 0 skipped")
        self.script("liar", "echo 4 passed, 2 failed, 0 skipped", "exit 0")
        self.counts("e2e", "4 passed, 2 failed, 0 skipped")

    def test_a_script_that_hangs(self):
        self.script("hangs", "# limit_s: 1", "sleep 60")
        self.assertIn("ran past its limit of 1 s", self.counts("e2e", "0 passed, 1 failed, 0 skipped"))

    def test_scripts_run_beside_one_another(self):
        """With two jobs, three scripts: each waits until all are there."""
        for name in ("first", "second", "third"):
            self.script(name, "# limit_s: 20", f"mkdir {self.root}/{name}.there",
                        f"until [ $(ls -d {self.root}/*.there | wc -l) = 3 ]; do sleep 0.05; done")
        self.counts("e2e", "3 passed, 0 failed, 0 skipped")

    def test_scripts_that_wait_run_besides(self):
        """With two jobs, four of them and three others: each waits until all are there."""
        for at in range(7):
            self.script(f"script{at}", "# limit_s: 20", "# waits" if at < 4 else "", f"mkdir {self.root}/{at}.there",
                        f"until [ $(ls -d {self.root}/*.there | wc -l) = 7 ]; do sleep 0.05; done")
        self.counts("e2e", "7 passed, 0 failed, 0 skipped")

    def test_the_slowest_of_the_last_time_begins_first(self):
        """With two jobs, three scripts that wait for a fourth."""
        for name in ("a", "b", "c"):
            self.script(name, "# limit_s: 20", f"until [ -e {self.root}/begun ]; do sleep 0.05; done")
        self.script("slowest", "# limit_s: 20", f"touch {self.root}/begun")
        self.write("build/script_times", json.dumps({"tests/e2e/slowest.sh": 30}))
        self.counts("e2e", "4 passed, 0 failed, 0 skipped")
        with open(self.root + "/build/script_times") as file:
            times = json.load(file)
        self.assertEqual(sorted(times), [f"tests/e2e/{name}.sh" for name in ("a", "b", "c", "slowest")])
        self.assertLess(times["tests/e2e/slowest.sh"], 20)

    def test_a_script_that_leaves_a_process(self):
        # Its environment cannot be read while it is becoming another program.
        self.script("leaves", "setsid sleep 60 >/dev/null 2>&1 &", "until grep -q sleep /proc/$!/comm; do :; done", "exit 0")
        self.assertIn("left running", self.counts("e2e", "0 passed, 1 failed, 0 skipped"))

    def test_a_script_that_closes_the_folder_for_temporary_files(self):
        folder = os.path.join(self.root, "tmp")
        os.mkdir(folder)
        os.chmod(folder, 0o1777)
        with unittest.mock.patch.dict(os.environ, {"TMPDIR": folder}):
            self.script("closes", f"chmod 700 {folder}")
            self.assertIn("became 700", self.counts("e2e", "0 passed, 1 failed, 0 skipped"))
        self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o1777)

    def test_scripts_without_the_program(self):
        self.script("good", "exit 0")
        os.remove(os.path.join(self.root, "build/dove"))
        self.counts("e2e", "0 passed, 1 failed, 0 skipped")


def main():
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Counting)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    failed, skipped = len(result.failures) + len(result.errors), len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
