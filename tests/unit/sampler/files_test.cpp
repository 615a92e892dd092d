// SPDX-License-Identifier: MIT
#include <set>

#include "event/file_systems.h"
#include "sampler/proc/file_log.h"
#include "sampler/proc/mounts.h"
#include "sampler/processes/open_files.h"
#include "tests/catch.h"
#include "tests/unit/sampler/durations.h"
#include "tests/unit/sampler/event_list.h"
#include "tests/unit/sampler/heap_bytes.h"
#include "tests/unit/sampler/machine.h"

using namespace stallprof;

namespace {

constexpr char kMountInfo[] =
    "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "30 22 0:40 / /data rw shared:5 - nfs4 server:/export rw,vers=4.2\n"
    "31 30 0:41 / /data/scratch rw - tmpfs tmpfs rw\n"
    "32 22 0:42 / /mnt/with\\040blank rw - fuse.sshfs host: rw\n"
    "33 22 0:43 / /data rw - ext4 /dev/vdb rw\n"
    "34 22 broken\n";

}  // namespace

TEST_CASE("a path belongs to its longest mount point, the latest of equals") {
  Machine machine;
  machine.file("proc/self/mountinfo", kMountInfo);
  Mounts mounts(machine.root() + "/proc/self/mountinfo");
  const auto type = [&](const char* path) {
    const Mount* mount = mounts.find(path, kSecond);
    return mount == nullptr ? std::string("none") : mount->fsType;
  };
  CHECK(type("/data/train/1.jpg") == "ext4");
  CHECK(mounts.find("/data/train/1.jpg", kSecond)->source == "/dev/vdb");
  CHECK(type("/data/scratch/x") == "tmpfs");
  CHECK(type("/data/scratchpad") == "ext4");
  CHECK(type("/database") == "ext4");
  CHECK(mounts.find("/database", kSecond)->point == "/");
  CHECK(type("/mnt/with blank/x") == "fuse.sshfs");
  CHECK(type("relative") == "none");
}

TEST_CASE("mounts that may hang are known as remote") {
  CHECK(Mount{"/", "nfs4", "", {}, {}}.remote());
  CHECK(Mount{"/", "fuse.gcsfuse", "", {}, {}}.remote());
  CHECK(Mount{"/", "lustre", "", {}, {}}.remote());
  CHECK_FALSE(Mount{"/", "ext4", "", {}, {}}.remote());
  CHECK_FALSE(Mount{"/", "overlay", "", {}, {}}.remote());
}

// As a pod has them: layers below an overlay that it does not see, volumes of many kinds.
constexpr char kPodMounts[] =
    "1189 1103 0:112 / / rw,relatime master:400 - overlay overlay "
    "rw,lowerdir=/var/lib/l/AB:/var/lib/l/"
    "CD,upperdir=/var/lib/u,workdir=/var/lib/w\n"
    "1190 1189 0:114 / /proc rw,nosuid - proc proc rw\n"
    "1197 1189 0:110 / /dev/shm rw,nosuid - tmpfs shm rw,size=65536k\n"
    "1203 1189 259:1 /kubelet/volumes/a /scratch rw,noatime - xfs /dev/nvme0n1p1 rw,attr2\n"
    "1204 1189 0:98 / /imagenet ro,relatime - nfs4 10.0.0.5:/export ro,vers=4.1,proto=tcp\n"
    "1205 1189 0:101 / /bucket ro,nosuid - fuse.gcsfuse bucket-1 ro,user_id=0\n"
    "1206 1189 0:102 / /s3 ro,nosuid - fuse mountpoint-s3 ro,user_id=0\n"
    "1207 1189 0:103 / /lustre rw - lustre 10.0.0.9@tcp:/fsx rw,flock\n"
    "1208 1189 0:104 / /win rw - fuseblk /dev/sdb1 rw,user_id=0\n"
    "1209 1189 0:105 / /tank rw - zfs tank/data rw,xattr\n"
    "1210 1189 0:106 / /ram rw - tmpfs tmpfs rw\n"
    "1211 1189 0:107 / /toolbox ro - squashfs /dev/loop3 ro\n"
    "1212 1189 0:108 / /host rw - virtiofs shared rw\n";

TEST_CASE(
    "of each kind of mount it is known whether it is remote, and whether its reads are counted") {
  Machine machine;
  machine.file("proc/self/mountinfo", kPodMounts);
  Mounts mounts(machine.root() + "/proc/self/mountinfo");
  const auto kind = [&](const char* path) {
    const Mount* mount = mounts.find(path, kSecond);
    REQUIRE(mount != nullptr);
    return std::string(mount->remote() ? "remote" : "here") +
           (countsStorageReads(mount->fsType) ? " counted" : "");
  };
  CHECK(kind("/scratch/train.tar") == "here counted");
  for (const char* path : {"/app/data.bin", "/dev/shm/x", "/tank/x", "/ram/x", "/toolbox/x"})
    CHECK(kind(path) == "here");
  for (const char* path :
       {"/imagenet/1.jpg", "/bucket/1.jpg", "/s3/1.jpg", "/lustre/x", "/win/x", "/host/x"})
    CHECK(kind(path) == "remote");
}

