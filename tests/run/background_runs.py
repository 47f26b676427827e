"""Runs in the background, to be stopped or to fail on the way."""
import json
import os
import re
import resource
import signal
import subprocess
import threading
import unittest

import titan_run


def environment():
    """One thread: what is tested is no matter of speed."""
    kept = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
    kept.pop("TITAN_PLUGIN_PATH", None)
    return kept


class BackgroundRuns(unittest.TestCase):
    """Each test gets a folder, and ways to start and stop a run in it."""

    def setUp(self):
        self.folder = self.new_folder()

    def new_folder(self):
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        return folder

    def start(self, *options, limit=None):
        """A process in the background whose standard error can be read line by line."""
        def prepare():
            # A shell in the background may hand down signals that are ignored.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            if limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        process = subprocess.Popen([str(titan_run.PROGRAM), "train", str(self.folder.config), *options],
                                   env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=prepare)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for_step(self, process, step):
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        try:
            for line in process.stderr:
                if re.search(rf"step: +{step} ", line):
                    return
        finally:
            watchdog.cancel()
        self.fail(f"the run ended (status {process.wait()}) before it reported step {step}")

    def lines(self, folder=None):
        text = ((folder or self.folder).out / "metrics.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]
