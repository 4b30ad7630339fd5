// Slurm's configuration files (slurm.conf, gres.conf) as lines of NAME=VALUE.
//
// Comments, quotes, continued lines and Include are understood. Names keep their spelling; Slurm
// compares them without regard to case.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dove::slurm {

struct ConfPair {
  std::string name;
  std::string value;
  bool has_value = true;  // false: a word without '='
};

struct ConfLine {
  std::string file;
  int number = 0;  // of its first line, from 1
  std::vector<ConfPair> pairs;

  // "slurm.conf:12".
  std::string place() const;
  // The value of that name, or nullptr.
  const std::string* find(std::string_view name) const;
};

bool same_word(std::string_view a, std::string_view b);  // without regard to case

// Pure. An Include is a line with the pair "Include".
std::vector<ConfLine> read_conf(const std::string& file, std::string_view text);

// The file with those that it includes, in the order of their lines; at most 8 deep. Relative names
// are beside the file. `read`: the text of a file.
Result<std::vector<ConfLine>> load_conf(
    const std::string& path, const std::function<Result<std::string>(const std::string&)>& read);

// Minutes, "MM:SS", "HH:MM:SS", "D-HH", "D-HH:MM", "D-HH:MM:SS" as seconds; 0 for INFINITE and
// UNLIMITED, -1 when it is none of these.
std::int64_t slurm_time_s(std::string_view text);

}  // namespace dove::slurm
