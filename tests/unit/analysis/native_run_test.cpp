// SPDX-License-Identifier: MIT
#include "analysis/whole_run/native_run.h"

#include <algorithm>

#include "tests/unit/analysis/found.h"

using namespace stallprof;
using stallprof::test::near;
using stallprof::test::traceOf;

namespace {

const std::string kProgram =
    test::nativeProgram("train") + "0 thread thread=2 process=1 tid=101 name=\"train\"\n";

std::string native(int thread, const std::string& file, const std::string& function, int samples) {
  return "0s native thread=" + std::to_string(thread) + " duration=10s file=\"" + file +
         "\" offset=64 samples=" + std::to_string(samples) +
         (function.empty() ? "" : " function=\"" + function + "\"") + "\n";
}
// A sample of libc at a call of the program.
std::string called(const std::string& function, const std::string& caller, int samples) {
  return "0s native thread=1 duration=10s file=\"/lib/libc.so.6\" offset=64 samples=" +
         std::to_string(samples) + " function=\"" + function +
         "\" caller_file=\"/opt/train\" caller_offset=1000 caller_function=\"" + caller + "\"\n";
}
// Samples of the program's own code, further fields in `rest`.
std::string own(int thread, const std::string& function, const std::string& rest) {
  return "0s native thread=" + std::to_string(thread) +
         " duration=10s file=\"/opt/train\" function=\"" + function + "\" " + rest + "\n";
}
std::string slice(int thread, const std::string& run, const std::string& wait) {
  return "0s slice thread=" + std::to_string(thread) + " duration=10s run=" + run +
         " wait=" + wait + " samples=1000\n";
}
// A main thread that runs all the time, by samples of its functions; openat and read are the
// kernel's.
std::string program(std::initializer_list<std::pair<const char*, int>> functions) {
  std::string text = slice(1, "10s", "running");
  for (const auto& [name, samples] : functions) {
    const bool kernel = name == std::string("openat") || name == std::string("read");
    text += native(1, kernel ? "[kernel]" : "/opt/train", name, samples);
  }
  return text;
}
const std::string kEnd = "10s command_end exit_code=0\n";

Analysis analysisOf(const std::string& text) { return analyze(traceOf(kProgram + text + kEnd)); }

Breakdown::PhaseRatio phasesOf(const std::string& text) {
  const Analysis a = analysisOf(text);
  REQUIRE(a.breakdown.phase);
  CHECK(a.breakdown.scope == "run");
  return *a.breakdown.phase;
}

}  // namespace

TEST_CASE(
    "a main thread that opens and reads files is reading; what it does besides is not known") {
  const std::string text = program({{"openat", 400}, {"read", 200}, {"main", 400}});
  const auto phases = phasesOf(text);
  CHECK(near(phases.extract, 0.6));
  CHECK(near(phases.compute, 0));
  CHECK(near(phases.other, 0.4));
  const Analysis a = analysisOf(text);
  CHECK(a.verdict.boundBy == "extract");
  REQUIRE_FALSE(a.findings.empty());
  CHECK(a.findings[0].id == "extract.small_files");
}

TEST_CASE("a template of the standard library and a page fault are for the code that called them") {
  const std::string from =
      " offset=64 caller_file=\"/opt/train\" caller_offset=1000 caller_function=";
  const std::string text =
      slice(1, "10s", "running") +
      own(1, "_ZSt16__merge_sort_loopIPdS0_EvT_S1_T0_", "samples=300" + from + "\"load_batch\"") +
      own(1, "_ZSt16__merge_sort_loopIPdS0_EvT_S1_T0_", "samples=100") +
      own(1, "bin", "samples=100" + from + "\"load_batch\"") +
      "0s native thread=1 duration=10s file=\"[kernel]\" function=\"page_fault\" samples=100" +
      from + "\"load_batch\"\n" + native(1, "/opt/train", "train_step", 400);
  const auto phases = phasesOf(text);
  CHECK(near(phases.transform, 0.4));
  CHECK(near(phases.compute, 0.4));
  CHECK(near(phases.other, 0.2));  // no caller was seen, or it is no template

  const std::string ofLibrary = slice(1, "10s", "running") +
                                "0s native thread=1 duration=10s file=\"/opt/libdata.so\" "
                                "function=\"_ZSt16__merge_sort_loopIPdS0_EvT_S1_T0_\" samples=100" +
                                from + "\"train_step\"\n";
  CHECK(near(phasesOf(ofLibrary).other, 1));  // whoever called the library
}

