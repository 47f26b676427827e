#!/usr/bin/env python3
"""Every nasty file as users meet it: `list` survives all in one folder, `doctor` names each, and `train` stops
only when a bad one is asked for. One row for each input: exit status and message.

Usage: nasty_run_test.py TITAN_PROGRAM NASTY_FOLDER
"""
import json
import os
import re
import shutil
import sys
import time
import unittest
from pathlib import Path

import titan_run

NASTY = None
REFUSED, SKIPPED = "refused", "skipped"

# fixture: (verdict, gate that stops it, what is said, rule). Those without a gate before "load" run code.
BUILT = {
    "execstack": (REFUSED, "ELF", "asks for an executable stack", "T-33"),
    "textrel": (REFUSED, "ELF", "has relocations in its code", "T-33"),
    "mangled": (REFUSED, "note", "register_converters with a C++ name", "T-1"),
    "mangled_note": (REFUSED, "note", "register_converters with a C++ name", "T-1"),
    "mangled_hidden": (REFUSED, "note", "exports no register_converters", "T-1"),
    "entry_name": (REFUSED, "note", "exports no register_converters", "T-1"),
    "note_too_new": (REFUSED, "note", "needs titan API level 4294967295, this titan has level 2", "T-11"),
    "note_keys": (REFUSED, "note", "occurs twice", "T-17"),
    "note_deep": (REFUSED, "note", "nested more than 16 levels", "T-17"),
    "note_json": (REFUSED, "note", "not valid JSON", "T-17"),
    "two_notes": (REFUSED, "note", "has two titan notes", "T-17"),
    "links_torch": (REFUSED, "dependencies", "links LibTorch (libtorch_cpu.so)", "T-35"),
    "cpp_torch": (REFUSED, "dependencies", "needs the C++ interface of LibTorch", "T-35"),
    "cpp_torch_note": (REFUSED, "dependencies", "says tier stable but needs the C++ symbol", "T-35"),
    "shim": (REFUSED, "dependencies", "says tier none but needs aoti_torch_get_dim", "T-35"),
    "note_exact": (REFUSED, "dependencies", "was built for LibTorch 9.9.9", "T-35"),
    "needs_gone": (REFUSED, "dependencies", "needs libgone.so, which was not found", "T-33"),
    "undefined": (REFUSED, "load", "needs the symbol nobody_defines_this", "T-33"),
    "constructor_crash": (REFUSED, "load", "crashed while it was loaded", "T-28"),
    "constructor_abort": (REFUSED, "load", "no suitable moon", "T-28"),
    "constructor_throws": (REFUSED, "load", "crashed while it was loaded", "T-28"),
    "constructor_hang": (REFUSED, "load", "hung while it was loaded", "T-28"),
    "constructor_spin": (REFUSED, "load", "hung while it was loaded", "T-28"),
    "constructor_exit": (REFUSED, "load", "ended the process while it was loaded", "T-28"),
    "constructor_quick_exit": (REFUSED, "load", "ended the process while it was loaded", "T-28"),
    "constructor_fork": (REFUSED, "load", "starts a process while it is loaded", "T-28"),
    "entry_crash": (REFUSED, "register", "crashed in register_converters", "T-28"),
    "entry_hang": (REFUSED, "load", "hung", "T-28"),
    "entry_exit": (REFUSED, "register", "ended the process in register_converters", "T-28"),
    "throws": (REFUSED, "register", "threw an exception: out of cheese", "T-28"),
    "throws_int": (REFUSED, "register", "no std::exception", "T-28"),
    "throws_noexcept": (REFUSED, "register", "crashed in register_converters", "T-28"),
    "throws_private": (REFUSED, "register", "", "T-28"),  # caught or aborted: the two unwinders decide
    "throws_wrapped": (REFUSED, "register", "register_converters failed (failed): out of cheese", ""),
    "returns_error": (REFUSED, "register", "needs a better moon", ""),
    "silent_error": (REFUSED, "register", "without saying why", "T-26"),
    "nothing": (REFUSED, "register", "registered nothing", "T-32"),
    "twice": (REFUSED, "register", "registered twice", "T-32"),
    "ignored": (REFUSED, "register", "registered twice", "T-32"),
    "not_listed": (REFUSED, "register", "which its note does not list", "T-17"),
    "not_registered": (REFUSED, "register", "which it did not register", "T-17"),
    "no_note_handed": (REFUSED, "register", "did not hand over its note", "T-17"),
    "other_note": (REFUSED, "register", "handed over another note", "T-17"),
    "other_thread": (REFUSED, "register", "used on another thread", "T-29"),
    "size_0": (REFUSED, "register", "struct_size is 0", "T-7"),
    "size_3": (REFUSED, "register", "struct_size is 3", "T-7"),
    "size_huge": (REFUSED, "register", "struct_size is 4294967295", "T-7"),
    "size_tail": (REFUSED, "register", "uses newer fields than this titan knows", "T-7"),
    "misaligned": (REFUSED, "register", "misaligned pointer", "T-7"),
    "flags": (REFUSED, "register", "no flag is known", "T-7"),
    "null_convert": (REFUSED, "register", "convert of 'nasty' is NULL", "T-7"),
    "null_converter": (REFUSED, "register", "was given NULL", "T-7"),
    "null_name": (REFUSED, "register", "name is empty", "T-19"),
    "bad_name": (REFUSED, "register", "is not a valid name", "T-19"),
    "huge_name": (REFUSED, "register", "is not a valid name", "T-19"),
    "noteless_crash": (REFUSED, "load", "crashed while it was loaded", "T-28"),
    "noteless_exit": (REFUSED, "load", "ended the process", "T-28"),
    "noteless_hang": (REFUSED, "load", "hung while it was loaded", "T-28"),
}
LOADABLE = {"good", "noteless", "exports_cblas", "constructor_slow", "constructor_chatter"}


