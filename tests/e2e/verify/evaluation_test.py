# SPDX-License-Identifier: MIT
"""Of a real training, whose evaluation starts workers each time, the report advises the line that makes them."""
import os
import unittest

from trials import PYTHON, Training

TRAIN = """\
import torch
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.rand(2000, 64), torch.zeros(2000, dtype=torch.long))
few = TensorDataset(*data[:128])
def main():
    train = DataLoader(data, batch_size=40, shuffle=True)
    valid = DataLoader(few, batch_size=64, num_workers=2)
    model = torch.nn.Linear(64, 8)
    rule = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(16):
        model.train()
        for x, y in train:
            rule.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            rule.step()
        model.eval()
        with torch.no_grad():
            sum((model(x).argmax(1) == y).sum().item() for x, y in valid)
main()
"""


class Evaluation(Training):
    def findings(self, text):
        with open(os.path.join(self.work, "train.py"), "w", encoding="utf-8") as file:
            file.write(text)
        self.stallprof("run", "--report", "none", "-o", self.recording, "--", PYTHON, "train.py")
        return {finding["id"]: finding for finding in self.report()["findings"]}

    def test_workers_of_a_loader_of_its_own_go_on_from_evaluation_to_evaluation(self):
        evaluation = self.findings(TRAIN)["periodic.evaluation"]
        self.assertEqual(evaluation["where"]["line"], 7)
        advice = {each["id"]: each for each in evaluation["advice"]}["persistent_evaluation"]
        self.assertGreater(advice["predicted"]["speedup"], 1.05)
        self.assertEqual(advice["verify_command"],
                         "stallprof verify --fix persistent_evaluation " + self.recording)

    def test_where_one_line_makes_both_loaders_its_setting_is_of_both(self):
        findings = self.findings(TRAIN.replace("""\
    train = DataLoader(data, batch_size=40, shuffle=True)
    valid = DataLoader(few, batch_size=64, num_workers=2)
""", """\
    train, valid = [
        DataLoader(part, batch_size=40, num_workers=2) for part in (data, few)]
"""))
        started = findings["load.worker_startup"]
        self.assertEqual(started["where"]["line"], 7)
        self.assertIn("for evaluation, whose loader the same line makes",
                      " ".join(each["text"] for each in started["evidence"]))
        for advice in findings.get("periodic.evaluation", {"advice": []})["advice"]:
            self.assertNotEqual(advice["id"], "persistent_evaluation")


if __name__ == "__main__":
    unittest.main(verbosity=2)