TEST_CASE("reading, and what becomes of what was read, hold up a program together") {
  const std::string text = program({{"openat", 400}, {"load_batch", 150}, {"main", 450}});
  CHECK(near(phasesOf(text).transform, 0.15));
  const Analysis a = analysisOf(text);
  CHECK(a.verdict.boundBy == "extract");
  REQUIRE_FALSE(a.findings.empty());
  CHECK(a.findings[0].id == "extract.small_files");
}

TEST_CASE(
    "the folder is named that most files were read in, not that of a file open all the time") {
  std::string files;
  for (const std::string second : {"1s", "2s", "3s"}) {
    files += second + " file process=1 path=\"/home/user/out.log\" size=90\n";
    if (second != "3s")
      files += second + " file process=1 path=\"/data/images/" + second + "\" size=4096\n";
  }
  const Analysis a = analysisOf(program({{"openat", 600}, {"main", 400}}) + files);
  REQUIRE_FALSE(a.findings.empty());
  const auto& evidence = a.findings[0].evidence;
  CHECK(std::any_of(evidence.begin(), evidence.end(),
                    [](const auto& line) { return line.text == "files below /data/images"; }));
}

TEST_CASE("less than half of a program's time is no verdict") {
  const std::string text = program({{"openat", 450}, {"main", 550}});
  const Analysis a = analysisOf(text);
  CHECK(a.verdict.boundBy == "unknown");
  CHECK(a.findings.empty());
}

TEST_CASE("of a time divided between data and compute, data of less than half is a finding, low") {
  const std::string text =
      program({{"openat", 250}, {"load_batch", 220}, {"train_step", 490}, {"main", 40}});
  CHECK(near(phasesOf(text).compute, 0.49));
  const Analysis a = analysisOf(text);
  CHECK(a.verdict.boundBy == "unknown");
  REQUIRE_FALSE(a.findings.empty());
  CHECK(a.findings[0].id == "extract.small_files");
  CHECK(a.findings[0].confidence == Confidence::kLow);
}

TEST_CASE("functions that run on an OpenMP pool's threads compute, and so does waiting for them") {
  const auto phases = phasesOf(
      slice(1, "10s", "running") + slice(2, "10s", "running") +
      native(1, "/opt/train", "step", 600) + native(1, "/usr/lib/libgomp.so.1.0.0", "", 200) +
      native(1, "/opt/train", "fill", 200) + native(2, "/opt/train", "step", 700) +
      native(2, "/usr/lib/libgomp.so.1.0.0", "", 300));
  CHECK(near(phases.compute, 0.8));
  CHECK(near(phases.other, 0.2));
}

TEST_CASE(
    "of a program without symbols the main thread has as much of a loop as the pool's threads") {
  const auto phases =
      phasesOf(slice(1, "10s", "running") + slice(2, "10s", "running") +
               native(1, "/opt/train", "", 800) + native(1, "/usr/lib/libgomp.so.1.0.0", "", 200) +
               native(2, "/opt/train", "", 600) + native(2, "/usr/lib/libgomp.so.1.0.0", "", 400));
  CHECK(near(phases.compute, 0.8));
  CHECK(near(phases.other, 0.2));
}

TEST_CASE(
    "a program that computes is said to compute beside busy neighbours, with low confidence") {
  const std::string host =
      "0 host busy=0s idle=0s job_cpu=0s allowed_cpus=2 allowed_busy=0s\n"
      "10s host busy=20s idle=0s job_cpu=10s allowed_cpus=2 allowed_busy=20s\n";
  const std::string text = slice(1, "10s", "running") + host +
                           native(1, "/opt/train", "main._omp_fn.0", 950) +
                           native(1, "/opt/train", "main", 50);
  const Analysis a = analysisOf(text);
  REQUIRE(a.findings.size() == 2);
  CHECK(a.findings[0].id == "compute.cpu_bound");
  CHECK(a.findings[0].confidence == Confidence::kLow);
  CHECK(a.findings[1].id == "host.noisy_neighbour");
  CHECK(a.verdict.boundBy == "compute");
}

