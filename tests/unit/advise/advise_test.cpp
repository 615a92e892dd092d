// SPDX-License-Identifier: MIT
#include "advise/advise.h"

#include <cmath>

#include "advise/cost.h"
#include "analysis/findings/torch_version.h"
#include "analysis/first_epoch.h"
#include "tests/catch.h"
#include "tests/unit/advise/one_finding.h"

using namespace stallprof;
using stallprof::test::holds;

namespace {

Analysis one(const char* finding, const char* id, Advice::Change change,
             Phase phase = Phase::kTransform) {
  LoaderInfo l;
  l.kind = "torch.DataLoader";
  l.workers = 0;
  l.where.line = 88;
  Analysis a =
      test::oneFinding({Untrusted("python"), Untrusted("my train.py"), Untrusted("--name=it's")}, l,
                       finding, id, std::move(change));
  a.findings[0].phase = phase;
  a.findings[0].advice[0].predicted.speedup = 2;
  return a;
}

const Advice& advised(Analysis& a) {
  advise(a, "runs/before.stallprof");
  return a.findings[0].advice[0];
}

}  // namespace

TEST_CASE("first workers: the text names number and line, the diff keeps them alive") {
  Analysis a = one("transform.in_process", "more_workers", {"loader_arg", "num_workers", "0", "3"});
  const Advice& w = advised(a);
  CHECK(holds(w.text, "num_workers=3"));
  CHECK(holds(w.text, "train.py:88"));
  CHECK(w.diff ==
        "- DataLoader(..., batch_size=32, num_workers=0)\n"
        "+ DataLoader(..., batch_size=32, num_workers=3, persistent_workers=True)");
}

TEST_CASE("more workers under storage say why more of them help there") {
  Analysis a = one("extract.small_files", "more_workers", {"loader_arg", "num_workers", "2", "6"},
                   Phase::kExtract);
  a.run.loaders[0].workers = 2;
  const Advice& w = advised(a);
  CHECK(holds(w.text, "blocked"));
  CHECK(w.diff ==
        "- DataLoader(..., batch_size=32, num_workers=2)\n"
        "+ DataLoader(..., batch_size=32, num_workers=6)");
}

TEST_CASE("the first workers are no more of those that are blocked") {
  Analysis a = one("extract.remote_latency", "more_workers",
                   {"loader_arg", "num_workers", "0", "4"}, Phase::kExtract);
  CHECK(advised(a).text.starts_with("Set num_workers=4"));
}

TEST_CASE("a loader that a library made is changed where that library takes its settings") {
  Analysis a = one("transform.in_process", "more_workers", {"loader_arg", "num_workers", "0", "3"});
  a.run.loaders[0].package = "transformers";
  CHECK(advised(a).text.starts_with(
      "Set dataloader_num_workers=3 and dataloader_persistent_workers=True in TrainingArguments:"));
  CHECK(advised(a).diff ==
        "- TrainingArguments(..., dataloader_num_workers=0)\n"
        "+ TrainingArguments(..., dataloader_num_workers=3, dataloader_persistent_workers=True)");
  a.run.loaders[0].package = "timm";
  CHECK(holds(advised(a).text,
              "num_workers=3 and persistent_workers=True where timm takes it "
              "(called at train.py:88):"));
  CHECK(advised(a).diff.empty());
}

TEST_CASE("each loader argument changes in the diff, and nothing else does") {
  const auto diff = [](const char* name, const char* from, const char* to) {
    Analysis a = one("load.no_prefetch", "x", {"loader_arg", name, from, to}, Phase::kLoad);
    a.run.loaders[0].workers = 4;
    a.run.loaders[0].prefetch = 2;
    return advised(a).diff;
  };
  CHECK(diff("prefetch_factor", "2", "4") ==
        "- DataLoader(..., batch_size=32, num_workers=4, prefetch_factor=2)\n"
        "+ DataLoader(..., batch_size=32, num_workers=4, prefetch_factor=4)");
  CHECK(diff("in_order", "True", "False") ==
        "- DataLoader(..., batch_size=32, num_workers=4, in_order=True)\n"
        "+ DataLoader(..., batch_size=32, num_workers=4, in_order=False)");
  CHECK(diff("persistent_workers", "False", "True") ==
        "- DataLoader(..., batch_size=32, num_workers=4)\n"
        "+ DataLoader(..., batch_size=32, num_workers=4, persistent_workers=True)");
}

