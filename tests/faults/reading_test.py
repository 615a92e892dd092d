# SPDX-License-Identifier: MIT
"""Rows of the fault matrix: what a run leaves can be read."""
import json

from faults import STALLPROF, Case, main

LARGEST_FRAME = 1 << 20  # src/recording/format/format.h


class Reading(Case):
    def test_row_57_a_command_line_over_1_MiB_is_recorded_and_read(self):
        """`infer.py *.jpg`."""
        files = ["%s/%05d.jpg" % ("x" * 64, i) for i in range(20000)]
        self.assertGreater(sum(map(len, files)), LARGEST_FRAME)
        words, recording = self.words("sh", "-c", "exit 4", *files)
        self.assertEqual(self.run_words(words).returncode, 4)
        self.assertIn("exit_code=4", self.events(recording, "command_end")[0])
        shown = self.run_words([STALLPROF, "report", recording, "--format", "json"])
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertNotIn(b"damaged", shown.stdout)
        with open(recording + "/manifest.json") as manifest:
            written = json.load(manifest)
        self.assertEqual(written["command"][:4], ["sh", "-c", "exit 4", files[0]])
        self.assertEqual(len(written["command"]) + written["command_words_left_out"], 3 + len(files))


if __name__ == "__main__":
    main()
