# SPDX-License-Identifier: MIT
"""The public example programs that scripts/validate_public runs: where each comes from, its own options, the
data that it reads, what is timed in it, and what is known of it."""

import dataclasses
import re
import typing

import public_data


@dataclasses.dataclass
class Program:
    name: str                  # as the page has it
    repository: str            # owner/name
    commit: str                # at which it was tried
    folder: str                # where in its checkout it is run
    command: list              # `python` stands for an interpreter that has `needs`
    kind: str                  # what it trains
    cause: set                 # ids of findings that are right as the first
    place: str                 # pattern of where that finding points; empty: nowhere
    why: str                   # how its cause is known
    needs: tuple = ()          # modules
    data: typing.Callable = None    # makes its data, given the folder where it is run
    rules: list = dataclasses.field(default_factory=list)   # of source_probe.py
    printed: typing.Callable = None      # a native program's own times: what it prints, seconds -> truth
    traced: dict = None                  # of a native program: phase -> functions, whose share perf measures
    without: list = None       # options that remove the cause: the gain is measured
    environment: dict = dataclasses.field(default_factory=dict)
    note: str = ""             # why it misses


def of_whole(steps, **share):
    share["compute"] = 1 - sum(share.values())
    return {"steps": steps, "share": share, "loop_share": share}


def llm_c(text, seconds):
    """It prints how long each step took, reading its batch included; the rest is validation and sampling."""
    steps = [float(ms) / 1000 for ms in re.findall(r"took ([\d.]+) ms", text)]
    return of_whole(len(steps), periodic=1 - sum(steps) / seconds)


def rule(file, text, phase, of=""):
    return {"file": file, "text": text, "as": phase, "of": of}


def trained(file, *rest):
    """A loop over a loader in train(), its steps, and what else is timed."""
    return [rule(file, "optimizer.step()", "step"), *[rule(file, *r) for r in rest]]


TORCH = ("torch", "torchvision")

