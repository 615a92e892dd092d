// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "event/collectives.h"
#include "trace/kineto.h"

namespace stallprof {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestSliceName =
    1000;  // a kernel's template arguments may go on for kilobytes
constexpr std::size_t kDeepest = 64;
constexpr std::size_t kMaxJsonText = 256u << 20;  // bytes of names; beyond it they are "(other)"

constexpr std::int64_t kMaxMicros = std::int64_t{1} << 52;  // over a century: the sum of two still
                                                            // is a number of nanoseconds

// Microseconds in decimals as whole nanoseconds: a double has not enough digits for a time since
// 1970.
std::optional<Nanos> nanosOf(std::string_view micros) {
  const std::size_t point = std::min(micros.find('.'), micros.size());
  std::int64_t whole = 0;
  const auto read = std::from_chars(micros.data(), micros.data() + point, whole);
  const bool number = read.ec == std::errc() && read.ptr == micros.data() + point;
  if (!number || whole < -kMaxMicros || whole > kMaxMicros) return std::nullopt;
  std::int64_t part = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const bool digit = point + 1 + i < micros.size() && micros[point + 1 + i] >= '0' &&
                       micros[point + 1 + i] <= '9';
    part = part * 10 + (digit ? micros[point + 1 + i] - '0' : 0);
  }
  const bool negative = !micros.empty() && micros[0] == '-';
  return Nanos(whole * 1000 + (negative ? -part : part));
}

// What is kept of one event while it is read. Texts are cut, so an event is bounded.
struct EventFields {
  std::string phase, category, name;
  std::optional<Nanos> at, duration;
  std::int64_t pid = 0, tid = 0, device = -1, stream = -1, correlation = 0, context = 0, bytes = -1;
  std::int64_t grid = 1, block = 1;
  bool hasGrid = false, hasBlock = false;
};

DeviceWorkKind workKind(const std::string& category, const std::string& name) {
  if (category == "gpu_memset") return DeviceWorkKind::kSet;
  if (category == "kernel")
    return isCollective(name) ? DeviceWorkKind::kCollective : DeviceWorkKind::kKernel;
  if (name.find("HtoD") != std::string::npos) return DeviceWorkKind::kToDevice;
  if (name.find("DtoH") != std::string::npos) return DeviceWorkKind::kToHost;
  return name.find("PtoP") != std::string::npos ? DeviceWorkKind::kPeer : DeviceWorkKind::kOnDevice;
}

// Which event of a recording a slice is; none: nothing that one has.
std::optional<KinetoSlice::Kind> kindOf(const EventFields& event) {
  using Kind = KinetoSlice::Kind;
  const auto is = [&](const char* category) { return event.category == category; };
  if (is("kernel") || is("gpu_memcpy") || is("gpu_memset")) return Kind::kWork;
  if (is("cuda_runtime") || is("cuda_driver")) return Kind::kCall;
  if (!is("user_annotation") && !is("cpu_op")) return std::nullopt;  // older ones call both cpu_op
  const bool next = event.name.find("DataLoader") != std::string::npos &&
                    event.name.find("__next__") != std::string::npos;
  if (event.name.rfind("enumerate(", 0) == 0 && next) return Kind::kFetch;
  if (event.name.rfind("Optimizer.step#", 0) == 0) return Kind::kOptimizer;
  if (!is("user_annotation")) return std::nullopt;
  return Kind::kRange;
}

