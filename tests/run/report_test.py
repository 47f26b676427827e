#!/usr/bin/env python3
"""titan report: pages of real runs, of runs that broke off, and of files that are no runs.

Usage: report_test.py TITAN_PROGRAM EXAMPLES_FOLDER
"""
import json
import os
import signal
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import titan_run

EXAMPLES = None
SVG = "{http://www.w3.org/2000/svg}"
HTML = "{http://www.w3.org/1999/xhtml}"


def page_of(path):
    """The page, parsed by a strict parser, and its text."""
    text = Path(path).read_text()
    return ElementTree.fromstring(text), text


def charts_of(page):
    """Caption to the descriptions of its chart."""
    return {"".join(figure.find(HTML + "figcaption").itertext()): figure.find(SVG + "svg").findtext(SVG + "desc")
            for figure in page.iter(HTML + "figure")}


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)
        self.plugins = [EXAMPLES / "monitor"]

    def report(self, *words):
        done = titan_run.run("report", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_what_is_no_regular_file_is_not_replaced(self):
        titan_run.train(self.folder)
        pipe, dangling = self.folder.path / "pipe", self.folder.path / "dangling"
        os.mkfifo(pipe)
        dangling.symlink_to(self.folder.path / "nothing")
        for path, kind in ((pipe, "a pipe"), ("/dev/null", "a device"), (dangling, "a link to a file"), (self.folder.path, "a folder")):
            done = titan_run.run("report", self.folder.out, "-o", path, timeout=20)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(kind, done.stderr)
        self.assertTrue(pipe.is_fifo() and dangling.is_symlink())
        self.assertIn("<html", self.report(self.folder.out, "-o", "-").stdout)

    def run_json(self, out=None):
        return json.loads(((out or self.folder.out) / "run.json").read_text())

    def test_a_run(self):
        lines = titan_run.train(self.folder, "--validation.enable", "--validation.dataset=text", "--validation.steps=1",
                                f"--validation.dataset_path={self.folder.text}", "--validation.seq_len=32",
                                "--model.converters=monitor", plugins=self.plugins)
        self.assertEqual(self.report(self.folder.out).stdout, f"{self.folder.out}/report.html\n")
        page, text = page_of(self.folder.out / "report.html")
        self.assertLess(len(text), 200_000)
        charts = charts_of(page)
        self.assertLessEqual({"Loss", "Validation loss", "Gradient norm before clipping", "Learning rate",
                              "Throughput tokens per second", "Peak memory GiB"}, set(charts))
        self.assertIn(f"{lines[0]['loss']:.3f} at step 1", charts["Loss"])
        self.assertTrue(any(caption.startswith("monitor: ") for caption in charts), charts)
        words = "".join(page.itertext())
        run = self.run_json()
        for part in ("completed", "3 of 3", f"{run['parameters']:,}", run["converters"][0]["sha256"], run["system"],
                     "training.seq_len"):
            self.assertIn(part, words)
        [session] = run["sessions"]
        self.assertEqual((session["first_step"], session["last_step"], session["outcome"]), (1, 3, "completed"))
        self.assertLess(0, session["ended"] - session["began"])
        self.assertEqual(run["config"]["training.steps"], "3")
        # Again: a report may replace a report.
        self.report(self.folder.out)

    def test_runs_that_are_compared(self):
        titan_run.train(self.folder)
        other = self.folder.path / "other"
        titan_run.train(self.folder, "--optimizer.lr=0.01", f"--job.dump_folder={other}")
        page, _ = page_of(self.report(self.folder.out, other / "metrics.jsonl", "-o", self.folder.path / "both.html").stdout.strip())
        words = "".join(page.itertext())
        differs = words[words.index("What differs"):words.index("What is set")]
        self.assertIn("optimizer.lr", differs)
        self.assertIn("0.01", differs)
        self.assertNotIn("seq_len", differs)
        [loss] = [figure for figure in page.iter(HTML + "figure") if "".join(figure.find(HTML + "figcaption").itertext()) == "Loss"]
        drawn = [path.get("class") for path in loss.iter(SVG + "path") if "line" in path.get("class")]
        self.assertEqual(drawn, ["line s0", "line s1"])

    def test_a_run_that_was_killed_and_resumed(self):
        options = ["--checkpoint.enable=true", "--checkpoint.interval=2", "--lr_scheduler.total_steps=100000"]
        process = subprocess.Popen([titan_run.PROGRAM, "train", self.folder.config, *options, "--training.steps=100000"],
                                   stderr=subprocess.DEVNULL)
        metrics, deadline = self.folder.out / "metrics.jsonl", time.monotonic() + 60
        while not metrics.exists() or len(metrics.read_text().splitlines()) < 9:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with metrics.open("a") as file:
            file.write('{"step": 99, "lo')
        self.report(self.folder.out)
        page, text = page_of(self.folder.out / "report.html")
        words = "".join(page.itertext())
        self.assertRegex(words, r"1 of \d+ lines of the metrics are cut")
        self.assertIn("did not end", words)
        last = json.loads(metrics.read_text().splitlines()[-2])["step"]
        titan_run.train(self.folder, *options, f"--training.steps={last + 2}")
        self.assertEqual([session["outcome"] for session in self.run_json()["sessions"]], ["", "completed"])
        self.report(self.folder.out)
        words = "".join(page_of(self.folder.out / "report.html")[0].itertext())
        self.assertNotIn("are cut", words)
        self.assertIn("completed", words)

    def test_a_run_that_failed(self):
        done = titan_run.run("train", self.folder.config, "--optimizer.lr=1e30", "--training.steps=9")
        self.assertEqual(done.returncode, 5, done.stderr)
        [session] = self.run_json()["sessions"]
        self.assertRegex(session["outcome"], "^failed: .*finite")
        self.report(self.folder.out)
        self.assertIn(session["outcome"], "".join(page_of(self.folder.out / "report.html")[0].itertext()))

    def test_warnings_are_kept(self):
        titan_run.train(self.folder, "--lr_scheduler.total_steps=2")
        self.assertTrue(any("lr_scheduler.total_steps (2)" in warning for warning in self.run_json()["warnings"]))
        self.report(self.folder.out)
        self.assertIn("lr_scheduler.total_steps (2)", "".join(page_of(self.folder.out / "report.html")[0].itertext()))

    def test_what_files_hold_cannot_become_markup(self):
        odd = '<script>"&\'\u0001\ufffe</ul>]]>'
        self.folder.out.mkdir()
        (self.folder.out / "metrics.jsonl").write_text("".join(
            json.dumps({"step": step, "loss": "nan" if step == 3 else step, f"{odd}/{odd}.{odd}": step}) + "\n"
            for step in range(1, 6)) + json.dumps({"step": 5, "sample": {"name": odd, "prompt": odd, "text": odd}}) + "\n")
        (self.folder.out / "run.json").write_text(json.dumps({
            "made_by": odd, "config": {odd: odd}, "warnings": [odd], "notes": [odd], "device": odd, "system": odd,
            "sessions": [{"began": 1, "ended": 2, "outcome": odd}],
            "converters": [{"instance": odd, "converter": odd, "plugin": odd, "version": odd, "sha256": odd}]}))
        page, text = page_of(self.report(self.folder.out).stdout.strip())
        self.assertNotIn("<script", text)
        self.assertIn("not finite in the reported steps 3", "".join(page.itertext()))
        self.assertTrue(any(path.get("class") == "bad" for path in page.iter(SVG + "path")))

    def test_a_long_run_is_small(self):
        self.folder.out.mkdir()
        with (self.folder.out / "metrics.jsonl").open("w") as file:
            for step in range(1, 50001):
                layers = "".join(f', "float8/layers.{i}.wq.amax": {step % 7 + i}' for i in range(8))
                file.write(f'{{"step": {step}, "loss": {2 + 6 / step + step % 11 / 50:.5f}, "grad_norm": {step % 13 / 9:.4f}, '
                           f'"lr": {step / 5e4:.6f}, "tps": {9000 + step % 100}{layers}}}\n')
        start = time.monotonic()
        self.report(self.folder.out)
        self.assertLess(time.monotonic() - start, 60)
        page, text = page_of(self.folder.out / "report.html")
        self.assertLess(len(text), 200_000)
        self.assertIn("8.02 at step 1", charts_of(page)["Loss"])

    def test_to_standard_output(self):
        titan_run.train(self.folder)
        done = self.report(self.folder.out, "--output", "-")
        self.assertTrue(done.stdout.startswith("<!DOCTYPE html>"))
        self.assertFalse((self.folder.out / "report.html").exists())

    def test_mistakes(self):
        titan_run.train(self.folder)
        mine = self.folder.path / "mine.html"
        mine.write_text("<html>mine</html>")
        damaged = self.folder.out / "run.json"
        for words, status, named in ((["report"], 2, "RUN"),
                                     (["report", self.folder.path / "nowhere"], 4, "nowhere"),
                                     (["report", self.folder.path], 4, "metrics.jsonl"),
                                     (["report", self.folder.out, "-o", mine], 2, "no report of titan"),
                                     (["report", self.folder.out, "-o", self.folder.path], 2, "folder"),
                                     (["report", self.folder.out, "-o", self.folder.path / "no/where.html"], 3, "where.html"),
                                     (["report", self.folder.out, "--nosuch"], 2, "nosuch")):
            done = titan_run.run(*words)
            self.assertEqual(done.returncode, status, (words, done.stderr))
            self.assertIn(named, done.stderr)
            self.assertIn("fix: ", done.stderr)
        self.assertEqual(mine.read_text(), "<html>mine</html>")
        damaged.write_text("{")
        done = self.report(self.folder.out)
        self.assertIn("run.json", done.stderr)
        damaged.unlink()
        self.report(self.folder.out)


if __name__ == "__main__":
    titan_run.PROGRAM, EXAMPLES = (Path(argument) for argument in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
