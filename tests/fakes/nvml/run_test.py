# SPDX-License-Identifier: MIT
"""A run beside the fake monitoring library, as a user would start it."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.environ["STALLPROF_LAUNCH_TESTS"])
from harness import PATIENCE, STALLPROF, Case, main  # noqa: E402

LIBRARY = os.environ["STALLPROF_FAKE_NVML_LIBRARY"]
HOPPER = """device GPU-a NVIDIA H100 80GB HBM3
value gpu 75
value memory 40
value used 1073741824
value total 85520809984
value clock 1755
gpm 2 88
"""


class Nvml(Case):
    def environment(self, script):
        with open(self.path("script"), "w") as out:
            out.write(script)
        return dict(os.environ, STALLPROF_FAKE_NVML=self.path("script"),
                    STALLPROF_NVML_LIBRARY=LIBRARY)

    def test_a_run_records_the_gpu(self):
        words, recording = self.words("sh", "-c", "sleep 2.5; exit 4")
        done = self.run_words(words, env=self.environment(HOPPER))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(len(self.events(recording, "device")), 1)
        self.assertIn('device="GPU-a"', self.events(recording, "device")[0])
        samples = self.events(recording, "device_usage")
        self.assertGreater(len(samples), 2)
        self.assertTrue(any("busy=750" in sample for sample in samples), samples)
        self.assertTrue(any("sm_active=880" in sample for sample in samples), samples)
        sources = "\n".join(self.events(recording, "source"))
        self.assertRegex(sources, 'source="nvml" state=full')
        self.assertRegex(sources, 'source="gpm" state=full')

    def test_a_driver_that_hangs_changes_nothing_of_the_run(self):
        words, recording = self.words("sh", "-c", "sleep 1.5; exit 4")
        # Whoever waited for the driver would be here after the harness's patience.
        script = HOPPER + "hang nvmlDeviceGetUUID %d\n" % (3 * PATIENCE)
        done = self.run_words(words, env=self.environment(script))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(b"the command ended with 4", done.stderr)
        self.assertNotIn(b"warning", done.stderr)
        self.assertTrue(self.events(recording, "slice"))
        self.assertEqual(len(self.events(recording, "command_end")), 1)
        self.assertFalse(self.events(recording, "device"))

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "there is a GPU here")
    def test_without_a_driver_nothing_is_reported(self):
        words, recording = self.words("sh", "-c", "sleep 1.5")
        done = self.run_words(words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn('source="nvml"', "\n".join(self.events(recording, "source")))

    def doctor(self, script):
        done = subprocess.run([STALLPROF, "doctor"], stdout=subprocess.PIPE,
                              env=self.environment(script), timeout=PATIENCE)
        self.assertEqual(done.returncode, 0)
        return done.stdout.decode()

    def test_doctor_says_what_a_gpu_would_show(self):
        text = self.doctor(HOPPER)
        self.assertRegex(text, r"nvml +full +1 device, driver 580")
        self.assertRegex(text, r"gpm +full")
        self.assertRegex(text, r"agent +\w+ +\S")

    def test_doctor_says_why_not(self):
        text = self.doctor("code nvmlInit_v2 18\n")
        self.assertRegex(text, r"nvml +absent +the driver and libnvidia-ml are of different versions")


if __name__ == "__main__":
    main()
