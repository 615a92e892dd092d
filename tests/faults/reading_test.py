# SPDX-License-Identifier: MIT
"""Rows of the fault matrix: what a run leaves can be read."""
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import threading

from faults import DUMP, RECORDING, STALLPROF, Case, main

LARGEST_FRAME = 1 << 20  # src/recording/format/format.h
SYNC, EVENTS = 0xF5A55AF6, 2
MB = 1 << 20
# Of CRC-32C, a byte at a time.
TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def frames(segment):
    """Sequence, type and payload of each frame behind the header of 32 bytes."""
    at, found = 32, []
    while at < len(segment):
        _, length, sequence, kind, _, _ = struct.unpack_from("<6I", segment, at)
        found.append((sequence, kind, segment[at + 24:at + 24 + length]))
        at += 24 + length
    return found


def framed(parts):
    """The same with checksums that hold: what is in them is believed as far as checksums go."""
    out = b""
    for sequence, kind, payload in parts:
        header = struct.pack("<5I", SYNC, len(payload), sequence, kind, crc32c(payload))
        out += header + struct.pack("<I", crc32c(header)) + payload
    return out


def hostile(payload, chance):
    """Numbers that cannot be: ends of their ranges, bytes of others, pieces over and over."""
    changed = bytearray(payload)
    for _ in range(chance.randrange(1, 12)):
        at = chance.randrange(len(changed))
        how = chance.randrange(4)
        if how == 0:
            changed[at] = chance.randrange(256)
        elif how == 1:
            changed[at:at + 1] = chance.choice([b"\xff" * 9 + b"\x01", b"\xfe" * 9 + b"\x01", b"\x80" * 9 + b"\x01"])
        elif how == 2:
            del changed[at:at + chance.randrange(1, 9)]
        else:
            piece = changed[at:at + chance.randrange(1, 400)]
            changed[at:at] = piece * chance.randrange(1, 20)
        if not changed:
            changed = bytearray(b"\0")
    return bytes(changed[:LARGEST_FRAME])


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

    def test_row_53_hostile_numbers_cost_no_more_than_64_MB_and_four_times_the_file(self):
        script = "import threading\nfor i in range(20): threading.Thread(target=sum, args=(range(10**6),)).start()"
        words, recording = self.words(sys.executable, "-c", script)
        self.assertEqual(self.run_words(words).returncode, 0)
        name = next(n for n in os.listdir(recording) if n.endswith(".seg"))
        with open(os.path.join(recording, name), "rb") as file:
            segment = file.read()
        parts, chance = frames(segment), random.Random(53)
        self.assertEqual(framed(parts), segment[32:])
        copy = self.path("hostile.stallprof")
        shutil.copytree(recording, copy)
        forms = ["text", "json", "md", "html"]
        for attempt in range(24):
            bad = [(n, kind, hostile(payload, chance) if kind == EVENTS and chance.random() < 0.7 else payload)
                   for n, kind, payload in parts]
            with open(os.path.join(copy, name), "wb") as file:
                size = file.write(segment[:32] + framed(bad))
            command = [STALLPROF, "report", copy, "--format", forms[attempt % 4]]
            if attempt % 6 == 5:
                command = [STALLPROF, "export", copy, "-f", "chrome", "--force", "-o", self.path("trace.json")]
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = status
            self.assertIn(os.WEXITSTATUS(status) if os.WIFEXITED(status) else -status, (0, 1), attempt)
            self.assertLess(used.ru_maxrss * 1024, 64 * MB + 4 * size, attempt)

    def test_row_73_a_pipe_or_link_in_the_place_of_a_file_is_not_opened(self):
        secret = self.path("secret")
        with open(secret, "w") as file:
            file.write('{"schema": "stallprof.trials/1", "notes": ["a secret"]}')
        for name, said in (("manifest.json", b""), ("events-000001.seg", b"1 missing segment"),
                           ("trials/outcome.json", b"The results of its trials are not shown")):
            for way in (os.mkfifo, lambda path: os.symlink(secret, path)):
                copy = self.path("%d.stallprof" % next(self.numbers))
                shutil.copytree(RECORDING, copy)
                path = os.path.join(copy, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                if os.path.exists(path):
                    os.unlink(path)
                way(path)
                done = self.run_words([STALLPROF, "report", copy])
                self.assertEqual((done.returncode, done.stderr), (0, b""), name)
                self.assertIn(said, done.stdout, name)
                self.assertNotIn(b"a secret", done.stdout, name)

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
