// SPDX-License-Identifier: MIT
#include "sampler/processes/mapped_files.h"

#include "tests/catch.h"
#include "tests/unit/sampler/durations.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;

namespace {

const std::string kProgram =
    "55d0a0000000-55d0a0200000 r--p 00000000 fe:00 11 /usr/bin/python3.11\n"
    "55d0a0200000-55d0a0400000 r-xp 00200000 fe:00 11 /usr/bin/python3.11\n"
    "7f10a0000000-7f10b0000000 r--p 00000000 fe:00 12 /usr/lib/libtorch_cpu.so\n"
    "7f10b0000000-7f10c0000000 r-xp 10000000 fe:00 12 /usr/lib/libtorch_cpu.so\n"
    "7f10c0000000-7f10c0010000 r--p 00000000 fe:00 13 /usr/lib/locale/locale-archive\n"
    "7f10d0000000-7f10e0000000 rw-p 00000000 00:00 0 \n"
    "7f10e0000000-7f10f0000000 rw-s 00000000 00:18 14 /dev/shm/torch_1_2\n"
    "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n";
const std::string kIndex = "7f2000000000-7f2000200000 r--s 00000000 fe:00 20 /data/my index.bin\n";
const std::string kData =
    "7f3000000000-7f3040000000 r--s 00000000 fe:00 21 /data/train.npy\n"
    "7f3040000000-7f3080000000 r--s 40000000 fe:00 21 /data/train.npy\n";

}  // namespace

TEST_CASE("the mapped data file is the one with nearly all that is mapped of files") {
  CHECK(MappedFiles::largest(kProgram).path.empty());
  CHECK(MappedFiles::largest(kProgram + kIndex).path == "/data/my index.bin");
  const auto found = MappedFiles::largest(kProgram + kIndex + kData);
  CHECK(found.path == "/data/train.npy");
  CHECK(found.bytes == 0x80000000);
  const std::string other = "7f4000000000-7f4020000000 r--s 0 fe:00 22 /data/val.npy\n";
  CHECK(MappedFiles::largest(kProgram + kData + other).path.empty());  // one of two
  CHECK(MappedFiles::largest("torn 7f").path.empty());
}

TEST_CASE("a process's maps are read once in ten seconds") {
  Machine machine;
  machine.file("proc/9/maps", kProgram);
  MappedFiles files(machine.root());
  CHECK(files.of(9, kSecond).path.empty());
  machine.file("proc/9/maps", kProgram + kData);
  CHECK(files.of(9, 5 * kSecond).path.empty());
  CHECK(files.of(9, 12 * kSecond).path == "/data/train.npy");
}