TEST_CASE("without workers none are kept alive: PyTorch refuses that") {
  Analysis a =
      one("load.ipc", "fewer_workers", {"loader_arg", "num_workers", "2", "0"}, Phase::kLoad);
  a.run.loaders[0].workers = 2;
  a.run.loaders[0].persistent = true;
  CHECK(advised(a).diff ==
        "- DataLoader(..., batch_size=32, num_workers=2, persistent_workers=True)\n"
        "+ DataLoader(..., batch_size=32, num_workers=0)");
}

TEST_CASE("a change that a run can be given from outside is tried by verify") {
  Analysis a = one("transform.in_process", "more_workers", {"loader_arg", "num_workers", "0", "3"});
  CHECK(advised(a).verifyCommand == "stallprof verify --fix more_workers runs/before.stallprof");
  a.findings[0].advice[0].outcome = "failed";
  CHECK(advised(a).verifyCommand ==
        "stallprof verify --force --fix more_workers runs/before.stallprof");
  for (const char* kind : {"tf.data", "torch.fastai"}) {
    a.run.loaders[0].kind = kind;
    CHECK(advised(a).verifyCommand.starts_with("stallprof run -o after.stallprof"));
  }
  Analysis threads =
      one("transform.oversubscribed", "single_thread_workers", {"env", "OMP_NUM_THREADS", "", "1"});
  CHECK(advised(threads).verifyCommand.starts_with("stallprof verify --fix single_thread_workers"));
}

TEST_CASE("the verify line of other changes runs the command again, quoted, and compares") {
  Analysis a = one("transform.in_process", "more_workers", {"loader_arg", "batch_size", "8", "32"});
  const std::string line = advised(a).verifyCommand;
  CHECK(line.starts_with("stallprof run -o after.stallprof -- python "));
  CHECK(holds(line, quoteShell("my train.py").c_str()));
  CHECK(holds(line, quoteShell("--name=it's").c_str()));
  CHECK(line.ends_with(" && stallprof compare runs/before.stallprof -- after.stallprof"));
}

TEST_CASE("the verify line of other changes repeats what changed the recorded run from outside") {
  Analysis a = one("transform.in_process", "more_workers", {"loader_arg", "batch_size", "8", "32"});
  a.run.overrides = {Untrusted("--set"), Untrusted("num_workers=4")};
  CHECK(advised(a).verifyCommand.starts_with(
      "stallprof run --set num_workers=4 -o after.stallprof -- python "));
  a.run.overrides = {Untrusted("--env"), Untrusted("API_KEY=***")};
  CHECK(advised(a).verifyCommand.empty());
  a.run.overrides = {Untrusted("--replay=20")};
  CHECK(advised(a).verifyCommand.empty());
}

TEST_CASE("a command with a masked secret is the user's to give") {
  Analysis a = one("transform.in_process", "more_workers", {"loader_arg", "batch_size", "8", "32"});
  a.run.command.emplace_back("--token=***");
  CHECK(advised(a).verifyCommand ==
        "stallprof run -o after.stallprof -- COMMAND && "
        "stallprof compare runs/before.stallprof -- after.stallprof");
  a.findings[0].advice[0].change = {"loader_arg", "num_workers", "0", "3"};
  CHECK(advised(a).verifyCommand ==
        "stallprof verify --fix more_workers runs/before.stallprof -- COMMAND");
}

TEST_CASE("a line whose CPU is the kernel's is advised by what the kernel does there") {
  const auto text = [](const char* call, double ratio) {
    Analysis a = one("transform.slow_op", "cheaper_op", {"code", "S.__getitem__", "", ""});
    a.findings[0].native.function = Untrusted(call);
    a.findings[0].native.ratio = ratio;
    return advised(a).text;
  };
  CHECK(holds(text("getdents64", 0.8), "List it once"));
  CHECK(holds(text("pread64", 0.8), "copying of file data"));
  CHECK_FALSE(holds(text("getdents64", 0.3), "List it once"));
}

