#!/usr/bin/env python3
"""docs/rules.md explains every rule that a message can quote, and no other."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Docs(unittest.TestCase):
    def test_rules(self):
        numbers = set(map(int, re.findall(r"\bk\w+ = (\d+)", (ROOT / "host/plugins/rules.h").read_text()))) - {0}
        explained = list(map(int, re.findall(r"\*\*T-(\d+)\*\*", (ROOT / "docs/rules.md").read_text())))
        self.assertEqual(sorted(explained), sorted(numbers))
        for file in (ROOT / "host").rglob("*.cpp"):
            for quoted in re.findall(r"\[T-(\d+)\]", file.read_text()):
                self.assertIn(int(quoted), numbers, file)

    def test_links_lead_somewhere(self):
        for page in [*ROOT.glob("docs/*.md"), *ROOT.glob("*.md"), *ROOT.glob("plugins/**/*.md")]:
            for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
                self.assertTrue((page.parent / target).exists(), f"{page}: {target}")


if __name__ == "__main__":
    unittest.main()