TEST_CASE("what libc does is for the function that called it") {
  const auto phases = phasesOf(slice(1, "10s", "running") + called("__memmove", "forward", 500) +
                               called("malloc", "load_batch", 300) + called("malloc", "main", 200));
  CHECK(near(phases.compute, 0.5));
  CHECK(near(phases.transform, 0.3));
  CHECK(near(phases.other, 0.2));
}

TEST_CASE("code that draws random numbers, where nothing says that it trains, makes data") {
  const auto phases = phasesOf(slice(1, "10s", "running") + called("__random", "main", 200) +
                               called("__random", "forward", 100) +
                               own(1, "main", "offset=1040 samples=150") +  // near
                               own(1, "main", "offset=1080 samples=250") +
                               own(1, "main", "offset=9000 samples=300 draws=1"));
  CHECK(near(phases.transform, 0.65));
  CHECK(near(phases.compute, 0.1));
  CHECK(near(phases.other, 0.25));
}

TEST_CASE("a loop that OpenMP divides computes, random numbers or not") {
  const auto phases =
      phasesOf(slice(1, "10s", "running") + called("__random", "main._omp_fn.0", 500) +
               own(1, "main._omp_fn.0", "offset=1010 samples=500 draws=1"));
  CHECK(near(phases.compute, 1));
}

TEST_CASE("a program that mostly computes is bound by that, whatever could be gained beside it") {
  const Analysis a = analysisOf(program({{"main._omp_fn.0", 880}, {"load_batch", 120}}));
  REQUIRE(a.findings.size() == 2);
  CHECK(a.findings[0].id == "compute.cpu_bound");
  CHECK(a.findings[1].id == "transform.in_process");
  CHECK(a.verdict.boundBy == "compute");
  CHECK(a.verdict.healthy == Maybe<bool>(false));
}

TEST_CASE("a pool whose threads read files is not known to compute") {
  const auto phases =
      phasesOf(slice(1, "10s", "running") + slice(2, "10s", "running") +
               native(1, "/opt/train", "step", 800) + native(1, "[kernel]", "read", 200) +
               native(2, "/opt/train", "step", 600) + native(2, "[kernel]", "openat", 200) +
               native(2, "/usr/lib/libgomp.so.1.0.0", "", 200));
  CHECK(near(phases.extract, 0.2));
  CHECK(near(phases.compute, 0));
}

TEST_CASE("a function on two threads of the program's own is no pool's") {
  const auto phases =
      phasesOf(slice(1, "10s", "running") + slice(2, "10s", "running") +
               native(1, "/opt/train", "step", 900) + native(2, "/opt/train", "step", 900));
  CHECK(near(phases.other, 1));
}

TEST_CASE("waiting for threads of its own is what they do, and blocked on a file is reading") {
  const std::string worker = slice(2, "10s", "running") +
                             native(2, "/usr/lib/libjpeg.so.62", "decode_mcu", 900) +
                             native(1, "/opt/train", "main", 100);
  CHECK(near(phasesOf(slice(1, "1s", "futex") + worker).transform, 0.9));
  CHECK(near(phasesOf(slice(1, "1s", "file_read") + worker).extract, 0.9));
}

TEST_CASE("time in which a program was stopped is no part of its run") {
  const std::string reads = "0s slice thread=1 duration=5s run=3s wait=file_read samples=500\n" +
                            native(1, "/opt/train", "main", 300);
  const std::string after = "25s slice thread=1 duration=5s run=5s wait=running samples=500\n";
  const auto check = [&](const std::string& stop) {
    const Analysis a =
        analyze(traceOf(kProgram + reads + stop + after + "30s command_end exit_code=0\n"));
    REQUIRE(a.breakdown.phase);
    CHECK(near(a.breakdown.phase->extract, 0.2));
    CHECK(near(a.breakdown.phase->other, 0.8));
  };
  check("5s slice thread=1 duration=20s run=0 wait=stopped samples=100\n");
  check(
      "5s gap duration=20s why=\"recorder stopped\"\n"
      "5s slice thread=1 duration=20s run=0 wait=running samples=1\n");
}

