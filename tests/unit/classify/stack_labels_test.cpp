// SPDX-License-Identifier: MIT
#include "tests/unit/classify/stacks.h"

using namespace stallprof;
using test::Answer;
using test::ask;

namespace {

const std::string kPackages = "/venv/lib/python3.11/site-packages/";

StackLabel labelOf(const test::Frames& made, Side role = Side::kTrainer) {
  return StackLabels(made.trace, RuleTable::builtIn()).of(made.innermost, role);
}

}  // namespace

TEST_CASE("the user's line is the innermost frame outside installed code, hot is the leaf") {
  const auto made =
      test::stackOf({"train.py main", kPackages + "torch/nn/modules/module.py call",
                     "model.py Net.forward", kPackages + "torch/nn/functional.py relu"});
  const StackLabel label = labelOf(made);
  CHECK(made.trace.text(made.trace.stack(label.user).file) == "model.py");
  CHECK(made.trace.text(made.trace.stack(label.hot).function) == "relu");
  CHECK(!label.usersLine());
}

TEST_CASE("a stack that ends in the user's code is the user's line") {
  const auto made = test::stackOf({"train.py main", "train.py augment"});
  CHECK(labelOf(made).usersLine());
  CHECK(labelOf(made).rule == nullptr);
}

TEST_CASE("what a queue, a pool or a starting thread waits with is its own wait") {
  const std::string lib = "/usr/lib/python3.11/";
  const auto ruleOf = [&](const std::string& outer, const std::string& inner) {
    const auto made = test::stackOf({"train.py main", lib + outer, lib + inner});
    const StackLabel& label = labelOf(made);
    REQUIRE(label.rule);
    return std::pair(std::string(label.rule->id), label.handover != nullptr);
  };
  using Rule = std::pair<std::string, bool>;
  CHECK(ruleOf("concurrent/futures/_base.py Future.result", "threading.py Condition.wait") ==
        Rule("python.pool_wait", true));
  CHECK(ruleOf("queue.py Queue.put", "threading.py Condition.wait") ==
        Rule("python.queue_put", true));
  CHECK(ruleOf("threading.py Event.wait", "threading.py Condition.wait") ==
        Rule("python.thread_wait", true));
  CHECK(ruleOf("threading.py Thread.start", "threading.py Event.wait") ==
        Rule("python.thread_start", false));
  CHECK(ruleOf("concurrent/futures/thread.py ThreadPoolExecutor.shutdown",
               "threading.py Thread.join") == Rule("python.thread_join", false));
  const auto waitOf = [](const std::string& call) {
    const auto made = test::stackOf({"train.py main", kPackages + call});
    return labelOf(made).handover ? std::string(labelOf(made).handover->id) : "";
  };
  CHECK(waitOf("joblib/parallel.py Parallel._retrieve") == "python.pool_wait");
  CHECK(waitOf("joblib/parallel.py Parallel._get_sequential_output") == "");  // works itself
  CHECK(waitOf("multiprocess/pool.py MapResult.get") == "python.pool_wait");
  CHECK(waitOf("ray/_private/worker.py Worker.get_objects") == "python.pool_wait");
}

TEST_CASE("a model library's functions are arrays where another library's model is updated") {
  const auto ruleOf = [](const std::string& call, const std::string& update) {
    const Trace trace =
        test::traceOf(test::stackLine(1, 0, "train.py", "main", 3) +
                      test::stackLine(2, 1, "train.py", "make", 9) +
                      test::stackLine(3, 2, kPackages + call.substr(0, call.find(' ')),
                                      call.substr(call.find(' ') + 1), 4) +
                      test::stackLine(4, 1, kPackages + update.substr(0, update.find(' ')),
                                      update.substr(update.find(' ') + 1), 5));
    const StackLabels labels(trace, RuleTable::builtIn());
    const StackLabel& label = labels.of(StackId{3}, Side::kTrainer);
    REQUIRE(label.rule);
    return std::pair(label.rule->id, namesModel(*label.rule));
  };
  using Rule = std::pair<std::string, bool>;
  const std::string own = "sklearn/linear_model/_stochastic_gradient.py SGDClassifier.partial_fit",
                    torch = "torch/optim/sgd.py SGD.step";
  for (const std::string call :
       {"sklearn/utils/__init__.py shuffle", "spacy/language.py Language.__call__",
        "gensim/models/keyedvectors.py KeyedVectors.most_similar"}) {
    CHECK(ruleOf(call, torch) == Rule("library.beside", false));
    CHECK(ruleOf(call, own).second);
    CHECK(ruleOf(call, "torch/optim/sgd.py <module>").second);  // only imported
  }
  CHECK(ruleOf(own, torch) == Rule("library.beside", false));
  CHECK(ruleOf("torchvision/ops/boxes.py box_iou", torch) == Rule("torchvision.boxes", false));
  CHECK(ruleOf("torchvision/ops/roi_align.py roi_align", torch) == Rule("torchvision.model", true));
  CHECK(ruleOf("timm/data/transforms.py RandomResizedCropAndInterpolation.forward", torch) ==
        Rule("library.data", false));
}

