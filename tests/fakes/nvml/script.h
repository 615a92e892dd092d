// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

// What the fake's devices are and do, from the file that STALLPROF_FAKE_NVML names. A line each:
//   driver VERSION
//   device UUID NAME...       the lines below, down to the next `device`, are of this one
//   instance UUID             a MIG instance of the device above
//   value KEY NUMBER          gpu, memory, used, total, power, energy, clock, max_clock,
//                             memory_clock, celsius, reasons, pci_bus
//   field ID NUMBER           of nvmlDeviceGetFieldValues
//   gpm ID NUMBER
//   process PID BYTES [PERCENT]   BYTES -1: the driver does not say
//   code FUNCTION NUMBER      what this function answers; before any device: for all of them
//   hang FUNCTION SECONDS
namespace fake {

struct Process {
  unsigned pid = 0;
  unsigned long long bytes = 0;
  int percent = -1;
};
struct Unit {  // a device or an instance of one
  std::string uuid, name;
  std::map<std::string, double> values;
  std::map<unsigned, double> fields, gpm;
  std::vector<Process> processes;
  std::map<std::string, int> codes;
  std::map<std::string, double> hangs;
  std::vector<std::string> instances;
  bool instance = false;
};
struct Script {
  std::string driver = "580.159.03";
  Unit all;
  std::vector<Unit> units;
};

inline Script readScript() {
  Script script;
  const char* path = std::getenv("STALLPROF_FAKE_NVML");
  std::ifstream file(path == nullptr ? "" : path);
  std::size_t device = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind, key;
    if (!(words >> kind >> key)) continue;
    if (kind == "device" || kind == "instance") {
      Unit unit;
      unit.uuid = key;
      std::getline(words >> std::ws, unit.name);
      unit.instance = kind == "instance";
      if (unit.instance) script.units[device].instances.push_back(key);
      script.units.push_back(unit);
      if (!unit.instance) device = script.units.size() - 1;
      continue;
    }
    Unit& unit = script.units.empty() ? script.all : script.units.back();
    double number = 0, more = -1;
    if (kind == "driver") script.driver = key;
    std::string word;
    words >> word;
    number = std::strtod(word.c_str(), nullptr);  // also of "nan"
    if (kind == "value") unit.values[key] = number;
    if (kind == "field") unit.fields[static_cast<unsigned>(std::stoul(key))] = number;
    if (kind == "gpm") unit.gpm[static_cast<unsigned>(std::stoul(key))] = number;
    if (kind == "code") unit.codes[key] = static_cast<int>(number);
    if (kind == "hang") unit.hangs[key] = number;
    if (kind == "process") {
      words >> more;
      unit.processes.push_back({static_cast<unsigned>(std::stoul(key)),
                                number < 0 ? ~0ull : static_cast<unsigned long long>(number),
                                static_cast<int>(more)});
    }
  }
  return script;
}

}  // namespace fake