TEST_CASE("an imported trace has no command to check advice with") {
  Analysis a = one("transform.in_process", "more_workers", {"loader_arg", "num_workers", "0", "3"});
  a.run.imported = true;
  CHECK(advised(a).verifyCommand.empty());
}

TEST_CASE("an environment change is part of the line that runs the program") {
  Analysis a =
      one("transform.oversubscribed", "single_thread_workers", {"env", "OMP_NUM_THREADS", "", "1"});
  advise(a);
  const Advice& w = a.findings[0].advice[0];
  CHECK(w.verifyCommand.starts_with("OMP_NUM_THREADS=1 stallprof run "));
  CHECK(w.diff == "+ export OMP_NUM_THREADS=1 OPENCV_FOR_THREADS_NUM=1");
}

TEST_CASE("bytes from the job are escaped in the text and quoted in the command") {
  Analysis a = one("transform.in_process", "more_workers", {"loader_arg", "num_workers", "0", "3"});
  a.run.loaders[0].where.file = a.findings[0].where.file = Untrusted("t\x1b[31m.py");
  a.run.loaders[0].kind = "its own";
  a.run.command = {Untrusted("python"), Untrusted("a\nb; rm -rf x")};
  const Advice& w = advised(a);
  CHECK(w.text.find('\x1b') == std::string::npos);
  CHECK(w.verifyCommand.find('\n') == std::string::npos);
  CHECK(holds(w.verifyCommand, quoteShell("a\nb; rm -rf x").c_str()));
}

TEST_CASE("advice that its finding does not offer keeps its text") {
  Analysis a = one("transform.in_process", "persistent_workers", {"code", "x", "1", "2"});
  a.findings[0].advice[0].text = "as it was";
  CHECK(advised(a).text == "as it was");
}

TEST_CASE("the advice to a thread that works all the time does not suspect a wait") {
  Analysis a = one("compute.cpu_bound", "faster_compute", {"code", "model", "", "its own work"});
  a.run.loaders.clear();
  CHECK(advised(a).text.find("There is no wait") == 0);
  a.verdict.withheld = NoVerdict{NoVerdict::Why::kFewSamples, 27, 125};
  CHECK(advised(a).text.find("Record a longer run") == 0);
}

TEST_CASE("no command, no verify line; no loader, no diff") {
  Analysis a = one("transform.in_process", "more_workers", {"loader_arg", "num_workers", "0", "3"});
  a.run.command.clear();
  a.run.loaders.clear();
  CHECK(advised(a).verifyCommand.empty());
  CHECK(advised(a).diff.empty());
}

TEST_CASE("an epoch costs its median time, and the first fix saves its share") {
  Analysis a = one("transform.in_process", "more_workers", {"loader_arg", "num_workers", "0", "3"});
  for (const double hours : {0.5, 1.0, 4.0})
    a.epochs.push_back({0, {}, 100, {}, {}, fromSeconds(hours * 3600)});
  a.verdict.healthy = false;
  const Cost cost = costOf(a, 8);
  CHECK(std::abs(*cost.perEpoch - 8) < 1e-6);
  CHECK(std::abs(*cost.wastedPerEpoch - 4) < 1e-6);  // twice as fast saves half
  Advice dearer;  // another way that would save more does not count
  dearer.predicted.speedup = 8;
  a.findings[0].advice.push_back(dearer);
  CHECK(std::abs(*costOf(a, 8).wastedPerEpoch - 4) < 1e-6);
  a.findings[0].advice[0].predicted.basis = Basis::kAssumed;  // no money on a guess
  CHECK_FALSE(costOf(a, 8).wastedPerEpoch.has_value());
  a.verdict.healthy = true;
  CHECK(*costOf(a, 8).wastedPerEpoch == 0);
  a.epochs.clear();
  CHECK_FALSE(costOf(a, 8).perEpoch.has_value());
}