TEST_CASE("no more of a wait is explained than the threads waited for have worked") {
  const auto phases = phasesOf(slice(1, "1s", "sleep") + slice(2, "3s", "sleep") +
                               native(2, "/usr/lib/libjpeg.so.62", "decode_mcu", 300) +
                               native(1, "/opt/train", "main", 100));
  CHECK(near(phases.transform, 0.3));
  CHECK(near(phases.other, 0.7));
}

TEST_CASE("without native samples a program's CPU time is not divided") {
  const Analysis a = analysisOf(slice(1, "10s", "running"));
  CHECK_FALSE(a.breakdown.phase);
  CHECK(a.findings.empty());
}

TEST_CASE(
    "threads that sum products and add them to memory train, whatever their functions' names") {
  const std::string loops = own(2, "worker", "offset=1000 samples=400 loop=products draws=1") +
                            own(2, "worker", "offset=2000 samples=300 loop=updates") +
                            own(2, "worker", "offset=3000 samples=200 loop=bytes");
  const std::string waits = slice(1, "0s", "futex") + slice(2, "10s", "running");
  SECTION("and code between such loops is for what the function is for") {
    const auto phases = phasesOf(waits + loops + own(2, "worker", "offset=5000 samples=100"));
    CHECK(near(phases.compute, 0.7 + 0.1 * 7 / 9));
    CHECK(near(phases.transform, 0.2 + 0.1 * 2 / 9));
    const Analysis a = analysisOf(waits + loops);
    REQUIRE_FALSE(a.findings.empty());
    CHECK(a.findings[0].id == "compute.cpu_bound");
    CHECK(a.findings[0].confidence == Confidence::kLow);
  }
  SECTION("but not where more of the function is unknown than known") {
    const auto phases = phasesOf(waits + loops + own(2, "worker", "offset=5000 samples=1100"));
    CHECK(near(phases.other, 0.55));
  }
  SECTION("sums of products alone may filter sound: they are not known to train") {
    const auto phases = phasesOf(waits + own(2, "worker", "offset=1000 samples=800 loop=products") +
                                 own(2, "worker", "offset=3000 samples=200 loop=bytes"));
    CHECK(near(phases.compute, 0));
    CHECK(near(phases.transform, 0.2));
  }
}

TEST_CASE("code beside calls of libc that compare text makes data, and the calls do") {
  const auto phases = phasesOf(slice(1, "10s", "running") + called("__strcmp_evex", "worker", 300) +
                               own(1, "worker", "offset=1040 samples=200") +
                               own(1, "main", "offset=9000 samples=500"));
  CHECK(near(phases.transform, 0.5));
  CHECK(near(phases.other, 0.5));
}

TEST_CASE("a program without Python that runs its model forward alone for long evaluates it") {
  std::string text;
  const auto twoSeconds = [&](int second, const std::string& function, int samples) {
    text += std::to_string(second) +
            "s native thread=1 duration=2s file=\"/opt/train\" samples=" + std::to_string(samples) +
            " function=\"" + function + "\"\n";
  };
  for (int second = 0; second < 40; second += 2) {
    const bool evaluates = (second >= 16 && second < 22) || second >= 34;
    twoSeconds(second, "matmul_forward", evaluates ? 190 : 40);
    if (!evaluates) twoSeconds(second, "matmul_backward", 150);
    twoSeconds(second, "load_batch", 10);
  }
  text = "0s slice thread=1 duration=40s run=40s wait=running samples=4000\n" + text +
         "40s command_end exit_code=0\n";
  const Analysis a = analyze(traceOf(kProgram + text));
  REQUIRE(a.breakdown.phase);
  CHECK(near(a.breakdown.phase->periodic, 0.285));
  CHECK(near(a.breakdown.phase->compute, 0.665));
  CHECK(near(a.breakdown.phase->transform, 0.05));
  CHECK(a.verdict.boundBy == "periodic");
  REQUIRE_FALSE(a.findings.empty());
  CHECK(a.findings[0].id == "periodic.evaluation");
  CHECK(a.findings[0].confidence == Confidence::kLow);
}

