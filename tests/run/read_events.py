"""Prints what TensorBoard's own reader finds in the event files of one run, as JSON. Needs its wheel.

Usage: read_events.py FOLDER
"""
import json
import sys

from tensorboard.backend.event_processing import event_accumulator


def main(folder):
    reader = event_accumulator.EventAccumulator(
        folder, size_guidance=event_accumulator.STORE_EVERYTHING_SIZE_GUIDANCE).Reload()
    tags = reader.Tags()
    scalars = {tag: [[event.step, event.value] for event in reader.Scalars(tag)] for tag in tags["scalars"]}
    texts = {}
    for tag in tags["tensors"]:
        if reader.SummaryMetadata(tag).plugin_data.plugin_name == "text":
            texts[tag] = [[event.step, event.tensor_proto.string_val[0].decode()] for event in reader.Tensors(tag)]
    print(json.dumps({"scalars": scalars, "texts": texts, "version": reader.file_version}))


if __name__ == "__main__":
    main(sys.argv[1])
