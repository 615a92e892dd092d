// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>

#include "base/text.h"
#include "tests/trace_check/perfetto_fields.h"
#include "tests/trace_check/trace_check_lanes.h"

namespace stallprof {
namespace {

using namespace perfetto;

// A packet holds one event; what holds more, a screenshot say, is nothing we could check.
constexpr std::uint64_t kLongestPacket = 16u << 20;

// One of a track's marks; a viewer sorts them by time, those of one instant as they came.
struct Mark {
  std::int64_t at = 0;
  bool begins = false;
};

struct Track {
  std::uint64_t parent = 0;
  bool described = false, named = false, counter = false, process = false;
  std::vector<Mark> marks;
  std::uint64_t values = 0;
};

// What one writer has defined so far: packets of others cannot refer to it.
struct Sequence {
  bool valid = false;
  std::unordered_set<std::uint64_t> categories, names, keys;
};

// What a packet says, before it is judged.
struct Packet {
  std::optional<std::uint64_t> time;
  std::uint64_t sequence = 0, flags = 0;
  std::optional<std::string_view> event, descriptor, data;
};

class PacketCheck {
 public:
  explicit PacketCheck(TraceCheck& out) : out_(out), lanes_(out) {}

  void packet(std::string_view bytes) {
    Packet packet;
    Fields fields(bytes);
    for (Field field; fields.next(field);) take(field, packet);
    if (fields.broken()) return problem("is no message");
    Sequence& sequence = sequences_[packet.sequence];
    if ((packet.flags & packet::kStateCleared) != 0) {
      sequence = {};
      sequence.valid = true;
    }
    if ((packet.flags & packet::kNeedsState) != 0 && !sequence.valid)
      problem("needs what its writer has not said");
    if (packet.data) interned(*packet.data, sequence);
    if (packet.descriptor) descriptor(*packet.descriptor);
    if (packet.event) event(packet, *packet.event, sequence);
    ++packets_;
  }

  void broken(const std::string& why) { lanes_.problem(why); }

  void finish() {
    for (auto& [uuid, track] : tracks_) finish(uuid, track);
    lanes_.finish();
  }

 private:
  void problem(const std::string& what) {
    lanes_.problem("packet " + std::to_string(packets_) + ": " + what);
  }

  void take(const Field& field, Packet& packet) {
    // Perfetto has a hundred other kinds.
    if (field.number == packet::kTimestamp) packet.time = field.value;
    if (field.number == packet::kSequence) packet.sequence = field.value;
    if (field.number == packet::kSequenceFlags) packet.flags = field.value;
    if (field.number == packet::kTrackEvent) packet.event = field.bytes;
    if (field.number == packet::kTrackDescriptor) packet.descriptor = field.bytes;
    if (field.number == packet::kInternedData) packet.data = field.bytes;
    if (field.number == packet::kCompressed || field.number == packet::kCompressedZstd)
      problem("is compressed, which this check does not read");
  }

  void interned(std::string_view bytes, Sequence& sequence) {
    Fields entries(bytes);
    for (Field entry; entries.next(entry);) {
      std::unordered_set<std::uint64_t>* index = nullptr;
      if (entry.number == interned::kCategories) index = &sequence.categories;
      if (entry.number == interned::kEventNames) index = &sequence.names;
      if (entry.number == interned::kAnnotationNames) index = &sequence.keys;
      if (index == nullptr) continue;
      std::uint64_t id = 0;
      Fields fields(entry.bytes);
      for (Field field; fields.next(field);) {
        if (field.number == interned::kIid) id = field.value;
        if (field.number == interned::kName) lanes_.text(field.bytes);
      }
      if (id == 0 || fields.broken()) problem("an interned name without a number");
      index->insert(id);
    }
    if (entries.broken()) problem("interned data is no message");
  }

  void descriptor(std::string_view bytes) {
    Track said;
    std::uint64_t uuid = 0;
    bool whole = true;
    Fields fields(bytes);
    for (Field field; fields.next(field);) {
      if (field.number == track::kUuid) uuid = field.value;
      if (field.number == track::kParent) said.parent = field.value;
      if (field.number == track::kName) {
        said.named = true;
        lanes_.text(field.bytes);
      }
      if (field.number == track::kCounter) said.counter = true;
      if (field.number == track::kProcess) {
        said.process = true;
        whole = whole && person(field.bytes, track::kProcessName, 1, said);
      }
      if (field.number == track::kThread)
        whole = whole && person(field.bytes, track::kThreadName, 2, said);
    }
    if (fields.broken() || uuid == 0) return problem("a track without uuid");
    if (!whole) return problem("a process without pid, or a thread without pid and tid");
    Track& track = tracks_[uuid];
    track.parent = said.parent;
    track.described = true;
    track.named = track.named || said.named;
    track.counter = said.counter;
    track.process = said.process;
  }

  // A process's or thread's descriptor: its first `ids` fields are numbers that it must have.
  bool person(std::string_view bytes, std::uint32_t name, std::uint32_t ids, Track& track) {
    std::uint32_t found = 0;
    Fields fields(bytes);
    for (Field field; fields.next(field);) {
      if (field.number >= 1 && field.number <= ids && field.wire == Wire::kVarint) ++found;
      if (field.number == name) {
        track.named = true;
        lanes_.text(field.bytes);
      }
    }
    return !fields.broken() && found >= ids;
  }