TEST_CASE("the mounts of another process are followed where they may be read, and outlive it") {
  Machine machine;
  machine.file("proc/self/mountinfo", "1 0 0:1 / / rw - ext4 /dev/vda rw\n");
  machine.file("proc/9/mountinfo", "1 0 0:1 / / rw - overlay overlay rw\n");
  Mounts mounts(machine.root() + "/proc/self/mountinfo");
  mounts.follow(machine.root() + "/proc/8/mountinfo");
  CHECK(mounts.find("/data", kSecond)->fsType == "ext4");
  mounts.follow(machine.root() + "/proc/9/mountinfo");
  CHECK(mounts.find("/data", kSecond)->fsType == "overlay");
  machine.remove("proc/9/mountinfo");
  CHECK(mounts.find("/data", 10 * kSecond)->fsType == "overlay");
}

TEST_CASE("no mountinfo: nothing is known, nothing breaks") {
  Mounts mounts("/nonexistent");
  CHECK(mounts.find("/data", kSecond) == nullptr);
}

TEST_CASE("a descriptor is a file with its size and offset") {
  Machine machine;
  machine.file("proc/self/mountinfo", "1 0 0:1 / / rw - ext4 /dev/vda rw\n");
  machine.file("data.bin", std::string(5000, 'x'));
  machine.link("proc/9/fd/3", machine.root() + "/data.bin");
  machine.file("proc/9/fdinfo/3", "pos:\t4096\nflags:\t0100000\n");
  Mounts mounts(machine.root() + "/proc/self/mountinfo");
  FdClassifier classifier(machine.root(), mounts);
  const FdTarget target = classifier.sample(9, 3, kSecond);
  CHECK(target.kind == FdKind::kFile);
  CHECK(target.name == machine.root() + "/data.bin");
  CHECK(target.size == 5000);
  CHECK(target.offset == 4096);
}

TEST_CASE("a file on a remote mount is not asked for its size") {
  Machine machine;
  machine.file("proc/self/mountinfo", "1 0 0:1 / / rw - nfs4 server:/ rw\n");
  machine.file("data.bin", "x");
  machine.link("proc/9/fd/3", machine.root() + "/data.bin");
  Mounts mounts(machine.root() + "/proc/self/mountinfo");
  FdClassifier classifier(machine.root(), mounts);
  CHECK(classifier.sample(9, 3, kSecond).kind == FdKind::kFile);
  CHECK(classifier.sample(9, 3, kSecond).size == -1);
}

TEST_CASE("a socket is inet if the socket tables name it, else local") {
  Machine machine;
  machine.file("proc/9/net/tcp",
               "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
               "timeout inode\n"
               "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0   0 "
               "7001 1 0 100 0 0 10 0\n");
  machine.link("proc/9/fd/4", "socket:[7001]");
  machine.link("proc/9/fd/5", "socket:[7002]");
  Mounts mounts(machine.root() + "/proc/self/mountinfo");
  FdClassifier classifier(machine.root(), mounts);
  CHECK(classifier.sample(9, 4, kSecond).kind == FdKind::kSocket);
  CHECK(classifier.sample(9, 5, kSecond).kind == FdKind::kUnixSocket);
}

TEST_CASE("epoll is what all its descriptors are, or just a poll") {
  Machine machine;
  machine.link("proc/9/fd/6", "anon_inode:[eventpoll]");
  machine.link("proc/9/fd/7", "pipe:[1]");
  machine.link("proc/9/fd/8", "/dev/nvidia0");
  Mounts mounts(machine.root() + "/proc/self/mountinfo");
  FdClassifier classifier(machine.root(), mounts);
  const std::string one = "pos:\t0\ntfd:        7 events:       19 data: 7  pos:0 ino:1 sdev:b\n";
  machine.file("proc/9/fdinfo/6", one);
  CHECK(classifier.sample(9, 6, kSecond).kind == FdKind::kPipe);
  machine.file("proc/9/fdinfo/6", one + "tfd:        8 events:       19 data: 8\n");
  CHECK(classifier.sample(9, 6, kSecond).kind == FdKind::kEpoll);
  // One that watches itself must not make us follow it for ever.
  machine.file("proc/9/fdinfo/6", "tfd:        6 events:       19 data: 6\n");
  CHECK(classifier.sample(9, 6, kSecond).kind == FdKind::kEpoll);
}

TEST_CASE("arguments that are no descriptor are unknown") {
  Machine machine;
  Mounts mounts("/nonexistent");
  FdClassifier classifier(machine.root(), mounts);
  CHECK(classifier.sample(9, 0xffffffffffffff9cull, kSecond).kind == FdKind::kUnknown);
  CHECK(classifier.sample(9, 77, kSecond).kind == FdKind::kUnknown);
}

