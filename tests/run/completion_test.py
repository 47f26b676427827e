#!/usr/bin/env python3
"""What the shells' completion offers, asked of real bash (and of zsh where there is one).

Usage: completion_test.py TITAN_PROGRAM EXAMPLES_FOLDER ODD_VALUES_PLUGIN
"""
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

import titan_run

EXAMPLES = ODD_VALUES = None
BREAKS = " \t\n\"'@><=;|&(:"

# Calls the function as bash does when the key is pressed at the end of LINE.
ASK_BASH = r"""
source "$SCRIPT"
COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_WORDS=(titan)
_titan
printf '%s\n' "${COMPREPLY[@]}"
"""

ASK_ZSH = r"""
compdef() { }
_files() { print -r -- FILES }
compset() { }
compadd() {
  local name=$@[-1]
  print -rl -- ${(P)name}
}
source <(titan completion zsh)
_titan
"""


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.script = titan_run.run("completion", "bash").stdout

    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)
        self.env = {**os.environ, "PATH": f"{Path(titan_run.PROGRAM).parent}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
        self.env.pop("TITAN_PLUGIN_PATH", None)
        (self.folder.path / "titan.bash").write_text(self.script)
        self.env["SCRIPT"] = str(self.folder.path / "titan.bash")

    def bash(self, line, **env):
        """What COMPREPLY holds; nothing may appear on standard error."""
        done = subprocess.run(["bash", "--norc", "-c", ASK_BASH], env={**self.env, "LINE": line, **env},
                              cwd=self.folder.path, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        return [word for word in done.stdout.split("\n") if word]

    def test_commands_flags_and_keys(self):
        self.assertEqual(self.bash("titan pl"), ["plugins", "plan"])
        self.assertEqual(set(self.bash("titan plugins ")) & {"list", "inspect", "new", "has"}, {"list", "inspect", "new", "has"})
        self.assertEqual(self.bash("titan do"), ["doctor"])
        self.assertEqual(self.bash("titan doctor --js"), ["--json"])
        self.assertEqual(self.bash("titan report --o"), ["--output"])
        self.assertEqual(self.bash("titan plugins inspect x --ma"), ["--markdown"])
        self.assertEqual(self.bash("titan train --optimizer.l"), ["--optimizer.lr="])
        self.assertEqual(self.bash("titan train --dry"), ["--dry-run"])
        self.assertEqual(self.bash("titan es"), ["estimate"])
        self.assertEqual(self.bash("titan config explain optimizer.l"), ["optimizer.lr"])
        self.assertEqual(self.bash("TITAN_DATA_DIR=x titan comp"), ["completion"])
        self.assertEqual(self.bash("titan wrong -"), self.bash("titan -"))

    def test_values(self):
        self.assertEqual(self.bash("titan train --lr_scheduler.decay_type="), ["linear", "sqrt", "cosine"])
        self.assertEqual(self.bash("titan train --lr_scheduler.decay_type c"), ["cosine"])
        self.assertEqual(self.bash("titan train --float8.emulate=t"), ["true"])
        self.assertEqual(self.bash("titan train --float8.recipe=row"), ["rowwise", "rowwise_with_gw_hp"])
        for command in ("plan", "estimate"):
            self.assertEqual(self.bash(f"titan {command} x.yaml --device sm_9"), ["sm_90"])
        self.assertEqual(self.bash("titan train --model.flavor=d"), ["debugmodel"])
        self.assertEqual(self.bash("titan plugins new x --language t"), ["torch"])
        self.assertEqual(self.bash("titan export step-3 --output x --dtype b"), ["bfloat16"])
        self.assertEqual(self.bash("titan export step-3 --m"), ["--merge-lora", "--max-shard-size"])
        self.assertEqual(self.bash("titan train --job.dump_folder="), [])  # the shell's own completion of files

    def test_converters_of_every_place_that_the_line_names(self):
        self.assertEqual(self.bash("titan train --model.converters="), ["float8"])
        lora = f"--plugins.paths={EXAMPLES}/lora"
        self.assertEqual(self.bash(f"titan train {lora} --model.converters="), ["lora", "float8"])
        self.assertEqual(self.bash(f"titan train {lora} --model.converters=float8,l"), ["float8,lora"])
        self.assertEqual(self.bash(f"titan train --plugins.paths {EXAMPLES}/lora --lora.r"), ["--lora.rank="])
        self.assertEqual(self.bash("titan plugins has c_", TITAN_PLUGIN_PATH=f"{EXAMPLES}/c_scale"), ["c_scale"])
        self.folder.config.write_text(f"plugins: {{paths: [{EXAMPLES}/soft_cap]}}\n"
                                      "model: {converters: [{use: soft_cap, as: head}]}\n")
        self.assertEqual(self.bash(f"titan train {self.folder.config} --head.kind=d"), ["decoder"])

    def test_files(self):
        (self.folder.path / "two words.yml").write_text("")
        (self.folder.path / "sub").mkdir()
        self.assertEqual(self.bash("titan train "), ["small.yaml", "sub/", r"two\ words.yml"])
        self.assertEqual(self.bash("titan train --config=s"), ["small.yaml", "sub/"])
        self.assertEqual(self.bash(r"titan plan two\ w"), [r"two\ words.yml"])
        self.assertEqual(self.bash("titan train small.yaml s"), [])  # one config is enough
        (self.folder.path / "sub/metrics.jsonl").write_text("")
        for line in ("titan report s", "titan report x s", "titan report --output page.html s"):
            self.assertEqual(self.bash(line), ["sub/"], line)
        self.assertEqual(self.bash("titan report sub/m"), ["sub/metrics.jsonl"])
        self.assertEqual(self.bash("titan doctor s"), ["small.yaml", "sub/"])

    def test_mistakes_cost_nothing(self):
        broken = self.folder.path / "broken.so"
        broken.write_bytes(b"\x7fELF cut")
        self.folder.config.write_text("model: {converters: [\n")
        self.assertEqual(self.bash(f"titan train {self.folder.config} --plugins.paths={broken} --model.converters="),
                         ["float8"])
        self.assertEqual(self.bash("titan train --nosuch.thing="), [])
        self.assertEqual(self.bash("titan train 'open --float8"), [])
        # The program itself says nothing either.
        done = titan_run.run("complete", BREAKS, f"titan train {self.folder.config} --plugins.policy=wrong --float8.")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_plugins_text_means_nothing_and_its_code_does_not_run(self):
        for line in ("titan train --odd_values.kind=", "titan train --odd_values.kind "):
            self.assertEqual(self.bash(line, TITAN_PLUGIN_PATH=str(ODD_VALUES)), ["plain"])
        self.assertEqual(self.bash("titan plugins why o", TITAN_PLUGIN_PATH=str(ODD_VALUES)), ["odd_values"])
        self.assertFalse((self.folder.path / "pwned").exists())

    def test_in_an_interactive_bash(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder.path)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], {**self.env, "PS1": "ready> ", "TERM": "dumb"})
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.close, terminal)
        seen = ""

        def wait_for(text):
            nonlocal seen
            deadline = time.monotonic() + 60
            while text not in seen:
                ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
                self.assertTrue(ready, f"no {text!r} in {seen!r}")
                seen += os.read(terminal, 65536).decode(errors="replace")
            seen = seen[seen.index(text) + len(text):]

        wait_for("ready> ")
        os.write(terminal, b"source <(titan completion bash)\n")
        wait_for("ready> ")
        os.write(terminal, b"titan plug\tinsp\tfl\t--js\t> seen.json; echo do''ne\n")
        wait_for("done")
        os.write(terminal, b"exit\n")
        self.assertEqual(json.loads((self.folder.path / "seen.json").read_text())["name"], "float8")

    def test_an_installation_has_the_same_scripts(self):
        prefix = self.folder.path / "prefix"
        subprocess.run(["cmake", "--install", titan_run.PROGRAM.parents[1], "--prefix", prefix, "--component", "titan"],
                       check=True, capture_output=True)
        for shell, place in (("bash", "bash-completion/completions/titan"), ("zsh", "zsh/site-functions/_titan")):
            self.assertEqual((prefix / "share" / place).read_text(), titan_run.run("completion", shell).stdout)

    def test_zsh(self):
        zsh = shutil.which("zsh")
        script = titan_run.run("completion", "zsh")
        self.assertEqual(script.returncode, 0)
        self.assertTrue(script.stdout.startswith("#compdef titan\n"))
        # Its words are whole: no part is cut off at '='.
        done = titan_run.run("complete", "", "titan train --lr_scheduler.decay_type=c")
        self.assertEqual(done.stdout, "--lr_scheduler.decay_type=cosine\n")
        if not zsh:
            return
        subprocess.run([zsh, "-n"], input=script.stdout, text=True, check=True)
        for words, expected in ((["train", "--optimizer.l"], ["--optimizer.lr="]),
                                (["train", "--lr_scheduler.decay_type=c"], ["--lr_scheduler.decay_type=cosine"]),
                                (["train", "--job.dump_folder="], ["FILES"])):
            state = f"words=(titan {' '.join(words)}); CURRENT={len(words) + 1}; PREFIX={words[-1]}\n"
            done = subprocess.run([zsh, "-f", "-c", state + ASK_ZSH], env=self.env, capture_output=True, text=True,
                                  timeout=60)
            self.assertEqual((done.stdout.split(), done.stderr), (expected, ""))


if __name__ == "__main__":
    titan_run.PROGRAM, EXAMPLES, ODD_VALUES = (Path(argument) for argument in sys.argv[1:4])
    unittest.main(argv=sys.argv[:1])
