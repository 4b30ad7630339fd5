#!/usr/bin/env python3
"""The Python package by itself: what a checkpoint survives, and what progress writes."""
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "python")


def run(text, **environment):
    """Runs the text as a program of its own; gives back what it printed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DOVE_") and name != "RANK"}
    return subprocess.run([sys.executable, "-c", textwrap.dedent(text)], check=True, capture_output=True, text=True,
                          timeout=60, env={**clean, "PYTHONPATH": PACKAGE, **environment}).stdout.strip()


class Checkpoints(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dove-python.")
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "saved")
        self.stage = os.path.join(folder.name, "stage")
        os.mkdir(self.stage)

    def run_here(self, text, **more):
        return run("from dove import checkpoint\n" + textwrap.dedent(text), DOVE_CHECKPOINT_DIR=self.folder, **more)

    LATEST = """
        saved = checkpoint.latest()
        print(saved and (saved.step, open(saved.path(), "rb").read()))
    """

    def latest(self):
        return self.run_here(self.LATEST)

    def test_the_newest_is_found_and_older_ones_are_pruned(self):
        self.assertEqual(self.latest(), "None")
        self.run_here("""
            for step in range(1, 7):
                checkpoint.save(step, lambda file: file.write(b"work %d" % step), keep=2)
        """)
        self.assertEqual(self.latest(), "(6, b'work 6')")
        self.assertEqual(sorted(os.listdir(self.folder)), ["latest", "step-000000000005", "step-000000000006"])
        with open(os.path.join(self.folder, "latest", "part-0"), "rb") as file:
            self.assertEqual(file.read(), b"work 6")

    def test_a_torn_one_is_passed_over(self):
        self.run_here("""
            for step in (1, 2, 3):
                checkpoint.save(step, lambda file: file.write(b"x" * 100))
        """)
        with open(os.path.join(self.folder, "step-000000000003", "part-0"), "r+b") as file:
            file.write(b"y")  # as long as before
        os.truncate(os.path.join(self.folder, "step-000000000002", "part-0"), 50)
        self.assertTrue(self.latest().startswith("(1, "))

    def test_killed_while_it_writes_leaves_the_one_before(self):
        self.run_here("""
            import os, signal
            checkpoint.save(1, lambda file: file.write(b"good"))
            if os.fork() == 0:
                def half(file):
                    file.write(b"bad")
                    file.flush()
                    os.kill(os.getpid(), signal.SIGKILL)
                checkpoint.save(2, half)
            assert os.WTERMSIG(os.wait()[1]) == signal.SIGKILL
        """)
        self.assertEqual(self.latest(), "(1, b'good')")

    def test_is_whole_with_its_last_part(self):
        save = 'checkpoint.save(4, lambda file: file.write(b"p"), part={}, parts=2)'
        self.run_here(save.format(1))
        self.assertEqual(self.latest(), "None")
        self.run_here(save.format(0))
        self.assertEqual(self.latest(), "(4, b'p')")

    def test_staged_ones_are_copied_and_the_stage_is_left_empty(self):
        self.run_here("""
            for step in (1, 2):
                checkpoint.save(step, lambda file: file.write(b"%d" % step * 3_000_000))
            checkpoint.wait()
            assert checkpoint.latest().step == 2
        """, DOVE_CHECKPOINT_STAGE=self.stage)
        self.assertEqual(os.listdir(self.stage), [])

    def test_a_copy_that_fails_is_told(self):
        said = self.run_here("""
            import os
            checkpoint.save(1, lambda file: file.write(b"x"))
            checkpoint.wait()
            os.rename(os.environ["DOVE_CHECKPOINT_DIR"], os.environ["DOVE_CHECKPOINT_DIR"] + ".gone")
            open(os.environ["DOVE_CHECKPOINT_DIR"], "w").close()
            checkpoint.save(2, lambda file: file.write(b"x"))
            try:
                checkpoint.wait()
            except OSError as error:
                print("told")
        """, DOVE_CHECKPOINT_STAGE=self.stage)
        self.assertEqual(said, "told")

    def test_asked_by_the_signal_of_the_job(self):
        said = self.run_here("""
            import os, signal
            before = checkpoint.asked(), checkpoint.due(1000)
            os.kill(os.getpid(), signal.SIGUSR1)
            print(before, checkpoint.asked(), checkpoint.due(1000))
        """, DOVE_CHECKPOINT_SIGNAL=str(int(signal.SIGUSR1)))
        self.assertEqual(said, "(False, False) True True")


class Progress(unittest.TestCase):
    def test_one_line_over_the_other(self):
        with tempfile.TemporaryDirectory(prefix="dove-python.") as folder:
            path = os.path.join(folder, "7.1.aa.0")
            text = """
                from dove import progress
                progress.step(100000, seconds=12.5, samples=64, loss=0.25, phase="train")
                with progress.waiting():
                    pass
                progress.step(7, seconds=0.5)
            """
            run(text, DOVE_PROGRESS=path)
            with open(path, "rb") as file:
                line, _, rest = file.read().partition(b"\n")
            self.assertRegex(line, rb"^step=7 seconds=0\.500000 wait=0\.000\d\d\d phase=$")
            self.assertEqual(rest.strip(), b"")
            run(text, DOVE_PROGRESS=path, RANK="3")  # one of torchrun's workers
            self.assertEqual(sorted(os.listdir(folder)), ["7.1.aa.0", "7.1.aa.3"])

    def test_failed_collectives_name_their_peers(self):
        with tempfile.TemporaryDirectory(prefix="dove-python.") as folder:
            path = os.path.join(folder, "7.1.aa.0")

            def written(text):
                run("import dove\n" + text, DOVE_PROGRESS=path)
                with open(path, "rb") as file:
                    return file.readline()

            self.assertEqual(written("dove.collective_failed(3)"), b"step=0 phase= blamed=3\n")
            line = written("dove.progress.step(2, phase='train'); dove.collective_failed(1, 2); "
                           "dove.collective_failed(2)")
            self.assertRegex(line, rb"^step=2 .* phase=train blamed=1,2\n$")
            self.assertRegex(written("[dove.collective_failed(rank) for rank in range(20)]"),
                             rb"blamed=12,13,14,15,16,17,18,19\n$")

    def test_outside_of_a_job_nothing_happens(self):
        self.assertEqual(run("from dove import progress; progress.step(1); progress.step(2, loss=1); print('on')"),
                         "on")
        run("from dove import progress; progress.step(1)", DOVE_PROGRESS="/no/such/file")


unittest.main()
