// SPDX-License-Identifier: MIT
#include "analysis/describe/resources.h"

#include <cmath>

#include "analysis/facts/usage.h"
#include "tests/unit/analysis/near.h"
#include "tests/unit/analysis/text_trace.h"

using namespace stallprof;
using namespace stallprof::test;
using namespace std::chrono_literals;

namespace {

// A trainer whose window is 10 s to 20 s, with process 2 as its worker if `worker`.
TrainerFacts trainerWith(bool worker) {
  TrainerFacts facts;
  facts.process = ProcessId{1};
  facts.thread = ThreadId{1};
  facts.windowBegin = 10s;
  facts.windowEnd = 20s;
  if (worker) {
    facts.workers.emplace_back();
    facts.workers.back().process = ProcessId{2};
  }
  return facts;
}

// A process that has used so much CPU after 20 s.
std::string cpuOf(int process, const std::string& used) {
  const std::string usage = "usage process=" + std::to_string(process) + " cpu=";
  return "0 " + usage + "0\n20s " + usage + used + "\n";
}

RunFacts runOf(const Trace& trace, bool worker) {
  return measureRun(trace, trainerWith(worker), findRoles(trace));
}

Epoch epoch(Nanos begin, Nanos end, Nanos wait, bool evaluation = false) {
  Epoch p;
  p.begin = begin;
  p.end = end;
  p.wait = wait;
  p.steps = 5;
  p.evaluation = evaluation;
  return p;
}

}  // namespace

