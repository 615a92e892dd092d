# SPDX-License-Identifier: MIT
"""Rows of the fault matrix: what a run leaves can be read."""
import json
import os
import random
import re
import threading

from faults import DUMP, STALLPROF, Case, main

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

    def test_row_18_ten_thousand_processes_are_seen_or_counted(self):
        storm = "i=0; while [ $i -lt 10000 ]; do (:); i=$((i+1)); done; exit 4"
        words, recording = self.words("sh", "-c", storm)
        done = self.run_words(words)
        self.assertEqual(done.returncode, 4, done.stderr)
        text = self.dump(recording)
        seen = len(set(re.findall(r"^\S+ process process=(\d+) ", text, re.M)))
        lost = sum(map(int, re.findall(r"^\S+ loss kind=(?:perf_lost|short_lived)\b.*\bcount=(\d+)", text, re.M)))
        self.assertGreaterEqual(seen + lost, 9990)

    def test_row_54_a_recording_that_is_cut_and_grows_while_it_is_read(self):
        words, recording = self.words("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done")
        self.assertEqual(self.run_words(words).returncode, 0)
        segment = [os.path.join(recording, n) for n in os.listdir(recording) if n.endswith(".seg")][0]
        with open(segment, "rb") as file:
            whole = file.read()
        over = threading.Event()

        def change():
            with open(segment, "r+b", buffering=0) as file:
                while not over.is_set():
                    file.truncate(random.randrange(len(whole)))
                    file.seek(0)
                    file.write(whole)
        changer = threading.Thread(target=change)
        changer.start()
        try:
            for _ in range(20):
                for command in ([DUMP, recording], [STALLPROF, "report", recording]):
                    done = self.run_words(command)
                    self.assertIn(done.returncode, (0, 1), done.stderr)
        finally:
            over.set()
            changer.join()


if __name__ == "__main__":
    main()