TEST_CASE("what only the first epoch waited for saves nothing in those to come") {
  Analysis a = one("extract.cold_cache", "cache_in_ram", {"data", "dataset", "storage", "memory"});
  a.findings[0].phase = Phase::kExtract;
  for (const double hours : {3.0, 1.0, 1.0}) {
    const Nanos wall = fromSeconds(hours * 3600);
    a.epochs.push_back({0, wall, 100, hours > 2 ? 0.7 : 0.02, {}, wall});
  }
  a.firstEpoch = unlikeLater(a.epochs);
  a.verdict.healthy = false;
  CHECK(std::abs(*costOf(a, 8, 10).money - 96) < 1e-6);  // one of three hours, nine of one
  CHECK(*costOf(a, 8, 1).time == fromSeconds(3 * 3600));
  CHECK_FALSE(costOf(a, 8, 10).saved.has_value());
  a.findings[0].phase = Phase::kCompute;  // of all epochs
  CHECK(costOf(a, 8, 10).saved.has_value());
  a.findings[0].phase = Phase::kExtract;
  a.firstEpoch->later = 0.4;  // they wait, too
  CHECK(costOf(a, 8, 10).saved.has_value());
  for (std::size_t i = 1; i < 3; ++i) a.epochs[i].period.reset();
  CHECK_FALSE(costOf(a, 8, 10).time.has_value());  // of those to come nothing is known
  a.firstEpoch.reset();
  CHECK_FALSE(costOf(a, 8, 10).saved.has_value());  // its cache was cold
  a.epochs[1].period = a.epochs[0].period;
  CHECK(costOf(a, 8, 10).saved.has_value());
}

TEST_CASE("a whole training costs its epochs, and a measured gain counts before a predicted one") {
  Analysis a = one("transform.in_process", "more_workers", {"loader_arg", "num_workers", "0", "3"});
  a.epochs.push_back({0, fromSeconds(3500), 100, {}, {}, fromSeconds(3600)});
  a.epochs.push_back({1, fromSeconds(60), 2, {}, {}, {}});  // cut off
  a.verdict.healthy = false;
  const Cost predicted = costOf(a, {}, 10);
  CHECK(predicted.time == Maybe<Nanos>(fromSeconds(36000)));
  CHECK(predicted.timeFixed == Maybe<Nanos>(fromSeconds(18000)));
  CHECK_FALSE(predicted.money.has_value());
  a.findings[0].advice[0].measured = 1.25;
  a.findings[0].advice[0].outcome = "gain";
  const Cost measured = costOf(a, 2, 10);
  CHECK(measured.measured);
  CHECK(std::abs(seconds(*measured.timeFixed) - 28800) < 1);
  CHECK(std::abs(*measured.money - 20) < 1e-6);
  CHECK(std::abs(*measured.saved - 4) < 1e-6);
  a.findings[0].advice[0].outcome = "no_gain";  // its prediction counts no more
  CHECK_FALSE(costOf(a, 2, 10).timeFixed.has_value());
}

TEST_CASE("torch.compile and async_save are named where the version that ran has them") {
  struct Row {
    const char *finding, *id, *name;
    Version since;
  };
  const Row rows[] = {{"compute.cpu_bound", "faster_compute", "torch.compile", {2, 0}},
                      {"compute.device_bound", "faster_device_work", "torch.compile", {2, 0}},
                      {"compute.python_overhead", "less_python", "torch.compile the step", {2, 0}},
                      {"compute.launch_bound",
                       "compile_step",
                       "torch.compile(model, mode=\"reduce-overhead\")",
                       {2, 0}},
                      {"compute.underfilled", "fuse_kernels", "torch.compile", {2, 0}},
                      {"periodic.checkpoint", "background_checkpoints", "async_save", {2, 3}}};
  for (const Row& row : rows) {
    const auto text = [&](Maybe<std::string> framework) {
      Analysis a = one(row.finding, row.id, {"code", "", "", ""});
      a.run.framework = std::move(framework);
      return advised(a).text;
    };
    INFO(row.finding << ": " << text("torch 1.13.0a0"));
    CHECK_FALSE(holds(text("torch 1.13.0a0"), row.name));
    CHECK_FALSE(holds(text("tensorflow 2.21.0"), row.name));
    CHECK(holds(text("torch 2.6.0+cu124"), row.name));
    CHECK_FALSE(holds(text("torch 2.6.0+cu124"), "or newer"));
    for (const Maybe<std::string>& unknown : {Maybe<std::string>(), Maybe<std::string>("torch")})
      CHECK(holds(text(unknown),
                  (std::string(row.name) + " (" + needsVersion(row.since) + ")").c_str()));
    CHECK(text("torch 1.13.0a0").ends_with("."));
  }
}