TEST_CASE("a native leaf speaks where Python's word is about a call further out") {
  const std::vector<std::string> decoder = {"native /usr/lib/libjpeg.so.62 decode_mcu"};
  CHECK(ask(Side::kTrainer, Wait::kRunning,
            {"train.py main", kPackages + "keras/src/trainers/trainer.py fit",
             "train.py on_batch_end", decoder[0]}) == Answer{"transform", "image.native"});
  CHECK(ask(Side::kTrainer, Wait::kRunning,
            {"train.py main", kPackages + "torch/serialization.py load", decoder[0]}) ==
        Answer{"periodic", "torch.load"});
}

TEST_CASE("a sample while collecting garbage is overhead of the trainer, not of a producer") {
  CHECK(ask(Side::kTrainer, Wait::kRunning, {"train.py main"}, true) ==
        Answer{"periodic", "gc.collecting"});
  CHECK(ask(Side::kProducer, Wait::kRunning, {"train.py load"}, true) ==
        Answer{"transform", "own.producer"});
  // Importing makes many objects; collecting meanwhile is no overhead of the training either.
  CHECK(ask(Side::kTrainer, Wait::kRunning,
            {"train.py <module>", "<frozen importlib._bootstrap> _find_and_load",
             kPackages + "numba/__init__.py <module>"},
            true) == Answer{"other", "python.import"});
  // Nor is what a library's reader allocates.
  CHECK(ask(Side::kTrainer, Wait::kRunning,
            {"train.py main", kPackages + "pandas/io/parsers/readers.py TextFileReader.__next__"},
            true) == Answer{"transform", "pandas.read"});
}

TEST_CASE("a wait that says nothing is what the stack says, or unknown") {
  CHECK(ask(Side::kProducer, Wait::kSleep, {"train.py load"}) == Answer{"unknown", "wait.sleep"});
  CHECK(ask(Side::kProducer, Wait::kSleep,
            {"train.py load", kPackages + "urllib3/util/retry.py Retry.sleep"}) ==
        Answer{"extract", "network.python"});
  CHECK(ask(Side::kTrainer, Wait::kPoll, {"train.py main"}) == Answer{"unknown", "wait.unnamed"});
  CHECK(ask(Side::kTrainer, Wait::kFutex, {"train.py main"}) == Answer{"compute", "wait.lock"});
  CHECK(ask(Side::kTrainer, Wait::kFileRead, {"train.py main"}) ==
        Answer{"extract", "wait.file_read"});
}

TEST_CASE("an event loop with connections open waits for the network where the program runs it") {
  const std::vector<std::string> own = {
      "train.py fetch", "/usr/lib/python3.11/asyncio/base_events.py BaseEventLoop.run_forever",
      "/usr/lib/python3.11/selectors.py EpollSelector.select"};
  const Answer network{"extract", "wait.event_loop"};
  CHECK(ask(Side::kProducer, Wait::kEventLoop, own) == network);
  CHECK(ask(Side::kTrainer, Wait::kEventLoop, own) == network);
  CHECK(ask(Side::kProducer, Wait::kEventLoop, {own[0]}) == network);  // one that is native
  CHECK(ask(Side::kTrainer, Wait::kEventLoop, {own[0]}) != network);   // may be a collective's
  CHECK(ask(Side::kProducer, Wait::kEventLoop, {own[1], own[2]}) != network);
  CHECK(ask(Side::kProducer, Wait::kPoll, own) != network);
  CHECK(ask(Side::kTrainer, Wait::kEventLoop,
            {own[0], kPackages + "torch/autograd/graph.py _engine_run_backward"}) != network);
}

