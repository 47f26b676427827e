#!/usr/bin/env python3
"""The parts of ./dev bench: words, tables, the quiet window, rounds, the comparison of losses, fits."""
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "tests/bench"
sys.path[:0] = [str(ROOT / "scripts"), str(BENCH)]
import scaling  # noqa: E402 (the path had to be set first)
from devtool import bench, peer_env  # noqa: E402
from devtool.shell import Problem  # noqa: E402
from support import contest, debug_run, machine, measured, report, rounds  # noqa: E402

SCRIPTS = [Path(f"{name}.py") for name in ("float8_ratio", "float8_step", "scaling", "train", "trainer")]


def outcome(foreign=0.0, rss=100.0):
    return measured.Outcome(started=1000.0, wall_s=1.0, cpu_s=1.0, peak_rss_mib=rss, foreign_cores=foreign, output="")


def run_of(losses, step_seconds=1.0):
    lines = [{"step": i, "loss": loss, "step_seconds": step_seconds, "time": 1000.0 + 2 * i} for i, loss in enumerate(losses, 1)]
    return debug_run.Run(lines, outcome())


class Words(unittest.TestCase):
    def test_a_family_is_chosen_by_its_first_word(self):
        chosen, arguments = bench.choose(["float8", "--rounds", "3", "--quick"], SCRIPTS)
        self.assertEqual([script.stem for script in chosen], ["float8_ratio", "float8_step"])
        self.assertEqual(arguments, ["--rounds", "3", "--quick"])
        self.assertEqual([script.stem for script in bench.choose(["train"], SCRIPTS)[0]], ["train"])
        self.assertEqual(bench.choose([], SCRIPTS)[0], SCRIPTS)

    def refused(self, words, pattern):
        with self.assertRaisesRegex(Problem, pattern) as caught:
            bench.choose(words, SCRIPTS)
        self.assertEqual(caught.exception.status, 2)
        return caught.exception.hint

    def test_what_is_wrong_is_said(self):
        self.assertIn("scaling", self.refused(["trian"], "no benchmark 'trian'"))
        self.assertIn("--rounds=3", self.refused(["train", "--rounds"], "--rounds needs a value"))
        self.assertIn("float8_step", self.refused(["float8", "--json"], "one object, and 2 benchmarks"))

    def test_scripts_refuse_bad_options_before_anything_runs(self):
        for words in (["--rounds=0"], ["--steps", "x"], ["--nonsense"], ["--types=fp16"], ["--steps=3"]):
            done = subprocess.run([sys.executable, "-B", BENCH / "train.py", *words], capture_output=True, text=True, check=False,
                                  env={"PATH": os.environ["PATH"], "TITAN_PROGRAM": "/nowhere"})
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, r"not a whole number|is not fp32, bf16 or|unrecognized arguments|more than the 3 of warming up")
            self.assertEqual(done.stdout, "")

    def test_who_needs_the_python_trainer_is_seen(self):
        for name in ("train", "llama_110m", "head_loss"):
            self.assertTrue(bench.PEER.search((BENCH / f"{name}.py").read_text()), name)
        self.assertFalse(bench.PEER.search((BENCH / "scaling.py").read_text()))
        self.assertTrue(peer_env.PROGRAM.exists())


