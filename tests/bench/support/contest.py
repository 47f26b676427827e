"""titan against the Python trainer: the same model, weights, tokens and threads, in turns; speed, memory, start.

The losses of all contestants are compared step by step: a fast trainer that computes something else is no contestant.
"""
import argparse
import contextlib
import dataclasses
import json
import statistics
import tempfile
from pathlib import Path

from support import debug_run, peer, report, rounds

# A relative difference of the loss in any step. In float32 only the order of sums differs between contestants, in
# bfloat16 also where values are rounded. How far bfloat16 lies from float32 is a few times the second.
TOLERANCE = {"fp32": 2e-5, "bf16": 1e-3}
PEER_TYPE = {"fp32": "fp32", "bf16": "bf16-autocast"}
TITAN_TYPE = {"fp32": "float32", "bf16": "bfloat16"}
OPTIMIZER = {"lr": 8e-4, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.1}
ROPE_SCALING = {"scaling_factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192}
LR_WARM_UP = 2  # steps of the schedule


@dataclasses.dataclass
class Contest:
    """What is trained. `sizes` are fields that torchtitan's and titan's model arguments share.

    `warm_up`: steps at the start that are not counted; `types`: "fp32" and "bf16" or one of them; `compiled`: the ways of
    torch.compile that compete.
    """
    sizes: dict
    batch: int
    seq_len: int
    steps: int
    warm_up: int
    types: tuple = ("fp32", "bf16")
    compiled: tuple = ()

    def tokens_per_step(self):
        return self.batch * self.seq_len


def types_of(words):
    """The value of --types: "fp32,bf16" or one of them."""
    types = tuple(words.split(","))
    unknown = [word for word in types if word not in TITAN_TYPE]
    if unknown or len(set(types)) != len(types):
        raise argparse.ArgumentTypeError(f"{words!r} is not fp32, bf16 or fp32,bf16")
    return types


def parser(text, number_of_rounds, steps):
    """report.parser's options and --types."""
    made = report.parser(text, number_of_rounds, steps)
    made.add_argument("--types", type=types_of, default=("fp32", "bf16"),
                      help="fp32 or bf16 alone (both): without bfloat16 in hardware PyTorch takes minutes for large models")
    return made


@contextlib.contextmanager
def files(contest):
    """A folder with tokens.bin (the novel's bytes, uint16), titan's config and weights.safetensors of the peer's seed 0."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = (debug_run.ROOT / ".titan/data/pride_and_prejudice.txt").read_bytes()
        tokens = bytearray(2 * len(text))
        tokens[::2] = text
        (folder / "tokens.bin").write_bytes(tokens)
        (folder / "config.yaml").write_text(json.dumps(titan_config(contest, folder)))  # JSON is YAML
        rounds.say("drawing the weights that all contestants start from")
        peer.run([*peer_model(contest), "--init-seed", 0, "--save-weights", folder / "weights.safetensors", "--steps", 0])
        yield folder


def peer_model(contest):
    """The peer's options for the model."""
    config = {**contest.sizes, "rope_scaling_args": ROPE_SCALING}
    return ["--flavor", "custom", "--config", json.dumps(config), "--seq-len", contest.seq_len,
            "--batch-size", contest.batch]


def titan_config(contest, folder):
    """The same run as titan's config."""
    scaling = {f"rope_{name}": value for name, value in ROPE_SCALING.items() if name != "scaling_factor"}
    return {"model": {"name": "llama3", "flavor": "debugmodel",
                      "args": {**contest.sizes, **scaling, "rope_scaling_factor": ROPE_SCALING["scaling_factor"]}},
            "training": {"dataset": "tokens", "dataset_path": str(folder / "tokens.bin"), "token_dtype": "uint16",
                         "local_batch_size": contest.batch, "seq_len": contest.seq_len, "max_norm": 1.0, "device": "cpu"},
            "optimizer": OPTIMIZER, "lr_scheduler": {"warmup_steps": LR_WARM_UP},
            "checkpoint": {"initial_load_path": str(folder / "weights.safetensors")}}


def contestants(contest, folder):
    """{name: function that runs it once}; a name is "who type"."""
    made = {}
    for kind in contest.types:
        words = [f"--training.mixed_precision_param={TITAN_TYPE[kind]}"]
        made[f"titan {kind}"] = lambda words=words: debug_run.run(contest.steps, words, str(folder / "config.yaml"))
        common = [*peer_model(contest), "--weights", folder / "weights.safetensors", "--tokens", folder / "tokens.bin",
                  "--steps", contest.steps, "--warmup-steps", LR_WARM_UP, "--dtype", PEER_TYPE[kind]]
        made[f"eager {kind}"] = lambda common=common: peer.run(common)
        for way in contest.compiled:
            made[f"compile-{way} {kind}"] = lambda common=common, way=way: peer.run([*common, "--compile", way],
                                                                                     jemalloc=True)
    return made


def worst_differences(results):
    """{name: largest relative difference of a loss from that of eager Python in the same type}. Ends the benchmark
    where one is too large, and, where both types ran, if titan's first loss in bfloat16 is not nearer to eager's than to float32's."""
    worst = {}
    for name, runs in results.items():
        kind = name.split()[1]
        want = [line["loss"] for line in results[f"eager {kind}"][0].lines]
        for run in runs:
            losses = [line["loss"] for line in run.lines]
            if len(losses) != len(want):
                raise SystemExit(f"{name}: {len(losses)} steps in its output, {len(want)} in that of eager {kind}")
            # `not <=`, so that a NaN counts as wrong.
            differences = [abs(a - b) / abs(b) for a, b in zip(losses, want)]
            for step, difference in enumerate(differences, 1):
                if not difference <= TOLERANCE[kind]:
                    raise SystemExit(f"{name}: loss {losses[step - 1]:.9g} in step {step}, eager {kind} has "
                                     f"{want[step - 1]:.9g}: {difference:.1e} apart, more than {TOLERANCE[kind]:.0e}")
            worst[name] = max(worst.get(name, 0.0), *differences)
    first = {kind: results[f"eager {kind}"][0].lines[0]["loss"] for kind in TITAN_TYPE if f"eager {kind}" in results}
    for run in results["titan bf16"] if len(first) == 2 else []:
        loss = run.lines[0]["loss"]
        if abs(loss - first["bf16"]) >= abs(loss - first["fp32"]):
            raise SystemExit(f"titan bf16: first loss {loss:.9g} is nearer to float32's {first['fp32']:.9g} than to "
                             f"bfloat16's {first['bf16']:.9g}: it does not compute in bfloat16")
    return worst


def figures(contest, runs):
    """Tokens a second, MiB and seconds, one of each a round."""
    return {"tokens_per_second": [contest.tokens_per_step() / statistics.median(run.step_seconds(contest.warm_up))
                                  for run in runs],
            "peak_rss_mib": [run.outcome.peak_rss_mib for run in runs], "start_s": [run.start_s() for run in runs],
            "foreign_cores": [run.outcome.foreign_cores for run in runs]}


def ratios(measured):
    """{name: ratios round by round}: tokens/s, memory and start of titan over those of eager and of the better compile."""
    def over(figure, one, other):
        return [a / b for a, b in zip(measured[one][figure], measured[other][figure])]

    found = {}
    for kind in (name.split()[1] for name in measured if name.startswith("titan ")):
        found[f"tps_{kind}"] = over("tokens_per_second", f"titan {kind}", f"eager {kind}")
        found[f"rss_{kind}"] = over("peak_rss_mib", f"titan {kind}", f"eager {kind}")
        found[f"start_{kind}"] = over("start_s", f"titan {kind}", f"eager {kind}")
        ways = [name for name in measured if name.startswith("compile-") and name.endswith(" " + kind)]
        if ways:
            best = max(ways, key=lambda name: statistics.median(measured[name]["tokens_per_second"]))
            found[f"tps_{kind}_vs_compile"] = over("tokens_per_second", f"titan {kind}", best)
    return found


def summary(per_round):
    """The medians; of memory and start the worse of the types that ran."""
    middle = {name: statistics.median(values) for name, values in per_round.items()}
    told = {name: value for name, value in middle.items() if name.startswith("tps_")}
    for name in ("rss", "start"):
        told[name] = max(value for key, value in middle.items() if key.startswith(name + "_"))
    return told


def main(benchmark, about, contest, options):
    """Runs the contest as the options say and reports it."""
    if contest.steps <= contest.warm_up:
        raise SystemExit(f"--steps must be more than the {contest.warm_up} of warming up, and is {contest.steps}")
    with files(contest) as folder:
        results, warnings = rounds.interleaved(contestants(contest, folder), options.rounds)
    worst = worst_differences(results)
    measured = {name: figures(contest, runs) for name, runs in results.items()}
    per_round = ratios(measured)
    spreads = {name: rounds.spread(values) for name, values in per_round.items()}
    rows = [[name, *(rounds.spread(measured[name][figure]) for figure in ("tokens_per_second", "peak_rss_mib", "start_s")),
             f"{worst[name]:.1e}"] for name in measured]
    text = "\n\n".join([
        about, report.table(["contestant", "tokens/s", "peak RSS in MiB", "start to end of step 1 in s", "loss apart"], rows),
        report.table(["titan / peer", "ratio"], [[name, value] for name, value in spreads.items()]),
        f"{options.rounds} rounds of {contest.steps} steps, {contest.warm_up} of them not counted; median [least-largest]."])
    data = {"ratios": summary(per_round), "rounds": options.rounds, "steps": contest.steps,
            "ratio_spread": {name: dataclasses.asdict(value) for name, value in spreads.items()},
            "contestants": measured, "loss_difference": worst}
    report.finish(options, benchmark, text, data, peer.versions(), warnings)