TEST_CASE("in_order has no name in transformers' arguments: a loader of one's own takes it") {
  Analysis a =
      one("transform.stragglers", "out_of_order", {"loader_arg", "in_order", "True", "False"});
  a.run.loaders[0].package = "transformers";
  const Advice& w = advised(a);
  CHECK(holds(w.text, "get_train_dataloader"));
  CHECK(w.diff.empty());
}

TEST_CASE("threads of boosted trees have a parameter, which the environment does not override") {
  const auto text = [](const char* framework) {
    Analysis a =
        one("compute.oversubscribed", "fewer_threads", {"env", "OMP_NUM_THREADS", "2", "1"});
    a.run.framework = framework;
    return advised(a).text;
  };
  CHECK(holds(text("lightgbm 4.7.0"), "num_threads or n_jobs to LightGBM"));
  CHECK(holds(text("xgboost 3.1"), "nthread or n_jobs to XGBoost"));
  CHECK_FALSE(holds(text("sklearn 1.7"), "n_jobs"));
}

TEST_CASE("advice speaks of what the program is made of") {
  struct Case {
    const char *finding, *advice, *torch, *tensorflow, *jax, *none;
  };
  const Case cases[] = {{"compute.launch_bound", "compile_step", "torch.compile",
                         "jit_compile=True", "jax.jit", "cudaStreamBeginCapture"},
                        {"compute.sync_points", "fewer_syncs", ".item()", ".numpy()",
                         "block_until_ready()", "cudaMemcpyAsync"},
                        {"load.pageable_copy", "pin_memory", "tensor.pin_memory()",
                         "prefetch_to_device", "jax.device_put", "cudaMallocHost"},
                        {"compute.underfilled", "fuse_kernels", "torch.compile", "jit_compile=True",
                         "jax.jit", "merge small ones"},
                        {"compute.oversubscribed", "fewer_threads", "torch.set_num_threads",
                         "OMP_NUM_THREADS", "OMP_NUM_THREADS", "OMP_NUM_THREADS"},
                        {"compute.cpu_bound", "more_threads", "torch.set_num_threads",
                         "OMP_NUM_THREADS", "OMP_NUM_THREADS", "OMP_NUM_THREADS"}};
  for (const Case& c : cases) {
    INFO(c.advice);
    const auto text = [&](Maybe<std::string> framework) {
      Analysis a = one(c.finding, c.advice, {"code", "model", "eager", ""});
      a.run.loaders.clear();
      a.run.framework = std::move(framework);
      return advised(a).text;
    };
    CHECK(holds(text("torch 2.6.0"), c.torch));
    CHECK(holds(text("tensorflow 2.20.0"), c.tensorflow));
    CHECK(holds(text("jax 0.10.2"), c.jax));
    CHECK(holds(text({}), c.none));
    CHECK(holds(text("lightgbm"), c.none));
    for (const char* other : {"tensorflow 2.20.0", "jax 0.10.2", "lightgbm", "xgboost 3.1"})
      CHECK_FALSE(holds(text(other), "torch"));
    CHECK_FALSE(holds(text({}), "torch"));
  }
}

TEST_CASE("of two loaders of one line the diff shows the one that the change is of") {
  Analysis a = one("transform.in_process", "more_workers", {"loader_arg", "num_workers", "0", "3"});
  LoaderInfo evaluation = a.run.loaders[0];
  evaluation.workers = 2;
  evaluation.batchSize = 256;
  a.run.loaders.insert(a.run.loaders.begin(), evaluation);
  CHECK(advised(a).diff ==
        "- DataLoader(..., batch_size=32, num_workers=0)\n"
        "+ DataLoader(..., batch_size=32, num_workers=3, persistent_workers=True)");
  a.findings[0].advice[0].change.from = "7";  // of none that is known
  CHECK(advised(a).diff.starts_with("- DataLoader(..., batch_size=256"));
}
