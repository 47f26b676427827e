#!/usr/bin/env python3
"""titan-plugin-validate: each test fails for a plugin with the defect that it is for, and passes every
plugin of the tree.

Usage: validate_test.py VALIDATOR FIXTURES_FOLDER PLUGIN_FOLDER..
"""
import concurrent.futures
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

VALIDATOR = FIXTURES = None
PLUGIN_FOLDERS = []

# Fixture: the test that fails for it, and words of its finding.
DEFECTS = {
    "no_license": ("note", 'no "license"'),
    "exports": ("exports", "helper_that_others_bind_to"),
    "rpath": ("exports", "/opt/somewhere/lib"),
    "not_registered": ("load", "'promised'"),
    "extension": ("older-host", "signal 11"),
    "reads_past": ("older-host", "signal 11"),
    "one_level": ("later-host", "another level"),
    "no_output": ("run", "without setting 'y'"),
    "exit": ("run", "ended with status 6"),
    "silent_registration": ("error-paths", "registrar_note|register_converters failed"),
    "unchecked": ("error-paths", "tensor_empty, was made to fail|tensor_dl, was made to fail"),
    "silent_save": ("error-paths", "call_save, failed"),
    "silent_record": ("error-paths", "record_wrap, failed"),
    "width": ("options", "width=64"),
    "type": ("mixed-precision", "BFloat16"),
    "one_name": ("instances", "no instance of that name"),
    "static_scratch": ("threads", "two models at the same time"),
    "stale_handle": ("lifetime", "not alive"),
    "destructor": ("destroy", "signal 6"),
    "leak": ("leaks", "bytes of memory"),
    "tensor_leak": ("leaks", "neither handed on nor released"),
    "umask": ("process-state", "the umask"),
    "environment": ("process-state", "the environment"),
    "thread": ("process-state", "the number of threads"),
    "early_tensor": ("plan", "makes 1 tensors"),
    "device": ("plan", "sm_80"),
    "hidden_state": ("checkpoint", "a step after save and load"),
    "unused": ("trainable", "gets no gradient"),
    "counts_twice": ("recompute", ".calls'"),
    "clock": ("determinism", "two processes"),
    "backward": ("gradients", "is off by"),
    "constant": ("numerics", '"exact" allows'),
    "ratio": ("numerics", "60.0 dB"),
    "hook_twice": ("hook", "is not finite"),
}
# Of these every other test passes; the rest of the fixtures run the one test alone, to save time.
WHOLE = ("silent_save", "hidden_state", "backward")


def validate(path, *arguments):
    """The finished process."""
    return subprocess.run([str(VALIDATOR), str(path), *arguments], capture_output=True, text=True, timeout=200, check=False)


def report(path, *arguments):
    """Exit status and the parsed JSON."""
    done = validate(path, "--json", *arguments)
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError as error:
        raise AssertionError(f"{path}: {done.returncode}\n{done.stdout}{done.stderr}") from error


def verdicts(parsed, verdict):
    return sorted({test["name"] for test in parsed["tests"] if test["verdict"] == verdict})


def all_names():
    lines = validate("--list").stdout.splitlines()
    return [line.split()[0] for line in lines[1:]]