TEST_CASE("metrics that a rule knows are evaluation, whatever the standard library does for them") {
  const Analysis a =
      analysisOf(program({{"_ZN8LightGBM8DenseBinIhLb0EE5SplitEv", 600},
                          {"_ZSt6__sortIPiZNK8LightGBM9AUCMetric4EvalEvEUliiE_EvT_S2_T0_", 400}}));
  REQUIRE(a.breakdown.phase);
  CHECK(near(a.breakdown.phase->periodic, 0.4));
  CHECK(a.verdict.boundBy == "periodic");
  REQUIRE_FALSE(a.findings.empty());
  CHECK(a.findings[0].id == "periodic.evaluation");
}

TEST_CASE("threads that pass a lock on for most of their CPU time wait for each other") {
  const auto with = [](int locks, int futex) {
    const auto thread = [&](int id) {
      return slice(id, "8s", "running") + native(id, "/opt/train", "main._omp_fn.0", 600) +
             native(id, "/lib/libgomp.so.1", "GOMP_barrier", 20) +
             native(id, "/lib/libc.so.6", "__pthread_mutex_lock", locks) +
             native(id, "[kernel]", "futex", futex);
    };
    return analyze(traceOf("manifest env=\"OMP_NUM_THREADS=2\"\n" + kProgram + thread(1) +
                           thread(2) + "0s usage process=1 cpu=0\n10s usage process=1 cpu=16s\n" +
                           kEnd));
  };
  const Analysis a = with(80, 500);
  const Finding* found = test::find(a, "compute.lock_contention");
  REQUIRE(found);
  CHECK(near(found->shareRatio, 580.0 / 1200));
  CHECK(found->hot.function.raw() == "main._omp_fn.0");
  REQUIRE(found->advice.size() == 2);
  CHECK(found->advice[0].id == "lock_less");
  CHECK(found->advice[1].change.from == "2");
  CHECK(a.verdict.boundBy == "compute");
  // Waiting for other reasons, and locks that nobody waits for.
  CHECK_FALSE(test::find(with(4, 500), "compute.lock_contention"));
  // Threads of its own: OpenMP's number changes nothing.
  std::string own;
  for (const int id : {1, 2})
    own += slice(id, "8s", "running") + native(id, "/opt/train", "train_step", 600) +
           native(id, "/lib/libc.so.6", "__pthread_mutex_lock", 80) +
           native(id, "[kernel]", "futex", 500);
  const Analysis threads =
      analyze(traceOf("manifest env=\"OMP_NUM_THREADS=2\"\n" + kProgram + own +
                      "0s usage process=1 cpu=0\n10s usage process=1 cpu=16s\n" + kEnd));
  REQUIRE(test::find(threads, "compute.lock_contention"));
  CHECK(test::find(threads, "compute.lock_contention")->advice.size() == 1);
  // What waits for a critical section of OpenMP spins.
  const auto critical = [&](const std::string& spin) {
    const auto thread = [&](int id) {
      return slice(id, "8s", "running") + native(id, "/opt/train", "main._omp_fn.0", 560) +
             native(id, "/lib/libgomp.so.1", "GOMP_critical_end", 40) +
             native(id, "/lib/libgomp.so.1", spin, 400);
    };
    return analyze(traceOf(kProgram + thread(1) + thread(2) + kEnd));
  };
  CHECK(test::find(critical(""), "compute.lock_contention"));
  CHECK_FALSE(test::find(critical("GOMP_loop_dynamic_next"), "compute.lock_contention"));
  CHECK_FALSE(test::find(with(80, 0), "compute.lock_contention"));
}