TEST_CASE("no frame is a producer's own work, and nobody's in the trainer") {
  CHECK(ask(Side::kProducer, Wait::kRunning, {}) == Answer{"transform", "own.producer"});
  CHECK(ask(Side::kTrainer, Wait::kRunning, {}) == Answer{"other", "own.no_frame"});
  // The collection at the interpreter's end is no overhead of the training.
  CHECK(ask(Side::kTrainer, Wait::kRunning, {}, true) == Answer{"other", "own.no_frame"});
}

TEST_CASE("importing covers the library's own modules, not what the user's module does") {
  const std::vector<std::string> import = {"train.py <module>",
                                           "<frozen importlib._bootstrap> _find_and_load",
                                           kPackages + "torch/profiler/__init__.py <module>"};
  CHECK(ask(Side::kTrainer, Wait::kRunning, import) == Answer{"other", "python.import"});
  std::vector<std::string> own = {import[0], import[1], "/home/me/steps.py <module>",
                                  kPackages + "torch/optim/sgd.py SGD.step"};
  CHECK(ask(Side::kTrainer, Wait::kRunning, own) == Answer{"compute", "torch.optimizer"});
}

TEST_CASE("how a process of the program's own was started says nothing of what it runs") {
  const std::string lib = "/usr/lib/python3.11/";
  for (const char* const start :
       {"multiprocessing/popen_fork.py Popen._launch", "multiprocessing/spawn.py _main"}) {
    const std::vector<std::string> own = {
        lib + start, lib + "multiprocessing/process.py BaseProcess._bootstrap",
        lib + "multiprocessing/process.py BaseProcess.run", "/home/me/train.py make"};
    CHECK(ask(Side::kTrainer, Wait::kRunning, own) == Answer{"compute", "own.trainer"});
    CHECK(ask(Side::kProducer, Wait::kRunning, own) == Answer{"transform", "own.producer"});
    CHECK(ask(Side::kTrainer, Wait::kRunning, {own[0], own[1]}) ==
          Answer{"compute", "own.trainer"});
  }
}

TEST_CASE("remarks about missing frames claim nothing and are nobody's line") {
  const auto trace = parseTrace(
      "0 stack stack=1 function=\"(truncated)\" kind=other\n"
      "0 stack stack=2 caller=1 function=\"load\" file=\"train.py\"\n"
      "0 stack stack=3 caller=2 function=\"(other)\" kind=other\n");
  REQUIRE(trace.ok());
  const StackLabel label =
      StackLabels(trace.value(), RuleTable::builtIn()).of(StackId{3}, Side::kProducer);
  CHECK(label.hot == StackId{2});
  CHECK(label.user == StackId{2});
  CHECK(label.rule == nullptr);
}

TEST_CASE("a user's rule claims the user's own code, and goes before the built-in ones") {
  const RuleTable table = test::withRules(
      "[[rule]]\nid = \"mine.fetch\"\nphase = \"extract\"\nmodules = [\"mine/store.py\"]\n"
      "[[rule]]\nid = \"mine.pillow\"\nphase = \"extract\"\nmodules = [\"PIL/\"]\n");
  CHECK(test::askIn(table, Side::kProducer, Wait::kRunning, {"/srv/mine/store.py get"}) ==
        Answer{"extract", "mine.fetch"});
  CHECK(test::askIn(table, Side::kProducer, Wait::kRunning,
                    {kPackages + "PIL/Image.py Image.resize"}) == Answer{"extract", "mine.pillow"});
}

TEST_CASE("an id out of range is an empty label") {
  const Trace trace;
  const StackLabels labels(trace, RuleTable::builtIn());
  CHECK(labels.of(StackId{77}, Side::kProducer).hot.none());
  CHECK(labels.of(StackId{}, Side::kProducer).side == Side::kProducer);
}