def made(folder):
    """Files that no compiler makes; {name: (verdict, gate, what is said)}."""
    good = (NASTY / "good.so").read_bytes()

    def patched(at, value):
        return good[:at] + bytes([value]) + good[at + 1:]

    contents = {
        "empty": (b"", REFUSED, "file", "is empty"),
        "one_byte": (b"x", SKIPPED, "ELF", "is not an ELF file"),
        "script": (b"INPUT(-lfoo)\n", SKIPPED, "ELF", "is not an ELF file"),
        "cut_header": (good[:40], REFUSED, "ELF", "the ELF header is cut"),
        "cut_segment": (good[:len(good) // 4], REFUSED, "ELF", "is cut short"),
        "arm": (patched(18, 183), SKIPPED, "ELF", "was built for AArch64"),
        "elf32": (patched(4, 1), SKIPPED, "ELF", "was built for 32-bit"),
        "big_endian": (patched(5, 2), SKIPPED, "ELF", "was built for big-endian"),
        "program": (patched(16, 2), REFUSED, "ELF", "is a program"),
        "newer_glibc": (re.sub(rb"(GLIBC(XX)?)_[23]\.", rb"\1_9.", (NASTY / "throws.so").read_bytes()), REFUSED, "dependencies",
                        "this machine has up to GLIBC"),
    }
    expected = {}
    for name, (content, *rest) in contents.items():
        (folder / f"{name}.so").write_bytes(content)
        expected[name] = rest
    (folder / "folder.so").mkdir()
    expected["folder"] = [SKIPPED, "file", "is a folder"]
    os.mkfifo(folder / "fifo.so")
    expected["fifo"] = [REFUSED, "file", "is a FIFO"]
    (folder / "loop.so").symlink_to("loop.so")
    expected["loop"] = [REFUSED, "file", "leads back to itself"]
    (folder / "dangling.so").symlink_to("nowhere.so")
    expected["dangling"] = [REFUSED, "file", "does not exist"]
    (folder / "device.so").symlink_to("/dev/null")
    expected["device"] = [REFUSED, "file", "is a device"]
    shutil.copy(NASTY / "good.so", folder / "open_to_all.so")
    (folder / "open_to_all.so").chmod(0o777)
    expected["open_to_all"] = [REFUSED, "trust", "is world-writable"]
    shutil.copy(NASTY / "good.so", folder / "zz_copy.so")
    expected["zz_copy"] = [SKIPPED, "register", "is a copy of"]
    (folder / "zz_link.so").symlink_to("good.so")
    return expected


class Nasty(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)
        self.plugins = self.folder.path / "plugins"
        self.plugins.mkdir()

    def fill(self):
        for path in NASTY.glob("*.so"):
            shutil.copy(path, self.plugins)
        return made(self.plugins)

    def titan(self, *arguments):
        return titan_run.run(*arguments, plugins=[self.plugins])

    def test_the_table_names_every_fixture(self):
        self.assertEqual({path.stem for path in NASTY.glob("*.so")}, set(BUILT) | LOADABLE)

    def test_list_survives_all_of_them_in_one_folder(self):
        self.fill()
        start = time.monotonic()
        done = self.titan("plugins", "list", "--dry")
        seconds = time.monotonic() - start
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(seconds, 20)  # a scan that hangs would never end; usually it is below one second
        for path in self.plugins.iterdir():
            self.assertIn(str(path), done.stdout)
        # Without --dry those without a note are tried; all others still run no code.
        done = self.titan("plugins", "list", "--plugins.load_timeout_seconds=1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("noteless_hang.so hung while it was loaded", done.stdout)
        self.assertNotIn("constructor_hang.so hung", done.stdout)
        self.assertNotIn("likes to talk", done.stdout + done.stderr)

    def test_doctor_says_what_stopped_each(self):
        expected = self.fill()
        done = self.titan("plugins", "doctor", "--json", "--plugins.load_timeout_seconds=1")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr, "")
        report = json.loads(done.stdout)
        found = {Path(plugin["path"]).stem: plugin for plugin in report["plugins"]}
        expected.update({name: row for name, row in BUILT.items()})
        # Two seconds are more than the limit of one.
        expected["constructor_slow"] = (REFUSED, "load", "hung while it was loaded", "T-28")
        for name, (verdict, gate, says, *rule) in expected.items():
            with self.subTest(fixture=name):
                plugin = found[name]
                self.assertEqual(plugin["outcome"], verdict, plugin.get("reason"))
                self.assertEqual(plugin["gates"][-1]["gate"], gate, plugin["reason"])
                self.assertIn(says, plugin["reason"])
                self.assertTrue(plugin["hint"])
                if rule:
                    self.assertEqual(plugin["rule"], rule[0])
                self.assertTrue(all(entry["verdict"] == "passed" for entry in plugin["gates"][:-1]))
        for name in LOADABLE - {"constructor_slow"}:
            self.assertEqual(found[name]["outcome"], "loadable", found[name].get("reason"))
            self.assertEqual(len(found[name]["gates"]), 9)
        good = found["good"]
        self.assertEqual(good["same_file"], [str(self.plugins / "zz_link.so")])
        [conflict] = report["duplicates"]
        self.assertEqual(conflict["converter"], "nasty")
        self.assertIn(str(self.plugins / "good.so"), conflict["paths"])
        # Nothing that was started is left.
        left = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes()
            except OSError:  # gone meanwhile
                continue
            if b"doctor" in command and bytes(self.plugins) in command:
                left.append(command)
        self.assertEqual(left, [])

    def test_train_goes_on_when_none_is_asked_for(self):
        self.fill()
        done = self.titan("train", self.folder.config, "--training.steps=1")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_train_stops_when_a_bad_one_is_asked_for(self):
        # One for each way to a refusal; what is said of all others is doctor's text, checked above.
        for name in ("execstack", "mangled_hidden", "note_too_new", "note_deep", "links_torch", "undefined", "constructor_crash",
                     "constructor_hang", "constructor_exit", "entry_crash", "entry_exit", "throws_private", "silent_error",
                     "not_listed", "size_3", "noteless_crash", "noteless_hang"):
            _, _, says, rule = BUILT[name]
            with self.subTest(fixture=name):
                for old in self.plugins.iterdir():
                    old.unlink()
                shutil.copy(NASTY / f"{name}.so", self.plugins)
                converter = {"not_listed": "other", "mangled_hidden": "mangled"}.get(name, "nasty")
                done = self.titan("train", self.folder.config, f"--model.converters={converter}",
                                  "--plugins.load_timeout_seconds=1")
                output = done.stdout + done.stderr
                self.assertEqual(done.returncode, 2, output)
                self.assertIn(says, output)
                self.assertIn(f"{name}.so", output)
                self.assertIn("fix: ", output)
                if rule:
                    self.assertIn(f"[{rule}]", output)
                self.assertNotIn("step:", output)

    def test_a_plugin_that_is_only_odd_trains(self):
        for name in sorted(LOADABLE):
            with self.subTest(fixture=name):
                for old in self.plugins.iterdir():
                    old.unlink()
                shutil.copy(NASTY / f"{name}.so", self.plugins)
                done = self.titan("train", self.folder.config, "--model.converters=nasty")
                # It is loaded; then its convert uses the dead registrar (good.so), or records nothing.
                self.assertIn(f"plugin {'noteless' if name == 'noteless' else 'nasty'}", done.stdout + done.stderr)
                self.assertNotEqual(done.returncode, 1)
                self.assertGreaterEqual(done.returncode, 0)

    def test_two_files_with_one_converter_are_named_both(self):
        shutil.copy(NASTY / "good.so", self.plugins)
        shutil.copy(NASTY / "noteless.so", self.plugins)
        shutil.copy(NASTY / "constructor_chatter.so", self.plugins)
        done = self.titan("train", self.folder.config, "--model.converters=nasty")
        self.assertEqual(done.returncode, 2)
        for name in ("good.so", "constructor_chatter.so", "[T-32]"):
            self.assertIn(name, done.stderr)
        why = self.titan("plugins", "why", "nasty")
        self.assertEqual(why.returncode, 2)
        for name in ("good.so", "constructor_chatter.so", "noteless.so", "conflict: converter 'nasty'"):
            self.assertIn(name, why.stdout)

    def test_policy(self):
        plugin = self.plugins / "good.so"
        shutil.copy(NASTY / "good.so", plugin)
        sha256 = json.loads(self.titan("plugins", "inspect", "nasty", "--json").stdout)["sha256"]
        self.assertEqual(len(sha256), 64)
        other = "0" * 64
        for words, verdict, says in (
                ([], "loadable", ""),
                (["--plugins.allow=nas*"], "loadable", "allowed by 'nas*'"),
                ([f"--plugins.allow={self.plugins}/*"], "loadable", "allowed by"),
                (["--plugins.allow=acme_*"], "refused", "is not among the plugins of plugins.allow"),
                (["--plugins.deny=n?sty"], "refused", "is denied by plugins.deny ('n?sty')"),
                (["--plugins.allow=nasty", "--plugins.deny=nasty"], "refused", "is denied"),
                ([f"--plugins.sha256=nasty={sha256}"], "loadable", "sha256 as pinned"),
                ([f"--plugins.sha256=nasty={sha256.upper()}"], "loadable", "sha256 as pinned"),
                ([f"--plugins.sha256=nasty={other}"], "refused", f"has sha256 {sha256}, but plugins.sha256 pins 'nasty' to {other}"),
                ([f"--plugins.sha256=natsy={sha256}"], "refused", "is not pinned")):
            with self.subTest(words=words):
                done = self.titan("plugins", "why", "nasty", "--json", *words)
                plugin_report = json.loads(done.stdout)["plugins"][0]
                self.assertEqual(plugin_report["outcome"], verdict)
                self.assertIn(says, plugin_report["gates"][4]["text"])
                self.assertEqual(done.returncode, 0 if verdict == "loadable" else 2)
        for words, says in ((["--plugins.sha256=nasty=12"], "is not NAME=SHA256"), (["--plugins.deny=[\"\"]"], "an empty pattern"),
                            ([f"--plugins.sha256=[a={other},a={sha256}]"], "has two hashes")):
            done = self.titan("plugins", "list", *words)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(says, done.stderr)

    def test_why_of_what_is_not_there(self):
        shutil.copy(NASTY / "good.so", self.plugins)
        done = self.titan("plugins", "why", "nsaty")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'nasty'", done.stderr)
        self.assertIn(str(self.plugins), done.stderr)
        # A path is judged wherever it lies.
        done = self.titan("plugins", "why", str(NASTY / "note_deep.so"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("nested more than 16 levels", done.stdout)


if __name__ == "__main__":
    titan_run.PROGRAM, NASTY = Path(sys.argv[1]), Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