class Tables(unittest.TestCase):
    def test_a_table_is_markdown_and_aligned(self):
        self.assertEqual(report.table(["who", "n"], [["titan", 1234], ["x", "5"]]).splitlines(),
                         ["| who   |    n |", "|:------|-----:|", "| titan | 1234 |", "| x     |    5 |"])

    def test_one_block_is_rewritten_and_nothing_else(self):
        page = "a\n<!-- bench x: begin -->\nold\n<!-- bench x: end -->\nb\n<!-- bench y: begin -->\n<!-- bench y: end -->\n"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.md"
            path.write_text(page)
            report.write_block("x", "new\n", path)
            self.assertEqual(path.read_text(), page.replace("old", "new"))
            for wrong in (page.replace("<!-- bench x: end -->", ""), page + page):
                path.write_text(wrong)
                with self.assertRaisesRegex(SystemExit, "page.md: .*bench x: begin"):
                    report.write_block("x", "new", path)
                self.assertEqual(path.read_text(), wrong)

    def test_every_benchmark_has_its_place_on_the_page(self):
        page = (ROOT / "docs/performance.md").read_text()
        for script in BENCH.glob("*.py"):
            if script.name != peer_env.PROGRAM.name:
                self.assertNotEqual(report.replaced(page, script.stem, "new"), page, script)

    def test_figures_name_their_machine(self):
        found = machine.facts()
        self.assertEqual(set(found["flags"]), set(machine.FLAGS))
        self.assertGreater(found["memory_gib"], 0)
        found["flags"] = {flag: flag == "avx2" for flag in machine.FLAGS}
        first, second = machine.lines(found, {"python": "3", "torch": None})
        self.assertIn(found["cpu"], first)
        self.assertIn("has avx2, not fma", first)
        self.assertEqual(second, "Versions: python 3.")


class Rounds(unittest.TestCase):
    def test_the_order_turns_and_disturbed_runs_are_repeated(self):
        order, loads = [], iter([0.5, 0.0])

        def contestant(name, next_load):
            def once():
                order.append(name)
                return outcome(next_load())
            return once

        results, warnings = rounds.interleaved(
            {"a": contestant("a", lambda: 0.0), "b": contestant("b", lambda: next(loads, 0.0))}, 2, pause_s=0)
        self.assertEqual(order, ["a", "b", "b", "b", "a"])
        self.assertEqual([len(runs) for runs in results.values()], [2, 2])
        self.assertEqual(warnings, [])

    def test_the_least_disturbed_run_is_kept_with_a_warning(self):
        loads = iter([0.9, 0.3, 0.5])
        results, warnings = rounds.interleaved({"a": lambda: outcome(next(loads))}, 1, tries=3, pause_s=0)
        self.assertEqual(results["a"][0].foreign_cores, 0.3)
        self.assertRegex(warnings[0], "a, round 1: other processes used 0.30 cores")

    def test_spread(self):
        self.assertEqual(str(rounds.spread([3.14159, 1, 1234.4])), "3.14 [1-1,234]")

    def setUp(self):
        quiet = mock.patch.object(rounds, "say")
        quiet.start()
        self.addCleanup(quiet.stop)


class Measured(unittest.TestCase):
    def test_the_load_of_others_is_what_is_not_ours(self):
        self.assertAlmostEqual(measured.foreign_cores(100.0, 105.0, 4.0, 2.0), 0.5)
        self.assertEqual(measured.foreign_cores(100.0, 101.0, 4.0, 2.0), 0.0)
        tick = os.sysconf("SC_CLK_TCK")
        self.assertAlmostEqual(measured.busy_seconds("cpu  1 2 3 1000 1000 4 5 6 7 8\ncpu0"), 21 / tick)
        self.assertTrue(outcome(0.1).quiet)
        self.assertFalse(outcome(0.11).quiet)

    def test_a_process_is_measured(self):
        done = measured.run([sys.executable, "-c", "import os; b = bytearray(60 << 20); print(os.environ['OMP_PLACES'])"],
                            measured.pinned({"OMP_PLACES": "sockets"}))
        self.assertEqual(done.output, "sockets\n")
        self.assertGreater(done.peak_rss_mib, 60)
        self.assertLess(done.cpu_s, 10)

    def test_a_failure_ends_the_benchmark_with_its_output(self):
        with self.assertRaisesRegex(SystemExit, "status 3(.|\n)*so it is"):
            measured.run([sys.executable, "-c", "import sys; print('so it is'); sys.exit(3)"])

    def test_all_contestants_are_pinned_alike(self):
        with mock.patch.dict(os.environ, {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "9"}):
            env = measured.pinned()
        self.assertNotIn("OMP_WAIT_POLICY", env)
        self.assertEqual((env["OMP_PROC_BIND"], env["OMP_PLACES"]), ("true", "cores"))
        self.assertEqual(env["OMP_NUM_THREADS"], str(measured.threads()))