class Fixtures(unittest.TestCase):
    def test_every_test_has_a_fixture_that_fails_it(self):
        covered = {name for name, _ in DEFECTS.values()} | {"file"}  # see test_file_that_others_may_replace
        self.assertEqual(sorted(all_names()), sorted(covered))

    def test_good_plugin_passes_all(self):
        status, parsed = report(FIXTURES / "good.so")
        self.assertEqual((status, parsed["passed"]), (0, True), parsed)
        self.assertEqual(verdicts(parsed, "pass"), sorted(all_names()))
        self.assertEqual(len(parsed["sha256"]), 64)
        self.assertEqual((parsed["plugin"], parsed["version"], parsed["seed"]), ("subject", "1.0.0", 0))

    def test_each_defect_fails_its_test(self):
        def one(item):
            fixture, (name, words) = item
            only = () if fixture in WHOLE else ("--only", name)
            return fixture, name, words, report(FIXTURES / f"{fixture}.so", *only)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for fixture, name, words, (status, parsed) in pool.map(one, DEFECTS.items()):
                with self.subTest(fixture=fixture):
                    self.assertEqual(status, 1, parsed)
                    self.assertEqual(verdicts(parsed, "fail"), [name])
                    failed = next(test for test in parsed["tests"] if test["verdict"] == "fail")
                    texts = "\n".join(found["text"] for found in failed["findings"])
                    self.assertTrue(any(word in texts for word in words.split("|")), texts)
                    self.assertTrue(all(found["fix"] for found in failed["findings"] if found["verdict"] == "fail"))

    def test_file_that_others_may_replace(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "open.so"
            shutil.copyfile(FIXTURES / "good.so", path)
            path.chmod(stat.S_IRUSR | stat.S_IWUSR | stat.S_IWOTH)
            status, parsed = report(path)
            self.assertEqual((status, verdicts(parsed, "fail")), (1, ["file"]), parsed)
            self.assertTrue({"load", "older-host", "run", "gradients"} <= set(verdicts(parsed, "skip")), parsed)
            status, parsed = report(path, "--only", "run")
            self.assertEqual((status, verdicts(parsed, "fail"), verdicts(parsed, "skip")), (1, ["file"], ["run"]), parsed)


class Program(unittest.TestCase):
    def test_hang_is_ended(self):
        status, parsed = report(FIXTURES / "hang.so", "--only", "run,gradients", "--time-limit", "1")
        self.assertEqual((status, verdicts(parsed, "fail"), verdicts(parsed, "skip")), (1, ["run"], ["gradients"]), parsed)
        self.assertIn("did not finish in 1 s", parsed["tests"][0]["findings"][0]["text"])

    def test_unsupported_device_is_skipped_with_its_text(self):
        status, parsed = report(FIXTURES / "no_device.so", "--only", "run,leaks")
        self.assertEqual((status, verdicts(parsed, "skip")), (0, ["leaks", "run"]), parsed)
        for test in parsed["tests"]:
            self.assertIn("a device that nobody has", test["findings"][0]["text"])

    def test_option_without_default_must_be_given(self):
        status, parsed = report(FIXTURES / "required.so", "--only", "run,hook")
        self.assertEqual((status, verdicts(parsed, "fail"), verdicts(parsed, "skip")), (1, ["run"], ["hook"]), parsed)
        self.assertIn("--option width=VALUE", parsed["tests"][0]["findings"][0]["fix"])
        self.assertEqual(validate(FIXTURES / "required.so", "--only", "run,hook", "--option", "width=3").returncode, 0)

    def test_lines_for_people(self):
        done = validate(FIXTURES / "constant.so", "--only", "note,numerics", "--seed", "3")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"(?m)^pass  note ")
        self.assertRegex(done.stdout, r"(?m)^fail  numerics .*the logits")
        self.assertRegex(done.stdout, r"(?m)^ +fix: correct the code")
        self.assertIn("1 passed, 0 warned, 0 skipped, 1 failed (seed 3)", done.stdout)
        self.assertIn("--only numerics --seed 3", done.stdout)

    def test_seed_draws_other_options(self):
        texts = []
        for seed in ("1", "2", "1"):
            status, parsed = report(FIXTURES / "good.so", "--only", "options", "--seed", seed)
            self.assertEqual((status, parsed["seed"]), (0, int(seed)))
            texts.append(parsed["tests"][0]["findings"][-1]["text"])
        self.assertEqual(texts[0], texts[2])

    def test_usage(self):
        good = FIXTURES / "good.so"
        for arguments, words in (
                ((), "no file was named"),
                ((good, "--only", "gradient"), "did you mean 'gradients'"),
                ((good, "--option", "widht=3"), "did you mean 'width'"),
                ((good, "--option", "width=65"), "width"),
                ((good, "--option", "width"), "NAME=VALUE"),
                ((good, "--time-limit", "0"), "time limit"),
                ((Path(__file__),), "not"),
                ((FIXTURES / "absent.so",), "")):
            with self.subTest(arguments=arguments):
                done = subprocess.run([str(VALIDATOR), *map(str, arguments)], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(words, done.stderr)
                self.assertIn("fix: ", done.stderr)

    def test_scratch_folder_is_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([str(VALIDATOR), str(FIXTURES / "good.so"), "--only", "checkpoint"], check=False,
                                  capture_output=True, text=True, env={**os.environ, "TMPDIR": folder})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(list(Path(folder).iterdir()), [])


class Tree(unittest.TestCase):
    def test_every_plugin_of_the_tree_passes(self):
        plugins = sorted(path for folder in PLUGIN_FOLDERS for path in folder.rglob("*.so"))
        self.assertGreaterEqual(len(plugins), 9)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for path, (status, parsed) in zip(plugins, pool.map(report, plugins), strict=True):
                with self.subTest(plugin=path.name):
                    failed = [test for test in parsed["tests"] if test["verdict"] == "fail"]
                    self.assertEqual((status, failed), (0, []))
                    # Without a device nothing of it is skipped but what it does not claim or have.
                    skipped = set(verdicts(parsed, "skip"))
                    self.assertLessEqual(skipped, {"numerics", "gradients", "hook", "instances"})
                    self.assertFalse({"numerics", "gradients"} <= skipped)


if __name__ == "__main__":
    VALIDATOR, FIXTURES = Path(sys.argv[1]), Path(sys.argv[2])
    PLUGIN_FOLDERS = [Path(folder) for folder in sys.argv[3:]]
    unittest.main(argv=sys.argv[:1])