TEST_CASE("what workers read that have ended counts once, though their parent then has it, too") {
  std::string text = kTrainer + kWorker;
  for (int second = 10; second <= 20; ++second) {
    const std::string at = std::to_string(second) + "s usage process=";
    // The worker reads 1 MB a second and ends at 15 s; the trainer reads nothing itself.
    if (second <= 15)
      text += at + "2 read_bytes=" + std::to_string((second - 10) * 1'000'000) + "\n";
    text += at + "1 read_bytes=" + std::to_string(second > 15 ? 5'000'000 : 0) + "\n";
  }
  const RunFacts run = runOf(traceOf(text + "15100ms process_gone process=2\n"), true);
  REQUIRE(run.readBytesPerSecond);
  CHECK(std::abs(*run.readBytesPerSecond - 500'000) < 60'000);
}

TEST_CASE("what an ended worker moved and worked after its last sample counts once") {
  // Workers of 1900 ms, one after the other, at 1 MB/s and on one of two cores; the sample of each
  // is of 1000 ms, the rest only in what its parent waited for.
  std::string text = kTrainer + "manifest cores_usable=2\n0 host busy=0 job_cpu=0\n";
  TrainerFacts facts = trainerWith(false);
  for (int i = 0; i < 10; ++i) {
    const std::string id = std::to_string(2 + i);
    const int begin = 2000 * i + 10;
    const auto at = [&](int ms) { return std::to_string(begin + ms) + "ms "; };
    text += at(0) + "process process=" + id + " parent=1 pid=20" + id + "\n";
    text += at(1000) + "usage process=" + id + " cpu=1s read_bytes=1000000\n";
    text += at(1900) + "process_gone process=" + id + "\n";
    const std::string ended = std::to_string((i + 1) * 1900);
    text += at(1950) + "usage process=1 cpu=0 read_bytes=" + ended + "000\n";
    text += at(1980) + "host busy=" + ended + "ms job_cpu=" + ended + "ms\n";
    facts.workers.emplace_back();
    facts.workers.back().process = ProcessId{static_cast<std::uint32_t>(2 + i)};
  }
  const Trace trace = traceOf(text + "0 usage process=1 cpu=0 read_bytes=0\n");
  const RunFacts run = measureRun(trace, facts, findRoles(trace));
  REQUIRE(run.jobCpuRatio);
  CHECK(std::abs(*run.jobCpuRatio - 0.95 / 2) < 0.01);
  REQUIRE(run.readBytesPerSecond);
  CHECK(std::abs(*run.readBytesPerSecond - 950'000) < 60'000);
}

TEST_CASE("a process's counter before its first sample is as even as between two") {
  const Trace trace = traceOf(kTrainer + "1s process process=2 parent=1 pid=102\n" +
                              "3s usage process=2 cpu=2s\n4s usage process=2 cpu=2s\n");
  const auto until = [&](Nanos end) {
    return used(trace.process(ProcessId{2}), &ProcessUsage::cpu, {Nanos{}, end});
  };
  CHECK(equals(until(2s), 1e9));
  CHECK(equals(until(4s), 2e9));
}

TEST_CASE("what a child read that nobody waits for takes nothing from its parent's reads") {
  std::string text = kTrainer + kWorker + "10s usage process=2 read_bytes=50000000\n";
  for (int second = 10; second <= 20; ++second)
    text += std::to_string(second) +
            "s usage process=1 read_bytes=" + std::to_string((second - 10) * 1'000'000) + "\n";
  const RunFacts run = runOf(traceOf(text + "11s process_gone process=2\n"), true);
  REQUIRE(run.readBytesPerSecond);
  CHECK(std::abs(*run.readBytesPerSecond - 1'000'000) < 60'000);
}

TEST_CASE("the threads that the training program gives itself are those of its last call by then") {
  const RunFacts run =
      runOf(traceOf(kTrainer + kWorker +
                    "1s setting process=1 name=\"torch.set_num_threads\" from=\"4\" to=\"4\" "
                    "file=\"train.py\" line=7\n"
                    "2s setting process=1 name=\"torch.set_num_threads\" from=\"2\" to=\"2\" "
                    "file=\"train.py\" line=9\n"
                    "3s setting process=2 name=\"torch.set_num_threads\" from=\"1\" to=\"1\"\n"
                    "4s setting process=1 name=\"torch.set_num_threads\" from=\"-1\" to=\"-1\"\n"
                    "5s setting process=1 name=\"num_workers\" from=\"0\" to=\"8\"\n"
                    "20s setting process=1 name=\"torch.set_num_threads\" from=\"5\" to=\"5\"\n"),
            true);
  REQUIRE(run.threadsSet);
  CHECK(run.threadsSet->threads == 2);
  CHECK(run.threadsSet->where.file.raw() == "train.py");
  CHECK(run.threadsSet->where.line == 9);
  CHECK_FALSE(runOf(traceOf(kTrainer), false).threadsSet);
}

TEST_CASE("CPU: the job's, others' and stolen, as shares of the usable cores over the window") {
  const RunFacts run = runOf(traceOf("manifest cores_usable=4\n"
                                     "0 host busy=0 steal=0 job_cpu=0\n"
                                     "20s host busy=40s steal=2s job_cpu=30s\n"
                                     "0 recorder cpu=0\n20s recorder cpu=2s\n"
                                     "0 cgroup throttled=0\n20s cgroup throttled=4s\n"),
                             false);
  CHECK(run.cores == 4);
  CHECK(equals(run.jobCpuRatio, 15.0 / 40));
  CHECK(equals(run.externalCpuRatio, (20.0 - 15 - 1) / 40));
  CHECK(equals(run.stealRatio, 1.0 / 40));
  CHECK(equals(run.throttledRatio, 4.0 / (4 + 30)));
}

TEST_CASE("shares and rates of the job are of the time in which it was not stopped") {
  const Trace trace = traceOf(kTrainer + "manifest cores_usable=4\n" + cpuOf(1, "20s") +
                              "0 usage process=1 read_bytes=0 write_bytes=0\n"
                              "20s usage process=1 read_bytes=8000 write_bytes=4000 cpu=20s\n");
  TrainerFacts facts = trainerWith(false);
  facts.stopped = 5s;
  facts.epochs = {epoch(10s, 18s, 1s), epoch(18s, 20s, 1s)};
  facts.epochs[0].stopped = 5s;
  const Roles roles = findRoles(trace);
  const RunFacts run = measureRun(trace, facts, roles);
  CHECK(equals(run.jobCpuRatio, 10.0 / (4 * 5)));
  CHECK(equals(run.readBytesPerSecond, 4000 / 5));
  const Resources resources = measureResources(trace, facts, roles, run);
  CHECK(equals(resources.writeBytesPerSecond, 2000 / 5));
  const std::vector<EpochInfo> epochs = measureEpochs(trace, facts, roles, run);
  CHECK(epochs.at(0).wall == 3s);
  CHECK(epochs.at(0).period == Maybe<Nanos>(3s));
  CHECK(equals(epochs.at(0).dataWaitRatio, 1.0 / 3));
}

TEST_CASE("others count on the CPUs that the job may run on, not on the rest of the host") {
  const std::string text =
      "manifest cores_usable=1 cores_online=2\n"
      "0 host busy=0 job_cpu=0 allowed_cpus=1 allowed_busy=0 allowed_steal=0 beside_busy=0\n"
      "20s host busy=40s job_cpu=19s allowed_cpus=1 allowed_busy=20s allowed_steal=500ms "
      "beside_busy=20s\n0 recorder cpu=0\n20s recorder cpu=200ms\n";
  const RunFacts run = runOf(traceOf(text), false);
  CHECK(equals(run.externalCpuRatio, 0.8 / 20));
  CHECK(equals(run.stealRatio, 0.5 / 20));
  CHECK(equals(run.besideBusyRatio, 1));
  // A recording that does not know them says nothing of a part of a host.
  const RunFacts old = runOf(traceOf("manifest cores_usable=1 cores_online=2\n"
                                     "0 host busy=0 job_cpu=0\n20s host busy=40s job_cpu=19s\n"),
                             false);
  CHECK(!old.externalCpuRatio);
}

TEST_CASE("under a quota what others use beyond it takes nothing from the job") {
  const auto runWith = [](const std::string& busy) {
    return runOf(traceOf("manifest cores_usable=2 cores_online=8\n"
                         "0 host job_cpu=0 allowed_cpus=8 allowed_busy=0 allowed_steal=0\n"
                         "20s host job_cpu=40s allowed_cpus=8 allowed_steal=0 allowed_busy=" +
                         busy + "\n0 cgroup cpu_milli=2000 throttled=0 cpu=0\n" +
                         "20s cgroup cpu_milli=2000 throttled=120s cpu=40s\n"),
                 false);
  };
  const RunFacts run = runWith("150s");
  CHECK(run.cores == 2);
  CHECK(equals(run.jobCpuRatio, 1));
  CHECK(equals(run.externalCpuRatio, 0));   // 110 of 120 seconds that the quota leaves to others
  CHECK(equals(run.throttledRatio, 0.75));  // eight threads on two cores' worth: 6 of 8, not 600 %
  CHECK(equals(runWith("168s").externalCpuRatio, 8.0 / 40));
}

TEST_CASE("a quota's share is known of a window that is too short for the job's own CPU") {
  TrainerFacts facts = trainerWith(false);
  facts.windowBegin = Nanos(1'000'000'000);
  facts.windowEnd = Nanos(2'500'000'000);
  const auto runWith = [&](const std::string& cpu) {
    const Trace trace = traceOf(
        "0 host job_cpu=0\n1s host job_cpu=1s\n2s host job_cpu=2s\n"
        "1s cgroup cpu_milli=500 throttled=1s cpu=" +
        cpu + "\n2s cgroup cpu_milli=500 throttled=4s" + (cpu == "-1" ? "" : " cpu=1s") + "\n");
    return measureRun(trace, facts, findRoles(trace));
  };
  CHECK(!runWith("0").jobCpuRatio);
  CHECK(equals(runWith("0").throttledRatio, 0.75));
  CHECK(!runWith("-1").throttledRatio);  // of the job's CPU, which is not known
}

TEST_CASE("a quota that came later stops a share of the job's own CPU, not of another group's") {
  const RunFacts run = runOf(traceOf("manifest cores_usable=2 cores_online=2\n"
                                     "0 host job_cpu=0\n20s host job_cpu=12s\n"
                                     "0 cgroup cpu_milli=-1 throttled=0 cpu=900s\n"
                                     "11s cgroup cpu_milli=600 throttled=0\n"
                                     "20s cgroup cpu_milli=600 throttled=4s\n"),
                             false);
  CHECK(run.throttledRatio);
  CHECK(std::abs(*run.throttledRatio - 4.0 / (4 + 6)) < 0.01);
}

TEST_CASE("siblings are set apart from strangers; a limit that changes is a range") {
  const RunFacts run = runOf(
      traceOf("manifest cores_usable=2 cores_online=2\n"
              "0 host job_cpu=0 allowed_cpus=2 allowed_busy=0 siblings=0 sibling_cpu=0\n"
              "10s host job_cpu=8s allowed_cpus=2 allowed_busy=18s siblings=2 sibling_cpu=9s\n"
              "20s host job_cpu=16s allowed_cpus=2 allowed_busy=36s siblings=2 sibling_cpu=18s\n"
              "0 cgroup cpu_milli=-1 throttled=0\n20s cgroup cpu_milli=600 throttled=0\n"),
      false);
  CHECK(run.siblings == 2);
  REQUIRE(run.coresRange);
  CHECK(run.coresRange->first == 0.6);
  CHECK(run.coresRange->second == 2);
  CHECK(run.cores == 1.3);
  CHECK(equals(run.externalCpuRatio, 0));
  CHECK(equals(run.siblingCpuRatio, (9 + 1 - 7) / 13.0));
}

TEST_CASE("hardware threads of a core count as little more than one") {
  const auto asOne = [](const char* cores, const char* quota) {
    return runOf(traceOf(std::string("0 host job_cpu=0 allowed_cpus=4 allowed_cores=") + cores +
                         "\n20s host job_cpu=9s allowed_cpus=4 allowed_cores=" + cores +
                         "\n0 cgroup cpu_milli=" + quota + "\n"),
                 false)
        .coresAsOne;
  };
  CHECK(asOne("2", "-1") == 2.5);
  CHECK_FALSE(asOne("2", "2000"));  // two of the threads may have a core each
  CHECK_FALSE(asOne("4", "-1"));
  CHECK_FALSE(asOne("-1", "-1"));
}

TEST_CASE("a window shorter than two samples of the host says nothing of who used its CPU") {
  const Trace trace = traceOf(
      "10s host busy=0 job_cpu=0\n11s host busy=1s job_cpu=0\n12s host busy=2s job_cpu=1s\n");
  TrainerFacts facts = trainerWith(false);
  facts.windowEnd = 11s;
  const RunFacts run = measureRun(trace, facts, findRoles(trace));
  CHECK(!run.jobCpuRatio);
  CHECK(!run.externalCpuRatio);
}

TEST_CASE("the job's CPU is that of its processes' own samples; the host's row is an older sum") {
  const Trace trace = traceOf(kTrainer + kWorker +
                              "manifest cores_usable=2\n"
                              "0 usage process=1 cpu=0\n21s usage process=1 cpu=10500ms\n"
                              "0 usage process=2 cpu=0\n21s usage process=2 cpu=4200ms\n"
                              "0 host busy=0 job_cpu=0\n"
                              "10s host busy=8s job_cpu=2s\n"
                              "20s host busy=16s job_cpu=14700ms\n");
  const RunFacts run = runOf(trace, true);
  CHECK(equals(run.jobCpuRatio, 7.0 / 20));
  CHECK(equals(run.externalCpuRatio, 1.0 / 20));
}

TEST_CASE("CPU of processes that came and went between two samples counts when it was used") {
  const auto jobIs = [](const char* at10, const char* at20) {
    return runOf(traceOf(kTrainer +
                         "manifest cores_usable=2\n"
                         "0 usage process=1 cpu=0\n9s usage process=1 cpu=4s\n"
                         "19s usage process=1 cpu=9s\n21s usage process=1 cpu=10s\n"
                         "0 host busy=0 job_cpu=0\n10s host busy=8s job_cpu=" +
                         at10 + "\n20s host busy=16s job_cpu=" + at20 + "\n"),
                 true)
        .jobCpuRatio;
  };
  CHECK(equals(jobIs("4s", "9s"), 5.0 / 20));
  CHECK(equals(jobIs("4s", "12s"), 7.0 / 20));  // and 2 s of others, all in the window
  CHECK(equals(jobIs("7s", "12s"), 5.0 / 20));  // all before it
}

TEST_CASE("CPU beside the pipeline is what neither the trainer nor the making of batches used") {
  const Trace trace =
      traceOf(kTrainer + kWorker + "0 process process=3 pid=103 comm=\"server\"\n" +
              "manifest cores_usable=2\n" + cpuOf(1, "10s") + cpuOf(2, "8s") + cpuOf(3, "2s"));
  TrainerFacts facts = trainerWith(true);
  facts.processCpu = 5s;
  facts.steps.emplace_back();
  BatchWork work;
  work.worker = 0;
  work.begin = 8s;
  work.end = 18s;
  work.cpu = 3750ms;  // 3 s of it in the window
  facts.works.push_back(work);
  const RunFacts run = measureRun(trace, facts, findRoles(trace));
  CHECK(equals(run.besideCpuRatio, (10.0 - 5 - 3) / 20));
  facts.steps.clear();
  CHECK(!measureRun(trace, facts, findRoles(trace)).besideCpuRatio);
}

TEST_CASE("what a worker does until it asks for its first task is its start") {
  // On a core for 8 s of the 20.
  const auto beside = [](const std::string& asks) {
    const Trace trace = traceOf(kTrainer + kWorker + asks +
                                " worker thread=2 key=7 worker=0 workers=1\n"
                                "manifest cores_usable=2\n" +
                                cpuOf(1, "10s") + cpuOf(2, "8s"));
    TrainerFacts facts = trainerWith(true);
    facts.processCpu = 5s;
    facts.steps.emplace_back();
    return measureRun(trace, facts, findRoles(trace)).besideCpuRatio;
  };
  CHECK(equals(beside("5s"), 4.0 / 20));   // before the window
  CHECK(equals(beside("15s"), 2.0 / 20));  // half of it
}

TEST_CASE("programs that a worker starts are of its batches, not beside the pipeline") {
  const auto runWith = [](const std::string& parent) {
    const Trace trace = traceOf(kTrainer + kWorker + "0 process process=3 parent=" + parent +
                                " pid=103 comm=\"ffmpeg\"\nmanifest cores_usable=2\n"
                                "0 worker thread=2 key=7 worker=0 workers=1\n" +
                                cpuOf(1, "10s") + cpuOf(2, "8s") + cpuOf(3, "8s"));
    TrainerFacts facts = trainerWith(true);
    facts.processCpu = 5s;
    facts.steps.emplace_back();
    return measureRun(trace, facts, findRoles(trace));
  };
  const RunFacts ofWorker = runWith("2"), ofTrainer = runWith("1");
  CHECK(std::abs(ofWorker.childCpu - 4) < 1e-6);  // of the 10 s of the window
  CHECK(ofTrainer.childCpu == 0);
  CHECK(equals(ofTrainer.besideCpuRatio, *ofWorker.besideCpuRatio + 4.0 / 20));
}

TEST_CASE("what a page fault costs is known from the seconds that are full of them") {
  const auto cost = [](const std::string& text) {
    return runOf(traceOf(kTrainer + text), false).faultSeconds;
  };
  CHECK(equals(cost("0 usage process=1 minflt=0 system=0\n"
                    "1s usage process=1 minflt=30000 system=90ms\n"
                    "2s usage process=1 minflt=30100 system=500ms\n"),
               3e-6));
  CHECK(equals(cost("0 usage process=1 minflt=0 system=0\n"
                    "1s usage process=1 minflt=30000 system=0\n"),
               0.2e-6));
  CHECK(!cost("0 usage process=1 minflt=0 system=0\n1s usage process=1 minflt=90 system=90ms\n"));
}

TEST_CASE("page faults of a worker are those of the window, without its start") {
  const auto faults = [](const std::string& text) {
    return runOf(traceOf(kTrainer + kWorker + text), true).workerFaultsPerSecond;
  };
  const std::string start =
      "8s usage process=2 minflt=0 cpu=0\n"
      "11s usage process=2 minflt=90000 cpu=1s\n";
  CHECK(equals(faults(start + "13s usage process=2 minflt=490000 cpu=3s\n"
                              "19s usage process=2 minflt=1090000 cpu=6s\n"
                              "25s usage process=2 minflt=9090000 cpu=8s\n"),
               200'000));
  CHECK(!faults(start + "12s usage process=2 minflt=190000 cpu=1100ms\n"));  // too short
  CHECK(!faults(start + "19s usage process=1 minflt=9090000 cpu=8s\n"));
}

TEST_CASE("a page cache that later epochs miss, or that does not grow, keeps nothing") {
  const std::string room =
      "0 usage process=1 rchar=0 read_bytes=0\n"
      "0 host mem_available=9000 page_cache=1000\n";
  const auto keeps = [&](const std::string& text, std::vector<Epoch> epochs) {
    TrainerFacts facts = trainerWith(false);
    facts.epochs = std::move(epochs);
    const Trace trace = traceOf(kTrainer + room + text);
    return measureRun(trace, facts, findRoles(trace)).pageCacheKeeps;
  };
  const std::vector<Epoch> one = {epoch(0s, 20s, 0s)},
                           two = {epoch(0s, 10s, 0s), epoch(10s, 20s, 0s)};
  const std::string direct = "20s usage process=1 rchar=2000 read_bytes=2000\n";
  CHECK(keeps(direct, two) == Maybe<bool>(false));
  CHECK(keeps("10s usage process=1 rchar=1000 read_bytes=1000\n"
              "20s usage process=1 rchar=2000 read_bytes=1000\n",
              two) == Maybe<bool>(true));
  CHECK(keeps(direct + "20s host mem_available=9000 page_cache=1010\n", one) == Maybe<bool>(false));
  CHECK(keeps(direct + "20s host mem_available=9000 page_cache=3000\n", one) == Maybe<bool>(true));
  CHECK(!keeps(direct, one));  // the cache was sampled once
}

TEST_CASE("what was never counted is null, never zero") {
  const RunFacts run = runOf(traceOf(kTrainer + "20s host\n20s usage process=1\n"), false);
  CHECK(!run.jobCpuRatio);
  CHECK(!run.externalCpuRatio);
  CHECK(!run.readBytesPerSecond);
  CHECK(!run.cacheHitRatio);
  CHECK(!run.opensPerSecond);
  CHECK(!run.memoryAvailable);
  CHECK(!run.swapPagesPerSecond);
  CHECK(run.waitWhat.empty());
}

TEST_CASE("reading is measured at this trainer's own workers, not at another rank's") {
  const Trace trace = traceOf(
      kTrainer + kWorker + "0 process process=3 parent=9 pid=103 comm=\"pt_data_worker\"\n" +
      "0 usage process=1 rchar=0 syscr=0 read_bytes=0 majflt=0\n"
      "20s usage process=1 rchar=7000 syscr=7 read_bytes=0 majflt=0\n"
      "0 usage process=2 rchar=0 syscr=0 read_bytes=0 majflt=0\n"
      "20s usage process=2 rchar=80000 syscr=20 read_bytes=20000 majflt=40\n"
      "0 usage process=3 rchar=0 syscr=0 read_bytes=0 majflt=0\n"
      "20s usage process=3 rchar=900000 syscr=900 read_bytes=0 majflt=0\n");
  for (const bool annotated : {true, false}) {  // by the hook, or by role and parent
    const RunFacts run = runOf(trace, annotated);
    CHECK(equals(run.bytesPerReadCall, 4000));
    CHECK_FALSE(run.cacheHitRatio.has_value());  // the faults may have brought all of it
    CHECK(equals(run.readCallsPerSecond, 1));
    CHECK(equals(run.majorFaultsPerSecond, 2));
    CHECK(equals(run.bytesPerMajorFault, 500));
    CHECK(equals(run.readBytesPerSecond, 1000));
  }
}

TEST_CASE("without workers the trainer itself reads") {
  const RunFacts run =
      runOf(traceOf(kTrainer +
                    "0 usage process=1 rchar=0 syscr=0\n20s usage process=1 rchar=800 syscr=4"),
            false);
  CHECK(equals(run.bytesPerReadCall, 200));
}

TEST_CASE("blocked time is named by what the producers were blocked in, in the window only") {
  const RunFacts run =
      runOf(traceOf(kTrainer + kWorker +
                    "5s slice thread=2 duration=1s wait=file_read what=\"/early\"\n"
                    "11s slice thread=2 duration=1s run=100ms wait=file_read what=\"/a\"\n"
                    "12s slice thread=2 duration=100ms wait=socket what=\"host:80\"\n"
                    "13s slice thread=2 duration=1s wait=futex what=\"lock\"\n"
                    "13s slice thread=1 duration=1s wait=file_read what=\"/trainer\"\n"
                    "21s slice thread=2 duration=1s wait=file_read what=\"/late\"\n"
                    "11s file process=2 path=\"/a\" type=\"ext4\" waits=4\n"
                    "12s file process=2 path=\"/b\" type=\"nfs4\" waits=5\n"
                    "5s file process=2 path=\"/early\" type=\"tmpfs\" waits=9\n"
                    "12s file process=1 path=\"/trainer\" type=\"xfs\" waits=9\n"),
            true);
  REQUIRE(run.waitWhat.size() == 2);
  CHECK(run.waitWhat[0].first == "/a");
  CHECK(equals(run.waitWhat[0].second, 0.9));
  CHECK(run.waitWhat[1].first == "host:80");
  CHECK(run.storageType == "nfs4");
}

TEST_CASE("the page cache's share is not known where storage reads are not counted") {
  const std::string counters =
      "0 usage process=2 rchar=0 read_bytes=0 majflt=0\n"
      "20s usage process=2 rchar=80000000 read_bytes=20000000 majflt=10\n";
  const auto runWith = [&](const std::string& rows) {
    return runOf(traceOf(kTrainer + kWorker + counters + rows), true);
  };
  CHECK(equals(runWith("").cacheHitRatio, 0.75));
  const std::string local = "11s file process=2 path=\"/a\" type=\"ext4\" waits=96\n";
  CHECK(equals(
      runWith(local + "12s file process=2 path=\"/b\" type=\"nfs4\" waits=4\n").cacheHitRatio,
      0.75));
  for (const char* type :
       {"nfs4", "fuse.gcsfuse", "overlay", "tmpfs", "lustre", "squashfs", "zfs"}) {
    const RunFacts run =
        runWith(local + "12s file process=2 path=\"/b\" type=\"" + type + "\" waits=9\n");
    CHECK_FALSE(run.readsCounted);
    CHECK_FALSE(run.cacheHitRatio.has_value());
    CHECK_FALSE(run.pageCacheKeeps.has_value());
    CHECK(run.readBytesPerSecond.has_value());
  }
  // Held open, never waited for: what is read of it comes from memory.
  CHECK(runWith("12s file process=2 path=\"/b\" type=\"nfs4\" waits=0\n").readsCounted);
  CHECK_FALSE(
      runWith(local + "12s slice thread=2 duration=1s wait=socket samples=20\n").readsCounted);
}

TEST_CASE("what a worker reads from a program that it started is no read of the page cache") {
  const auto ratioOf = [](const std::string& chars) {
    return runOf(traceOf(kTrainer + kWorker +
                         "1s process process=3 pid=103 parent=2 comm=\"sh\"\n"
                         "1s process process=4 pid=104 parent=3 comm=\"curl\"\n"
                         "1s usage process=4 wchar=0\n20s usage process=4 wchar=" +
                         chars +
                         "\n"
                         "0 usage process=2 rchar=0 read_bytes=0\n"
                         "20s usage process=2 rchar=80000000 read_bytes=20000000\n"),
                 true)
        .cacheHitRatio;
  };
  CHECK(equals(ratioOf("100000"), 0.75));  // its log
  CHECK_FALSE(ratioOf("80000000").has_value());
}

TEST_CASE(
    "mapped reads are in the storage's bytes, not in the calls': no share of the page cache") {
  const RunFacts run = runOf(
      traceOf(kTrainer + kWorker +
              "0 usage process=2 rchar=0 read_bytes=0 majflt=0\n"
              "20s usage process=2 rchar=300000 read_bytes=20000000 majflt=5000\n"
              "12s file process=2 path=\"/d/train.npy\" type=\"ext4\" size=600000000 waits=9\n"
              "13s file process=2 path=\"/d/train.npy\" type=\"ext4\" size=600000000 waits=9\n"),
      true);
  CHECK_FALSE(run.cacheHitRatio.has_value());
  CHECK(equals(run.bytesPerMajorFault, 4000));
}

TEST_CASE("offsets of the producers' reads say how many went back, from 20 pairs on") {
  const auto ratioOf = [](const std::string& rows) {
    return runOf(traceOf(kTrainer + kWorker +
                         "5s file process=2 path=\"/early\" waits=90 scattered=90\n"
                         "12s file process=1 path=\"/trainer\" waits=90 scattered=90\n" +
                         rows),
                 true)
        .scatteredReadRatio;
  };
  const std::string some = "11s file process=2 path=\"/a\" waits=20 onward=15 scattered=4\n";
  CHECK_FALSE(ratioOf(some).has_value());
  CHECK(equals(ratioOf(some + "12s file process=2 path=\"/b\" waits=9 onward=1\n"), 0.2));
}

TEST_CASE("a best second below the mean is none: a short run has no whole second") {
  const std::string disk =
      "10s process process=1 pid=101\n10s disk device=\"vda\" read_bytes=0 busy=0\n"
      "11s disk device=\"vda\" read_bytes=100 busy=500ms\n10s usage process=1 read_bytes=0\n";
  const auto runReading = [&](int bytes) {
    return runOf(traceOf(disk + "20s usage process=1 read_bytes=" + std::to_string(bytes) + "\n"),
                 false);
  };
  CHECK(equals(runReading(900).peakReadBytesPerSecond, 100));
  CHECK_FALSE(runReading(3000).peakReadBytesPerSecond.has_value());
}

TEST_CASE("the busiest disk gives the best second and how busy it was") {
  const RunFacts run = runOf(traceOf("10s disk device=\"vda\" read_bytes=0 busy=0\n"
                                     "11s disk device=\"vda\" read_bytes=100 busy=500ms\n"
                                     "12s disk device=\"vda\" read_bytes=900 busy=1500ms\n"
                                     "12100ms disk device=\"vda\" read_bytes=1900 busy=1600ms\n"
                                     "20s disk device=\"vda\" read_bytes=2000 busy=5s\n"
                                     "10s disk device=\"vdb\" read_bytes=0 busy=0\n"
                                     "20s disk device=\"vdb\" read_bytes=10 busy=10s\n"),
                             false);
  CHECK(equals(run.diskBusyRatio, 0.5));
  CHECK(equals(run.peakReadBytesPerSecond, 800));  // a tenth of a second is no rate
}

TEST_CASE("the disk is the one that the job can have read from, or all where no single one is") {
  // Others read ten times as much from vdb.
  const auto reading = [](int ofJob) {
    return runOf(
        traceOf(kTrainer + "10s usage process=1 read_bytes=0\n20s usage process=1 read_bytes=" +
                std::to_string(ofJob) +
                "\n10s disk device=\"vda\" read_bytes=0 busy=0\n"
                "11s disk device=\"vda\" read_bytes=200 busy=1s\n"
                "20s disk device=\"vda\" read_bytes=1000 busy=9s\n"
                "10s disk device=\"vdb\" read_bytes=0 busy=0\n"
                "11s disk device=\"vdb\" read_bytes=1000 busy=1s\n"
                "20s disk device=\"vdb\" read_bytes=10000 busy=2s\n"),
        false);
  };
  CHECK(equals(reading(1000).diskBusyRatio, 0.9));
  CHECK(equals(reading(1000).peakReadBytesPerSecond, 200));
  CHECK(equals(reading(9000).diskBusyRatio, 0.2));
  CHECK(equals(reading(9000).peakReadBytesPerSecond, 1000));
  // A part of its data on each.
  CHECK(equals(reading(11500).diskBusyRatio, (1.0 * 0.9 + 10 * 0.2) / 11));
  CHECK(equals(reading(11500).peakReadBytesPerSecond, 1200));
}

TEST_CASE("no disk of the host is what a server's files are read from") {
  const std::string disk =
      "10s disk device=\"vda\" read_bytes=0 busy=0\n11s disk device=\"vda\" read_bytes=100 "
      "busy=900ms\n"
      "20s disk device=\"vda\" read_bytes=2000 busy=9s\n" +
      kTrainer;
  const auto waitingFor = [&](const char* type) {
    return runOf(
        traceOf(disk + "15s file process=1 path=\"/d/a\" type=\"" + type + "\" waits=50\n"), false);
  };
  for (const char* type : {"ext4", "fuseblk"}) CHECK(equals(waitingFor(type).diskBusyRatio, 0.9));
  for (const char* type : {"lustre", "nfs4", "tmpfs"}) {
    const RunFacts run = waitingFor(type);
    CHECK_FALSE(run.diskBusyRatio.has_value());
    CHECK_FALSE(run.peakReadBytesPerSecond.has_value());
  }
}

TEST_CASE("memory: the least available, the room of the group, shared memory and pressure") {
  const RunFacts run =
      runOf(traceOf("10s host mem_available=900 mem_total=1000 shm_used=5 shm_total=100 "
                    "psi_memory=0 swap_in=0 swap_out=0\n"
                    "15s host mem_available=300 mem_total=1000 shm_used=40 shm_total=100\n"
                    "20s host mem_available=500 mem_total=1000 shm_used=10 shm_total=100 "
                    "psi_memory=1s swap_in=20 swap_out=30\n"
                    "25s host mem_available=1 shm_used=99\n"
                    "15s cgroup memory=600 memory_limit=1000 file=100\n"
                    "16s cgroup memory=900 memory_limit=1000 file=200\n"),
            false);
  CHECK(run.memoryAvailable == 300);
  CHECK(run.shmPeak == 40);
  CHECK(run.shmFree == 60);
  CHECK(run.cgroupHeadroom == 300);
  CHECK(equals(run.memoryPressureRatio, 0.1));
  CHECK(equals(run.swapPagesPerSecond, 5));
}

TEST_CASE("peak memory takes a process once a second, and what is shared once") {
  const Trace trace = traceOf(kTrainer + kWorker +
                              "15100ms usage process=1 rss=1000 shared=400\n"
                              "15900ms usage process=1 rss=1000 shared=400\n"
                              "15500ms usage process=2 rss=700 shared=500\n");
  const Resources resources = measureResources(trace, trainerWith(true), findRoles(trace), {});
  CHECK(resources.peakRssBytes == 600 + 200 + 500);
}

TEST_CASE("the report's resources: by role, written, network") {
  const Trace trace =
      traceOf(kTrainer + kWorker + "0 usage process=1 cpu=0 write_bytes=0\n" +
              "20s usage process=1 cpu=10s write_bytes=4000\n0 usage process=2 cpu=0\n"
              "20s usage process=2 cpu=4s\n1s optimizer thread=1 optimizer=1\n"
              "0 network interface=\"eth0\"\n20s network interface=\"eth0\" rx=2000 tx=400\n"
              "0 network interface=\"eth1\"\n20s network interface=\"eth1\" rx=600\n");
  TrainerFacts facts = trainerWith(true);
  facts.workers[0].lastResident = 77;
  RunFacts run;
  run.cores = 2;
  const Resources resources = measureResources(trace, facts, findRoles(trace), run);
  REQUIRE(resources.roleCpuRatio.size() == 2);
  CHECK(resources.roleCpuRatio[0].first == "trainer");
  CHECK(equals(resources.roleCpuRatio[0].second, 0.25));
  CHECK(resources.roleCpuRatio[1].first == "worker");
  CHECK(equals(resources.roleCpuRatio[1].second, 0.1));
  CHECK(equals(resources.writeBytesPerSecond, 200));
  CHECK(equals(resources.netBytesPerSecond, 150));
  CHECK(resources.workerRssBytes == 77);
}

TEST_CASE("epochs are of training, the cold one apart from the warm, workers new in each") {
  const Trace trace = traceOf(kTrainer +
                              "10s process process=2 parent=1 pid=102 comm=\"pt_data_worker\"\n"
                              "11s usage process=2 rchar=2000000 read_bytes=2000000\n"
                              "12s usage process=2 rchar=4000000 read_bytes=4000000\n"
                              "14s process process=3 parent=1 pid=103 comm=\"pt_data_worker\"\n"
                              "15s usage process=3 rchar=2000000 read_bytes=0\n"
                              "16s usage process=3 rchar=4000000 read_bytes=400000\n"
                              "18s usage process=3 rchar=4000000 read_bytes=400000\n"
                              "19s usage process=3 rchar=4900000 read_bytes=400000\n");
  TrainerFacts facts = trainerWith(true);
  facts.workers.push_back(facts.workers[0]);
  facts.workers[1].process = ProcessId{3};
  facts.epochs = {epoch(9s, 13s, 1s), epoch(13s, 13500ms, 0s, true), epoch(13900ms, 17900ms, 2s),
                  epoch(18s, 19s, 0s)};
  const std::vector<EpochInfo> epochs = measureEpochs(trace, facts, findRoles(trace), RunFacts{});
  REQUIRE(epochs.size() == 3);
  CHECK(equals(epochs[0].cacheHitRatio, 0));
  CHECK(equals(epochs[1].cacheHitRatio, 0.9));
  CHECK(!epochs[2].cacheHitRatio);  // under 1 MiB was read
  CHECK(equals(epochs[0].dataWaitRatio, 0.25));
  CHECK(equals(epochs[1].dataWaitRatio, 0.5));
  CHECK(epochs[1].index == 1);
  CHECK(epochs[1].wall == 4s);
  CHECK(epochs[1].steps == 5);
  CHECK(epochs[0].period == Maybe<Nanos>(4900ms));  // with the evaluation between
  CHECK(epochs[1].period == Maybe<Nanos>(4100ms));
  CHECK_FALSE(epochs[2].period.has_value());  // what follows the last is not known
}

TEST_CASE("an only epoch takes as long as it was, where it was not cut off") {
  const Trace trace = traceOf(kTrainer);
  TrainerFacts facts = trainerWith(false);
  facts.epochs = {epoch(9s, 13s, 1s)};
  const auto period = [&] {
    return measureEpochs(trace, facts, findRoles(trace), RunFacts{}).at(0).period;
  };
  CHECK_FALSE(period().has_value());
  facts.epochs[0].whole = true;
  CHECK(period() == Maybe<Nanos>(4s));
}

TEST_CASE("a window of no length measures nothing and divides by nothing") {
  const Trace trace = traceOf(kTrainer + "10s host busy=0 job_cpu=0\n");
  TrainerFacts facts = trainerWith(false);
  facts.windowEnd = facts.windowBegin;
  const RunFacts run = measureRun(trace, facts, findRoles(trace));
  CHECK(!run.jobCpuRatio);
  CHECK(!measureResources(trace, facts, findRoles(trace), run).netBytesPerSecond);
}

TEST_CASE("shared memory without a limit is not said to be full") {
  const RunFacts run = runOf(traceOf("10s host mem_available=900 shm_used=0 shm_total=0\n"
                                     "20s host mem_available=900 shm_used=0 shm_total=0\n"),
                             false);
  CHECK_FALSE(run.shmFree);
}