  // What a TrackEvent says.
  struct Event {
    std::uint64_t type = 0, track = 0;
    bool value = false, name = false;
    std::vector<std::uint64_t> flows, ends;
  };

  void event(const Packet& packet, std::string_view bytes, const Sequence& sequence) {
    ++out_.events;
    Event event;
    Fields fields(bytes);
    for (Field field; fields.next(field);) take(field, sequence, event);
    if (fields.broken()) return problem("its event is no message");
    if (packet.sequence == 0) return problem("an event without a sequence");
    const bool late =
        packet.time && *packet.time > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (!packet.time || late) return problem("an event without a time");
    const auto at = static_cast<std::int64_t>(*packet.time);
    place(event, at);
    for (const std::uint64_t flow : event.flows)
      lanes_.flow(std::to_string(flow), begun_.insert(flow).second, at);
    for (const std::uint64_t flow : event.ends) lanes_.flow(std::to_string(flow), false, at);
  }

  void take(const Field& field, const Sequence& sequence, Event& event) {
    const auto known = [&](const std::unordered_set<std::uint64_t>& index) {
      if (index.count(field.value) == 0) problem("a name by a number that nothing was given");
    };
    const auto is = [&](std::uint32_t number) { return field.number == number; };
    if (is(event::kType)) event.type = field.value;
    if (is(event::kTrack)) event.track = field.value;
    if (is(event::kCategoryIid)) known(sequence.categories);
    if (is(event::kNameIid)) known(sequence.names);
    if (is(event::kName)) lanes_.text(field.bytes);
    if (is(event::kNameIid) || is(event::kName)) event.name = true;
    if (is(event::kAnnotation)) annotation(field.bytes, sequence);
    if (is(event::kCounterInteger) || is(event::kCounterReal)) event.value = true;
    if (is(event::kFlow)) event.flows.push_back(field.value);
    if (is(event::kFlowEnd)) event.ends.push_back(field.value);
  }

  void annotation(std::string_view bytes, const Sequence& sequence) {
    Fields fields(bytes);
    for (Field field; fields.next(field);) {
      const bool text = field.number == annotation::kText || field.number == annotation::kName;
      if (text) lanes_.text(field.bytes);
      if (field.number == annotation::kNameIid && sequence.keys.count(field.value) == 0)
        problem("an argument by a number that nothing was given");
    }
    if (fields.broken()) problem("an argument is no message");
  }

  void place(const Event& event, std::int64_t at) {
    Track& track = tracks_[event.track];
    switch (event.type) {
      case event::kBegin:
        if (!event.name) problem("a slice without a name");
        track.marks.push_back({at, true});
        break;
      case event::kEnd:
        track.marks.push_back({at, false});
        break;
      case event::kInstant:
        ++track.values;
        break;
      case event::kCounter:
        ++track.values;
        if (!event.value) problem("a counter without a value");
        if (!track.counter) problem("a value on a track that counts nothing");
        break;
      default:
        problem("an event without a type");
    }
  }

  void finish(std::uint64_t uuid, Track& track) {
    const std::string called = "track " + std::to_string(uuid);
    if (!track.described) return lanes_.problem(called + ": has events but no descriptor");
    const auto parent = tracks_.find(track.parent);
    const bool orphan = track.parent != 0 && (parent == tracks_.end() || !parent->second.described);
    if (orphan) lanes_.problem(called + ": lies in a track that is not described");
    if (track.counter && !track.marks.empty())
      lanes_.problem(called + ": has slices among its values");
    const auto process = static_cast<std::int64_t>(track.parent != 0 ? track.parent : uuid);
    const LaneCheck::Lane lane{process, static_cast<std::int64_t>(uuid)};
    if (track.named) {
      lanes_.nameLane(lane);
      lanes_.nameProcess(static_cast<std::int64_t>(uuid));
    }
    if (track.counter && track.values > 0) lanes_.counter(process);
    std::stable_sort(track.marks.begin(), track.marks.end(),
                     [](const Mark& a, const Mark& b) { return a.at < b.at; });
    for (const Mark& mark : track.marks)
      if (mark.begins)
        lanes_.begin(lane, mark.at);
      else
        lanes_.end(lane, mark.at);
    std::vector<Mark>().swap(track.marks);
  }

  TraceCheck& out_;
  LaneCheck lanes_;
  std::uint64_t packets_ = 0;
  std::map<std::uint64_t, Sequence> sequences_;
  std::map<std::uint64_t, Track> tracks_;
  std::unordered_set<std::uint64_t> begun_;  // flows
};

std::optional<std::uint64_t> readVarint(std::FILE* file) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const int byte = std::getc(file);
    if (byte == EOF) return std::nullopt;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

}  // namespace

void checkTracePackets(std::FILE* file, TraceCheck& out) {
  constexpr int kTag = trace::kPacket << 3 | static_cast<int>(Wire::kBytes);
  out.format = "perfetto";
  PacketCheck check(out);
  std::string bytes;
  for (int tag = std::getc(file); tag != EOF; tag = std::getc(file)) {
    const std::optional<std::uint64_t> length = readVarint(file);
    if (tag != kTag || !length || *length > kLongestPacket) {
      check.broken("what follows the packets before is no packet");
      break;
    }
    bytes.resize(*length);
    if (std::fread(bytes.data(), 1, bytes.size(), file) != bytes.size()) {
      check.broken("the last packet is cut off");
      break;
    }
    check.packet(bytes);
  }
  check.finish();
}

}  // namespace stallprof
