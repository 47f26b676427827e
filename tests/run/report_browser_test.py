#!/usr/bin/env python3
"""A real browser draws the report: curves of both colour schemes' colours, and no request leaves the page.

Usage: report_browser_test.py TITAN_PROGRAM CHROMIUM
"""
import struct
import subprocess
import sys
import unittest
import zlib
from pathlib import Path

import titan_run

CHROMIUM = None


def pixels_of(png):
    """Rows of (red, green, blue); the picture must be 8-bit RGB or RGBA without interlacing."""
    data, at, packed = png.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and colour in (2, 6) and not interlaced
        packed += body if kind == b"IDAT" else b""
        at += size + 12
    raw, step = zlib.decompress(packed), 3 if colour == 2 else 4
    stride, before, rows = width * step, bytearray(width * step), []
    for y in range(height):
        line = raw[y * (stride + 1):(y + 1) * (stride + 1)]
        now = bytearray(line[1:])
        for i in range(stride):  # the filters of PNG, section 9 of its specification
            left = now[i - step] if i >= step else 0
            up, corner = before[i], before[i - step] if i >= step else 0
            if line[0] == 1:
                add = left
            elif line[0] == 2:
                add = up
            elif line[0] == 3:
                add = (left + up) // 2
            elif line[0] == 4:
                guess = left + up - corner
                add = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            else:
                add = 0
            now[i] = (now[i] + add) & 255
        rows.append([tuple(now[i:i + 3]) for i in range(0, stride, step)])
        before = now
    return rows


class Browser(unittest.TestCase):
    def screenshot(self, page, name, *options):
        target = page.parent / name
        subprocess.run([CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=900,1100",
                        f"--user-data-dir={page.parent / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND",
                        f"--screenshot={target}", *options, page.as_uri()], check=True, capture_output=True, timeout=240)
        return pixels_of(target)

    def test_two_runs_by_day_and_by_night(self):
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        titan_run.train(folder, "--training.steps=8")
        titan_run.train(folder, "--training.steps=8", "--optimizer.lr=0.01", f"--job.dump_folder={folder.path / 'other'}")
        page = folder.path / "both.html"
        done = titan_run.run("report", folder.out, folder.path / "other", "-o", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, options, ground, lines in (
                ("day.png", (), (255, 255, 255), ((0x00, 0x72, 0xb2), (0xd5, 0x5e, 0x00))),
                ("night.png", ("--force-dark-mode",), (0x16, 0x16, 0x16),
                 ((0x56, 0xb4, 0xe9), (0xff, 0x9a, 0x4d)))):
            rows = self.screenshot(page, name, *options)
            counts = {}
            for row in rows:
                for pixel in row:
                    counts[pixel] = counts.get(pixel, 0) + 1
            self.assertGreater(counts.get(ground, 0), len(rows) * len(rows[0]) / 2, name)
            for line in lines:
                near = sum(count for pixel, count in counts.items() if max(abs(a - b) for a, b in zip(pixel, line)) < 24)
                self.assertGreater(near, 200, (name, line))


if __name__ == "__main__":
    titan_run.PROGRAM, CHROMIUM = Path(sys.argv[1]), sys.argv[2]
    unittest.main(argv=sys.argv[:1])