PROGRAMS = [
    Program(
        "mnist", "pytorch/examples", "77f55b9", "mnist", ["python", "main.py", "--epochs", "1"], "images",
        {"transform.in_process"}, r"main\.py:\d+", "digits are decoded one by one between steps", TORCH,
        lambda here: public_data.mnist(here.parent / "data"),
        trained("main.py", ("for batch_idx, (data, target)", "data"), ("test(model, device", "periodic"))),
    Program(
        "imagenet", "pytorch/examples", "77f55b9", "imagenet",
        ["python", "main.py", "-a", "squeezenet1_1", "-b", "32", "-j", "1", "--epochs", "2", "photographs"], "images",
        {"compute.cpu_bound"}, "", "its own Data meter: 0.7 % of the time, on a quiet host", TORCH,
        lambda here: public_data.images(here / "photographs", 800, 100),
        trained("main.py", ("for i, (images, target)", "data", "train"), ("acc1 = validate(", "periodic"),
                ("save_checkpoint(", "periodic"))),
    Program(
        "dcgan", "pytorch/examples", "77f55b9", "dcgan",
        ["python", "main.py", "--dataset", "fake", "--niter", "8", "--ngf", "8", "--ndf", "8", "--workers", "1"], "GAN",
        {"compute.cpu_bound", "transform.cpu_saturated", "compute.contention"}, "", "two networks on the CPU (with one epoch, of 16 steps, it missed at e724c26: data 1.5 %, by the probe 10.7 %)", TORCH, None,
        [rule("main.py", "for i, data in", "data"), rule("main.py", "optimizerG.step()", "step"),
         rule("main.py", "if i % 100 == 0", "periodic"), rule("main.py", "torch.save", "periodic")]),
    Program(
        "word_language_model", "pytorch/examples", "77f55b9", "word_language_model",
        ["python", "main.py", "--epochs", "3", "--emsize", "64", "--nhid", "64", "--data", "words"], "text",
        {"compute.cpu_bound"}, "", "batches are views of a tensor; its update is by hand", ("torch",),
        lambda here: public_data.wikitext(here / "words"),
        [rule("main.py", "data, targets = get_batch(train_data", "data"),
         rule("main.py", "total_loss += loss.item()", "step"), rule("main.py", "val_loss = evaluate", "periodic"),
         rule("main.py", "with open(args.save, 'wb')", "periodic")]),
    Program(
        "reinforce", "pytorch/examples", "77f55b9", "reinforcement_learning", ["python", "reinforce.py"], "RL",
        {"compute.python_overhead", "compute.small_ops"}, r"reinforce\.py:\d+", "a network of 4 x 128 x 2, one state at a time",
        ("torch", "gymnasium"), None,
        [rule("reinforce.py", "optimizer.step()", "step"), rule("reinforce.py", "state, reward, ", "data"),
         rule("reinforce.py", "state, _ = env.reset", "data")]),
    Program(
        "gat", "pytorch/examples", "77f55b9", "gat", ["python", "main.py", "--epochs", "25", "--num-heads", "2", "--hidden-dim", "16"], "graph",
        {"periodic.evaluation"}, r"main\.py:\d+", "two evaluations of the whole graph after each step", ("torch", "requests"),
        lambda here: public_data.cora(here / "cora"),
        [rule("main.py", "optimizer.step()", "step"), rule("main.py", "loss_train, acc_train = test", "periodic"),
         rule("main.py", "loss_val, acc_val = test", "periodic")]),
    Program(
        "nanoGPT", "karpathy/nanoGPT", "3adf61e", "",
        ["python", "train.py", "config/train_shakespeare_char.py", "--device=cpu", "--compile=False", "--eval_iters=20",
         "--eval_interval=50", "--log_interval=1", "--block_size=64", "--batch_size=12", "--n_layer=4", "--n_head=4",
         "--n_embd=128", "--max_iters=300", "--dropout=0.0"], "text",
        {"periodic.evaluation"}, r"train\.py:\d+", "--eval_interval", ("torch",),
        lambda here: public_data.characters(here / "data/shakespeare_char"),
        [rule("train.py", "scaler.step(optimizer)", "step"), rule("train.py", "losses = estimate_loss()", "periodic"),
         rule("train.py", "torch.save(checkpoint", "periodic"), rule("train.py", "X, Y = get_batch('train')", "data")],
        without=["--eval_interval=100000"]),
    Program(
        "ppo", "vwxyzjn/cleanrl", "fe8d8a0", "cleanrl", ["python", "ppo.py", "--total-timesteps", "80000"], "RL",
        {"compute.python_overhead", "compute.small_ops"}, r"ppo\.py:\d+",
        "a network of 64 units, four states at a time", ("torch", "gymnasium", "tyro", "tensorboard"), None,
        [rule("ppo.py", "optimizer.step()", "step"), rule("ppo.py", "next_obs, reward, ", "data"),
         rule("ppo.py", "writer.add_scalar", "periodic")]),
    Program(
        "autoencoder", "Lightning-AI/pytorch-lightning", "7f0c343", "examples/pytorch/basics",
        ["python", "autoencoder.py", "--trainer.max_epochs=1", "--trainer.accelerator=cpu"], "images",
        {"transform.in_process", "compute.python_overhead", "compute.small_ops"}, r"[\w.]+:\d+",
        "digits decoded one by one; layers of 64 units under a framework: batches of 256, not 32, remove that (small "
        "operators were not allowed at e724c26, where they were first)", ("torch", "lightning", "torchvision", "jsonargparse"),
        lambda here: (public_data.mnist(here / "data", 60_000), public_data.mnist(here.parent.parent / "Datasets", 60_000)),
        [rule("loops/training_epoch_loop.py", "batch, _, __ = next(data_fetcher)", "data", "advance"),
         rule("loops/training_epoch_loop.py", "self.batch_progress.increment_completed()", "step", "advance"),
         rule("loops/training_epoch_loop.py", "self.val_loop.run()", "periodic"),
         rule("loops/fit_loop.py", "call._call_callback_hooks(trainer, \"on_train_epoch_end\"", "periodic")],
        without=["--data.batch_size=256"]),
    Program(
        "chargpt", "karpathy/minGPT", "37baab7", "projects/chargpt",
        ["python", "chargpt.py", "--trainer.max_iters=400", "--trainer.num_workers=0", "--model.model_type=gpt-nano",
         "--data.block_size=64", "--trainer.device=cpu"], "text", {"compute.cpu_bound", "periodic.evaluation"}, "",
        "a sample of 500 letters after the first step and after 500", ("torch",),
        lambda here: public_data.letters(here),
        [rule("mingpt/trainer.py", "batch = next(data_iter)", "data"), rule("mingpt/trainer.py", "self.optimizer.step()", "step"),
         rule("chargpt.py", "if trainer.iter_num % 500 == 0", "periodic")],
        environment={"PYTHONPATH": "../.."}, without=["--trainer.batch_size=256", "--trainer.max_iters=100"],
        note="up to e724c26 `compute.small_ops` came first, with high confidence, and was wrong: the same letters in a "
             "quarter of the steps, four times as large, take as long"),
    Program(
        "higgs_numpy", "dmlc/xgboost", "379b29f", "demo/kaggle-higgs", ["python", "higgs-numpy.py"], "boosting",
        {"compute.cpu_bound", "periodic.evaluation"}, "", "rounds of trees, each evaluated on the training data", ("numpy", "xgboost"),
        lambda here: public_data.higgs(here / "data"),
        [rule("xgboost/training.py", "bst.update(dtrain", "step", "train"),
         rule("xgboost/training.py", "if cb_container.after_iteration", "periodic", "train")]),
    Program(
        "fasttext", "facebookresearch/fastText", "1142dc4", "",
        ["fasttext", "supervised", "-input", "train.txt", "-output", "model", "-thread", "2", "-epoch", "25", "-dim", "50"], "text, C++",
        {"transform.in_process", "compute.cpu_bound"}, "", "reading and hashing words, and vectors of 50", (),
        public_data.labelled, traced={"data": ("Dictionary::getLine", "Dictionary::readFromFile")},
        note="perf counts as compute all that is not below the reading of lines"),
    Program(
        "llm.c", "karpathy/llm.c", "f1e2ace", "", ["train_gpt2"], "text, C", {"compute.cpu_bound", "periodic.evaluation"}, "",
        "its own time of each step; validation and sampling are what lies between", (), public_data.gpt2,
        printed=llm_c),
    Program(
        "word2vec", "tmikolov/word2vec", "20c129a", "",
        ["word2vec", "-train", "text", "-output", "vectors", "-size", "100", "-threads", "2", "-iter", "4"], "text, C",
        {"compute.cpu_bound"}, "", "vectors of 100, five negative samples a word", (), public_data.corpus,
        traced={"data": ("ReadWord", "ReadWordIndex", "LearnVocabFromTrainFile", "SearchVocab")},
        note="ReadWordIndex and SearchVocab are inlined into TrainModelThread, which calls their strcmp and strlen itself: "
             "perf counts those words as compute"),
    Program(
        "lightgbm", "microsoft/LightGBM", "bae0b7b", "examples/binary_classification",
        ["../../lightgbm", "config=train.conf", "num_trees=60"], "boosting, C++", {"periodic.evaluation"}, "",
        "AUC and loss of all training rows after each iteration", (), public_data.table,
        traced={"data": ("LightGBM::DatasetLoader",), "periodic": ("LightGBM::GBDT::OutputMetric", "Metric<", "AUCMetric")},
        without=["is_training_metric=false", "metric=None"]),
]
