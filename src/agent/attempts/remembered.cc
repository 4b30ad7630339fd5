#include "agent/attempts/remembered.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "agent/attempts/attempt_record.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

struct Kept {
  fs::file_time_type changed_at;
  fs::path path;
  protocol::AttemptKey key;
};

std::vector<Kept> kept_in(const std::string& directory) {
  std::vector<Kept> kept;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, failed)) {
    const auto key = read_key(entry.path().filename().string());
    const auto changed_at = fs::last_write_time(entry.path(), failed);
    if (key && !failed && !entry.is_symlink(failed)) {
      kept.push_back({changed_at, entry.path(), *key});
    }
  }
  return kept;
}

}  // namespace

std::vector<protocol::ActivePlacement> remembered_ends(const std::string& directory,
                                                       std::size_t most) {
  std::vector<Kept> kept = kept_in(directory);
  std::sort(kept.begin(), kept.end(),
            [](const Kept& a, const Kept& b) { return a.changed_at > b.changed_at; });
  if (kept.size() > most) kept.resize(most);
  std::vector<protocol::ActivePlacement> ends;
  for (const Kept& one : kept) {
    const AttemptOnDisk found = read_attempt(one.path);
    if (!found.ended) continue;
    protocol::ActivePlacement end;
    end.key = one.key;
    end.stage = protocol::ActiveStage::kEnded;
    if (const auto* ended = std::get_if<protocol::Ended>(&*found.ended)) {
      end.exits = ended->exits;
      end.cpu_us = ended->cpu_us;
      end.memory_peak_bytes = ended->memory_peak_bytes;
    } else if (const auto* refused = std::get_if<protocol::LaunchRefused>(&*found.ended)) {
      end.launch_failed = refused->why;
    }
    ends.push_back(std::move(end));
  }
  return ends;
}

}  // namespace dove::agent
