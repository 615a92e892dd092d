// SPDX-License-Identifier: MIT
#include "launch/setup/child_environment.h"
#include "tests/catch.h"
#include "tests/unit/launch/installed_file.h"

using namespace stallprof;
using Words = std::vector<std::string>;

namespace {

const std::string kAgent = "/opt/lib/stallprof/libstallprof_agent.so";
Injection withAgent() {
  Injection injection;
  injection.recording = "/data/a.stallprof";
  injection.agent = kAgent;
  injection.activity = "/proc/5/fd/11";
  return injection;
}

}  // namespace

TEST_CASE("the agent is named to CUDA and to NVTX, and given the place to write to") {
  CHECK(withInjection({"A=1"}, withAgent()) ==
        Words{"A=1", "STALLPROF_RECORDING=/data/a.stallprof", "STALLPROF_ACTIVITY=/proc/5/fd/11",
              "CUDA_INJECTION64_PATH=" + kAgent, "NVTX_INJECTION64_PATH=" + kAgent});
}

TEST_CASE("without activity memory the agent is for NVTX alone") {
  Injection nvtx = withAgent();
  nvtx.activity.clear();
  CHECK(withInjection({"A=1"}, nvtx) ==
        Words{"A=1", "STALLPROF_RECORDING=/data/a.stallprof", "NVTX_INJECTION64_PATH=" + kAgent});
}

TEST_CASE("another tool's injection stays, and what stands for none does not") {
  const Words words = withInjection(
      {"CUDA_INJECTION64_PATH=/opt/nsys/libToolsInjection64.so", "NVTX_INJECTION64_PATH=none"},
      withAgent());
  CHECK(words == Words{"CUDA_INJECTION64_PATH=/opt/nsys/libToolsInjection64.so",
                       "STALLPROF_RECORDING=/data/a.stallprof", "STALLPROF_ACTIVITY=/proc/5/fd/11",
                       "NVTX_INJECTION64_PATH=" + kAgent});
  CHECK(foreignInjection(words, kCudaVariable) ==
        "CUDA_INJECTION64_PATH is another tool's ('/opt/nsys/libToolsInjection64.so')");
  CHECK(foreignInjection(words, kNvtxVariable).empty());
  CHECK(foreignInjection({"CUDA_INJECTION64_PATH="}, kCudaVariable).empty());
}

TEST_CASE("an agent that an outer run left is replaced, and goes where there is to be none") {
  Injection outer = withAgent();
  outer.agent = "/older/libstallprof_agent.so";
  const Words left = withInjection({"A=1"}, outer);
  CHECK(withInjection(left, withAgent()) == withInjection({"A=1"}, withAgent()));
  Injection none;
  none.recording = "/data/a.stallprof";
  CHECK(withInjection(left, none) == Words{"A=1", "STALLPROF_RECORDING=/data/a.stallprof"});
}

TEST_CASE("without an agent the user's own words are not touched") {
  Injection none;
  none.recording = "/r";
  const Words own = {"CUDA_INJECTION64_PATH=none", "NVTX_INJECTION64_PATH="};
  Words wanted = own;
  wanted.push_back("STALLPROF_RECORDING=/r");
  CHECK(withInjection(own, none) == wanted);
  Injection noMemory = withAgent();
  noMemory.activity.clear();
  noMemory.agent.clear();
  noMemory.recording = "/r";
  CHECK(withInjection(own, noMemory) == wanted);
}

TEST_CASE("an agent that others can write to is refused") {
  const test::InstalledFile agent("libstallprof_agent.so", 0755);
  CHECK(checkAgent(agent.path).ok());
  ::chmod(agent.path.c_str(), 0775);
  CHECK_FALSE(checkAgent(agent.path).ok());
  ::chmod(agent.path.c_str(), 0755);
  ::chmod(agent.directory.c_str(), 0777);
  CHECK_FALSE(checkAgent(agent.path).ok());
  agent.remove();
  CHECK_FALSE(checkAgent(agent.path).ok());
}