TEST_CASE("a file is reported at most once a second, with the samples since") {
  Mounts mounts("/nonexistent");
  FileLog log(mounts);
  EventList list;
  const FdTarget file{FdKind::kFile, "/data/a.bin", 100, 50};
  for (int i = 0; i < 30; ++i)
    log.waited(ProcessId{1}, file, kSecond + std::chrono::milliseconds(100 * i), list);
  const auto seen = list.all<FileSeen>();
  REQUIRE(seen.size() == 3);
  CHECK(list.text(seen[0].path) == "/data/a.bin");
  CHECK(seen[0].waits == 1);
  CHECK(seen[1].waits == 10);
  CHECK(seen[2].size == 100);
}

namespace {

// What process 100 of a machine has open.
class OpenFilesOf {
 public:
  explicit OpenFilesOf(const Machine& machine)
      : classifier_(machine.root(), mounts_),
        log_(mounts_),
        open_(machine.root(), classifier_, log_),
        tree_(machine.root(), 100) {
    tree_.sample(kSecond, list);
  }
  void sample(Nanos now) { open_.sample(tree_, now, list); }
  EventList list;

 private:
  Mounts mounts_{"/nonexistent"};
  FdClassifier classifier_;
  FileLog log_;
  OpenFiles open_;
  ProcessTree tree_;
};

}  // namespace

TEST_CASE("files held open are reported though nobody waits for them, write-only ones are not") {
  Machine machine;
  machine.process({100, 1, "python3"});
  machine.file("train.tar", std::string(9000, 'x'));
  machine.file("log.txt", "x");
  machine.link("proc/100/fd/3", machine.root() + "/train.tar");
  machine.file("proc/100/fdinfo/3", "pos:\t512\nflags:\t0100000\n");
  machine.link("proc/100/fd/4", machine.root() + "/log.txt");
  machine.file("proc/100/fdinfo/4", "pos:\t1\nflags:\t0102001\n");
  machine.link("proc/100/fd/5", "pipe:[7]");
  OpenFilesOf job(machine);
  job.sample(kSecond);
  const EventList& list = job.list;
  const auto seen = list.only<FileSeen>();
  CHECK(list.text(seen.path) == machine.root() + "/train.tar");
  CHECK(seen.offset == 512);
  CHECK(seen.size == 9000);
  CHECK(seen.waits == 0);
}

TEST_CASE("descriptors are listed the less often the more of them there are") {
  Machine machine;
  machine.process({100, 1, "python3"});
  for (int fd = 3; fd < 1503; ++fd) machine.link("proc/100/fd/" + std::to_string(fd), "pipe:[7]");
  OpenFilesOf job(machine);
  job.sample(kSecond);
  machine.file("train.tar", "x");
  machine.link("proc/100/fd/5000", machine.root() + "/train.tar");
  machine.file("proc/100/fdinfo/5000", "pos:\t0\nflags:\t0100000\n");
  job.sample(2 * kSecond);
  CHECK(job.list.all<FileSeen>().empty());
  job.sample(3 * kSecond);
  CHECK(job.list.all<FileSeen>().size() == 1);
}

TEST_CASE("files that are held open in very many directories take no memory in the end") {
  Mounts mounts("/nonexistent");
  FileLog log(mounts);
  EventList list;
  int directory = 0;
  const auto hold = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const std::string name = "/data/of-a-shard-" + std::to_string(directory++) + "/x.bin";
      log.held(ProcessId{1}, {FdKind::kFile, name, 100, 0}, kSecond, list);
    }
  };
  hold(10'000);
  const std::size_t before = heapBytes();
  hold(50'000);
  CHECK(heapBytes() < before + (2u << 20));
}

TEST_CASE("files in folders of a few each take a part of the names alone") {
  Mounts mounts("/nonexistent");
  FileLog log(mounts);
  EventList list;
  std::set<std::uint32_t> paths, names;
  for (int i = 0; i < 100'000; ++i) {
    const std::string path = "/data/" + std::to_string(i / 10) + "/" + std::to_string(i) + ".jpg";
    names.insert(log.waited(ProcessId{1}, {FdKind::kFile, path, 100, 0},
                            kSecond + std::chrono::milliseconds(50 * i), list)
                     .value);
  }
  for (const FileSeen& seen : list.all<FileSeen>()) paths.insert(seen.path.value);
  CHECK(names.size() == FileLog::kNames + 1);
  CHECK(paths.size() == FileLog::kPaths + 1);
}

TEST_CASE("a data set of many files fills neither the file list nor the names") {
  Mounts mounts("/nonexistent");
  FileLog log(mounts);
  EventList list;
  std::set<std::uint32_t> names;
  StringId last;
  for (int i = 0; i < 20'000; ++i) {
    const FdTarget file{FdKind::kFile, "/data/train/" + std::to_string(i) + ".jpg", 100, 0};
    last = log.waited(ProcessId{1}, file, kSecond + std::chrono::milliseconds(i), list);
    names.insert(last.value);
  }
  CHECK(list.text(last) == "/data/train/*");
  CHECK(names.size() <= FileLog::kNamed + 1);
  CHECK(list.all<FileSeen>().size() <= 21 * FileLog::kPerSecond);
}
