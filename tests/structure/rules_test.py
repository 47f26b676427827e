#!/usr/bin/env python3
"""Checks the rules themselves: each violation, put into a small tree, is found, and nothing else is."""
import subprocess
import tempfile
import unittest
from pathlib import Path

import rules

GOOD = {
    "host/CMakeLists.txt": "foreach(room base data model plugins converters)\nendforeach()\n",
    "host/base/error.h": "#include <string>\n",
    "host/model/module.cpp": '#include "model/module.h"\n#include "base/error.h"\n'
                             "#include <ATen/core/TensorBody.h>\n",
    "host/converters/c_call.h": '#include "titan/call.h"\n#include "plugins/judge.h"\n',
    "sdk/include/titan/torch.hpp": '#include <torch/csrc/stable/tensor.h>\n#include "cpp/model.hpp"\n',
    "plugins/float8/scale.cpp": '#include <titan/titan_sdk.hpp>\n#include "scale.h"\n',
    "tests/model/module_test.cpp": '#include "model/module.h"\n',
    "README.md": "See https://example.org/docs/home/x and build/home/file.\n",
    "weights.bin": "\0/home" + "/someone/",
}


class Tree(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        for name, content in GOOD.items():
            self.write(name, content)

    def write(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def found(self, rule):
        return list(rules.RULES[rule](self.root))

    def expect_one(self, rule, name, content, start, part):
        self.write(name, content)
        findings = self.found(rule)
        self.assertEqual(len(findings), 1, findings)
        self.assertTrue(findings[0].startswith(start), findings[0])
        self.assertIn(part, findings[0])

    def test_a_good_tree_is_clean(self):
        for rule in rules.RULES:
            self.assertEqual(self.found(rule), [])

    def test_a_room_below_is_refused(self):
        self.expect_one("include_order", "host/model/x.cpp", '\n#include "converters/apply.h"\n',
                        "host/model/x.cpp:2:", "model comes before room converters")

    def test_spaces_and_angles_do_not_hide_it(self):
        self.expect_one("include_order", "host/base/x.h", "  #  include <model/module.h>\n",
                        "host/base/x.h:1:", "base comes before room model")

    def test_torch_in_a_torch_free_room_is_refused(self):
        self.expect_one("include_order", "host/data/x.cpp", "#include <c10/util/Half.h>\n",
                        "host/data/x.cpp:1:", "free of LibTorch")

    def test_a_header_without_its_room_is_refused(self):
        self.expect_one("include_order", "host/base/x.cpp", '#include "error.h"\n',
                        "host/base/x.cpp:1:", "room/file.h")

    def test_an_unknown_room_is_refused(self):
        self.expect_one("include_order", "host/attic/x.cpp", "", "host/attic/x.cpp:1:", "attic")

    def test_the_sdk_does_not_see_the_host(self):
        self.expect_one("include_order", "sdk/include/titan/x.h", '#include "base/error.h"\n',
                        "sdk/include/titan/x.h:1:", "without host/")

    def test_a_plugin_does_not_see_the_host(self):
        self.expect_one("include_order", "plugins/float8/x.cpp", '#include "converters/apply.h"\n',
                        "plugins/float8/x.cpp:1:", "without host/")

    def test_a_plugin_sees_only_stable_torch(self):
        self.expect_one("include_order", "plugins/float8/x.cu", "#include <ATen/core/TensorBody.h>\n",
                        "plugins/float8/x.cu:1:", "stable headers")

    def test_the_umbrella_header_is_refused_everywhere(self):
        self.expect_one("include_order", "tests/x.cpp", "#include <torch/torch.h>\n",
                        "tests/x.cpp:1:", "seconds per file")

    def test_the_longest_file_passes_and_one_more_line_does_not(self):
        self.write("host/base/x.cpp", "//\n" * rules.LONGEST)
        self.assertEqual(self.found("file_length"), [])
        self.expect_one("file_length", "host/base/x.cpp", "//\n" * (rules.LONGEST + 1),
                        "host/base/x.cpp:", "401 lines")

    def test_a_machine_path_is_found(self):
        self.expect_one("text", "docs/x.md", "fine\nlook at /home" + "/someone/titan\n",
                        "docs/x.md:2:", "one machine")

    def test_work_left_for_later_is_found(self):
        self.expect_one("text", "host/base/x.h", "// TO" + "DO: later\n", "host/base/x.h:1:", "later")

    def test_ignored_files_are_not_looked_at(self):
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        self.write(".gitignore", "/notes/\n")
        self.write("notes/x.h", "// TO" + "DO: later\n")
        self.assertEqual(self.found("text"), [])
        self.expect_one("text", "new.h", "// FIX" + "ME\n", "new.h:1:", "later")


if __name__ == "__main__":
    unittest.main()