class Contest(unittest.TestCase):
    def results(self, **changed):
        losses = {"eager fp32": [8.0, 7.0], "titan fp32": [8.0, 7.0], "eager bf16": [8.004, 7.0], "titan bf16": [8.003, 7.0],
                  "compile-full fp32": [8.0, 7.0], **changed}
        return {name: [run_of(values)] for name, values in losses.items()}

    def test_equal_losses_pass(self):
        worst = contest.worst_differences(self.results())
        self.assertEqual(worst["titan fp32"], 0)
        self.assertAlmostEqual(worst["titan bf16"], 0.001 / 8.004)

    def test_a_wrong_loss_fails_the_benchmark(self):
        for losses in ([8.0, 7.001], [8.0, math.nan], [8.0]):
            with self.assertRaisesRegex(SystemExit, "titan fp32"):
                contest.worst_differences(self.results(**{"titan fp32": losses}))
        with self.assertRaisesRegex(SystemExit, "compile-full fp32: loss 7.01 in step 2"):
            contest.worst_differences(self.results(**{"compile-full fp32": [8.0, 7.01]}))

    def test_float32_is_no_contestant_in_bfloat16(self):
        with self.assertRaisesRegex(SystemExit, "does not compute in bfloat16"):
            contest.worst_differences(self.results(**{"titan bf16": [8.0, 7.0]}))

    def test_one_type_alone(self):
        alone = {name: runs for name, runs in self.results().items() if name.endswith("bf16")}
        self.assertEqual(set(contest.worst_differences(alone)), {"eager bf16", "titan bf16"})
        measured_alone = {name: {"tokens_per_second": [2], "peak_rss_mib": [3], "start_s": [4]} for name in alone}
        self.assertEqual(contest.summary(contest.ratios(measured_alone)), {"tps_bf16": 1, "rss": 1, "start": 1})

    def test_ratios_are_taken_round_by_round_and_against_the_better_way_of_compiling(self):
        def taken(speed, rss, start):
            return {"tokens_per_second": speed, "peak_rss_mib": rss, "start_s": start}
        found = {f"{who} {kind}": taken(*values) for kind in ("fp32", "bf16") for who, values in {
            "titan": ([20, 40], [100, 100 if kind == "fp32" else 300], [1, 1]), "eager": ([10, 10], [200, 200], [4, 4])}.items()}
        found["compile-full fp32"] = taken([10, 20], [1, 1], [1, 1])
        found["compile-block fp32"] = taken([5, 10], [1, 1], [1, 1])
        per_round = contest.ratios(found)
        self.assertEqual(per_round["tps_fp32"], [2, 4])
        self.assertEqual(per_round["tps_fp32_vs_compile"], [2, 2])
        self.assertEqual(contest.summary(per_round), {"tps_fp32": 3, "tps_bf16": 3, "tps_fp32_vs_compile": 2, "rss": 1.0, "start": 0.25})

    def test_figures_leave_the_warm_up_out(self):
        run = run_of([8.0, 7.0, 6.0])
        run.lines[0]["step_seconds"] = 50.0
        made = contest.figures(contest.Contest({}, batch=2, seq_len=10, steps=3, warm_up=1), [run])
        self.assertEqual((made["tokens_per_second"], made["start_s"]), ([20.0], [2.0]))


class Fits(unittest.TestCase):
    def test_a_line(self):
        line = scaling.fit([1, 2, 4], [5.0, 7.0, 11.0])
        self.assertAlmostEqual(line.slope, 2)
        self.assertAlmostEqual(line.intercept, 3)
        self.assertAlmostEqual(line.r2, 1)
        self.assertLess(scaling.fit([1, 2, 3, 4], [1.0, 4.0, 2.0, 3.0]).r2, 0.3)


if __name__ == "__main__":
    unittest.main()