TEST_CASE("a lock is for the loops of a team, or for what its thread does beside it") {
  const std::string locks = native(1, "/lib/libc.so.6", "pthread_mutex_lock", 200);
  const auto alone = phasesOf(program({{"matmul_forward", 600}, {"load_batch", 200}}) + locks);
  CHECK(near(alone.compute, 0.75));
  CHECK(near(alone.transform, 0.25));
  const auto team =
      phasesOf(program({{"train._omp_fn.0", 300}, {"load_batch", 500}}) + locks +
               slice(2, "10s", "running") + native(2, "/opt/train", "train._omp_fn.0", 980) +
               native(2, "/lib/libgomp.so.1", "GOMP_barrier", 20));
  CHECK(near(team.compute, 0.5));
  CHECK(near(team.transform, 0.5));
}

TEST_CASE("a program that takes a lock as it computes on one thread is not advised to use more") {
  const auto advised = [](int locks) {
    const Analysis a =
        analyze(traceOf("manifest env=\"OMP_NUM_THREADS=1\"\nmanifest cores_usable=4\n"
                        "0 host busy=0 idle=0 job_cpu=0\n10s host busy=10s idle=30s job_cpu=10s\n" +
                        kProgram + program({{"matmul_forward", 950}}) +
                        native(1, "/lib/libc.so.6", "pthread_mutex_lock", locks) + kEnd));
    const Finding* found = test::find(a, "compute.cpu_bound");
    REQUIRE(found);
    return found->advice.at(0).id;
  };
  CHECK(advised(30) == "faster_compute");
  CHECK(advised(0) == "more_threads");
}

TEST_CASE("threads that make the data which the main one waits for are not the training process") {
  const auto with = [](const std::string& main, int ran, int cores) {
    return analyze(traceOf("manifest cores_usable=" + std::to_string(cores) +
                           "\n0 host busy=0 job_cpu=0\n10s host busy=20s job_cpu=10s\n" + kProgram +
                           "0s slice thread=1 duration=10s run=" + std::to_string(ran) +
                           "s wait=futex samples=1000\n" +
                           native(1, "/opt/train", main, 100 * ran) + slice(2, "10s", "running") +
                           native(2, "/opt/train", "load_batches", 1000) + kEnd));
  };
  const Analysis a = with("matmul_forward", 4, 4);
  REQUIRE(a.breakdown.phase);
  CHECK(near(a.breakdown.phase->transform, 0.6));
  CHECK_FALSE(test::find(a, "transform.in_process"));
  const Finding* found = test::find(a, "transform.too_few_workers");
  REQUIRE(found);
  CHECK(found->hot.function.raw() == "load_batches");
  REQUIRE(found->advice.size() == 1);
  CHECK(found->advice[0].risk.empty());
  // It makes more itself.
  CHECK(test::find(with("decode_image", 6, 4), "transform.in_process"));
  // Others have the cores: no change gains 5 %, and that is no health.
  const Analysis full = with("matmul_forward", 4, 2);
  REQUIRE(full.verdict.withheld);
  CHECK(full.verdict.withheld->why == NoVerdict::Why::kNoFix);
}

TEST_CASE(
    "what a thread does that runs none of the functions of a main thread that trains is data") {
  const std::string main = "0s slice thread=1 duration=10s run=4s wait=futex samples=1000\n" +
                           own(1, "step", "offset=1000 samples=400 loop=updates");
  const auto beside = [&](const std::string& does) {
    return phasesOf(main + slice(2, "10s", "running") + does);
  };
  const std::string tanh = native(2, "/lib/libm.so.6", "__tanhf_fma", 300);
  const auto other = beside(own(2, "scale", "offset=5000 samples=700 loop=updates") + tanh);
  CHECK(near(other.transform, 0.6));
  CHECK(near(other.compute, 0.4));
  // A part of the step, by the function or by a name.
  CHECK(near(beside(own(2, "step", "offset=1000 samples=700 loop=updates") + tanh).transform, 0));
  CHECK(near(beside(own(2, "matmul_backward", "offset=5000 samples=700") + tanh).transform, 0));
}