class Reader final : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(KinetoTrace& out) : out_(out) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t n) override { return number(n, std::to_string(n)); }
  bool number_unsigned(number_unsigned_t n) override {
    return number(static_cast<std::int64_t>(
                      std::min<number_unsigned_t>(n, std::numeric_limits<std::int64_t>::max())),
                  std::to_string(n));
  }
  bool number_float(number_float_t n, const string_t& digits) override {
    const bool fits = std::isfinite(n) && std::abs(n) < 9e18;
    return number(fits ? static_cast<std::int64_t>(n) : 0, digits);
  }
  bool string(string_t& text) override {
    if (path_.size() != 3 || !event_) {
      if (path_.size() == 3 && path_[0] == "deviceProperties" && path_[2] == "name")
        device().name = out_.strings.intern(std::string_view(text).substr(0, kLongestSliceName));
      return true;
    }
    if (path_[2] == "ph") event_->phase = text.substr(0, kLongestSliceName);
    if (path_[2] == "cat") event_->category = text.substr(0, kLongestSliceName);
    if (path_[2] == "name") event_->name = text.substr(0, kLongestSliceName);
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    if (path_.size() == 2 && path_[0] == "traceEvents") event_.emplace();
    if (path_.size() == 2 && path_[0] == "deviceProperties") out_.devices.emplace_back();
    return enter("");
  }
  bool key(string_t& name) override {
    path_.back() = name.substr(0, 64);
    if (path_.size() == 1 && name == "traceEvents") seen_ = true;
    return true;
  }
  bool end_object() override {
    path_.pop_back();
    const bool whole = path_.size() == 2 && event_;
    const bool room = !whole || finish();
    if (whole) event_.reset();
    return room;
  }
  bool start_array(std::size_t) override {
    bare_ = bare_ || path_.empty();
    return enter("[]");
  }
  bool end_array() override {
    path_.pop_back();
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    why_ = "not JSON at byte " + std::to_string(at);
    return false;
  }

  [[nodiscard]] std::string why() const {
    if (!why_.empty()) return why_;
    if (seen_) return {};
    return bare_ ? "a bare list of events, as PyTorch without Kineto writes: not supported"
                 : "no traceEvents in it";
  }

 private:
  bool fail(const char* why) {
    why_ = why;
    return false;
  }

  // `path_` holds the keys of the objects and arrays around; an array's elements have "[]".
  bool enter(const char* key) {
    if (path_.size() >= kDeepest) return fail("nested deeper than any trace is");
    path_.emplace_back(key);
    return true;
  }
  KinetoDevice& device() { return out_.devices.back(); }

  bool number(std::int64_t n, const std::string& digits) {
    const std::size_t depth = path_.size();
    if (event_ && depth == 3)
      field(n, digits);
    else if (event_ && depth >= 4 && path_[2] == "args")
      argument(n);
    else
      ofFile(n, depth);
    return true;
  }
  // Of the whole file, not of an event.
  void ofFile(std::int64_t n, std::size_t depth) {
    const bool base = depth == 1 && path_[0] == "baseTimeNanoseconds";
    if (base && n >= -kMaxMicros * 1000 && n <= kMaxMicros * 1000) out_.base = Nanos(n);
    if (depth == 2 && path_[0] == "distributedInfo" && path_[1] == "rank") out_.rank = n;
    if (depth == 2 && path_[0] == "distributedInfo" && path_[1] == "world_size") out_.world = n;
    if (depth == 3 && path_[0] == "deviceProperties") property(n);
  }
  void property(std::int64_t n) {
    if (path_[2] == "id") device().index = n;
    if (path_[2] == "totalGlobalMem") device().memoryBytes = n;
    if (path_[2] == "numSms") device().multiprocessors = n;
    if (path_[2] == "computeMajor") device().major = n;
    if (path_[2] == "computeMinor") device().minor = n;
  }
  void field(std::int64_t n, const std::string& digits) {
    if (path_[2] == "pid") event_->pid = n;
    if (path_[2] == "tid") event_->tid = n;
    if (path_[2] == "ts") event_->at = nanosOf(digits);
    if (path_[2] == "dur") event_->duration = nanosOf(digits);
  }
  void argument(std::int64_t n) {
    const std::string& name = path_[3];
    if (name == "device") event_->device = n;
    if (name == "stream") event_->stream = n;
    if (name == "correlation") event_->correlation = n;
    if (name == "context") event_->context = n;
    if (name == "bytes") event_->bytes = n;
    const std::int64_t side = std::clamp<std::int64_t>(n, 0, 1 << 20);
    if (name == "grid") {
      event_->grid = std::min(event_->grid, limit()) * side;
      event_->hasGrid = true;
    }
    if (name == "block") {
      event_->block = std::min(event_->block, limit()) * side;
      event_->hasBlock = true;
    }
  }
  // So that a product with a side cannot overflow.
  static std::int64_t limit() { return std::int64_t{1} << 40; }

  bool finish() {
    const EventFields& e = *event_;
    if (e.phase != "X" || !e.at || !e.duration || *e.duration < Nanos(0)) return true;
    // So that it can be added to and subtracted from whatever time another slice has.
    if (*e.at + *e.duration > Nanos(kMaxMicros * 1000)) return true;
    const std::optional<KinetoSlice::Kind> kind = kindOf(e);
    if (!kind) return true;  // a recording has no event for it
    if (out_.slices.size() >= kMaxKinetoSlices) return fail("too large to import");
    KinetoSlice slice;
    slice.at = *e.at;
    slice.duration = *e.duration;
    slice.kind = *kind;
    const bool full = out_.strings.bytes() >= kMaxJsonText;
    slice.name = out_.strings.intern(full ? "(other)" : std::string_view(e.name));
    slice.pid = e.pid;
    slice.tid = e.tid;
    slice.correlation = static_cast<std::uint32_t>(e.correlation);
    slice.workers = e.name.find("MultiProcessing") != std::string::npos;
    if (slice.kind == KinetoSlice::Kind::kWork) {
      slice.work = workKind(e.category, e.name);
      slice.pid = e.device >= 0 ? e.device : e.pid;
      slice.tid = e.stream >= 0 ? e.stream : e.tid;
      slice.context = static_cast<std::uint32_t>(e.context);
      slice.bytes = e.bytes;
      if (e.hasGrid) slice.blocks = e.grid;
      if (e.hasBlock)
        slice.blockThreads = static_cast<std::int32_t>(std::min(e.block, std::int64_t{1} << 20));
    }
    out_.slices.push_back(slice);
    return true;
  }

  KinetoTrace& out_;
  std::vector<std::string> path_;
  std::optional<EventFields> event_;
  std::string why_;
  bool seen_ = false;
  bool bare_ = false;  // the whole file is an array
};

}  // namespace

bool KinetoTrace::hasWorkers() const {
  return std::any_of(slices.begin(), slices.end(), [](const KinetoSlice& s) { return s.workers; });
}

Result<KinetoTrace> readKineto(std::FILE* file) {
  KinetoTrace trace;
  Reader reader(trace);
  const bool read = Json::sax_parse(file, &reader);
  if (!read || !reader.why().empty())
    return Error{Error::Kind::kDamaged, reader.why().empty() ? "cannot be read" : reader.why()};
  if (trace.slices.empty())
    return Error{Error::Kind::kDamaged, "no slice in it that a recording could hold"};
  std::stable_sort(trace.slices.begin(), trace.slices.end(),
                   [](const KinetoSlice& a, const KinetoSlice& b) { return a.at < b.at; });
  return trace;
}

}  // namespace stallprof
