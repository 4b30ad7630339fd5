#include "cli/slurm/gang/step_ledger.h"

#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "cli/client/endpoint.h"
#include "cli/slurm/gang/own_file.h"

namespace dove::cli {
namespace {

constexpr std::size_t kBytesMax = 1 << 20;
constexpr std::size_t kCountsMax = 1000;
constexpr std::chrono::milliseconds kLook{10};
constexpr int kLooks = 100;
constexpr int kFieldsBeforeStart = 19;  // behind the name, in the stat of a process

// 0: there is no such process.
std::uint64_t start_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < kFieldsBeforeStart; ++i) fields >> field;
  std::uint64_t start = 0;
  fields >> start;
  return start;
}

bool lock(int file) {
  for (int i = 0; i < kLooks; ++i) {
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    std::this_thread::sleep_for(kLook);
  }
  return false;
}

}  // namespace

std::string step_ledger_path() {
  const std::string folder = environment_value("TMPDIR");
  return fmt::format("{}/dove-steps-{}", folder.empty() ? "/tmp" : folder, ::geteuid());
}

StepLedger::StepLedger(const std::string& path) {
  files::Descriptor file = open_own_file(path);
  if (!file.is_open() || !lock(file.get())) return;
  file_ = std::move(file);
  read();
}

void StepLedger::read() {
  std::string text(kBytesMax, '\0');
  const ssize_t bytes = ::pread(file_.get(), text.data(), text.size(), 0);
  text.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
  std::istringstream lines(text);
  Entry entry;
  while (lines >> entry.pid >> entry.started >> entry.allocation >> entry.cpus) {
    if (entry.pid == 0 && entry.cpus == 0 && counts_.size() < kCountsMax) {
      counts_.push_back({entry.allocation, static_cast<std::int64_t>(entry.started)});
    }
    const bool runs = entry.pid > 0 && entry.cpus > 0 && start_of(entry.pid) == entry.started;
    if (runs) entries_.push_back(entry);
  }
}

std::int64_t StepLedger::next_step(const std::string& run) {
  if (!file_.is_open()) return -1;
  Count count{run, 0};
  const auto found = std::find_if(counts_.begin(), counts_.end(),
                                  [&](const Count& one) { return one.run == run; });
  if (found != counts_.end()) {
    count = *found;
    counts_.erase(found);
  } else if (counts_.size() == kCountsMax) {
    counts_.erase(counts_.begin());
  }
  counts_.push_back({run, count.steps + 1});
  return count.steps;
}

std::int64_t StepLedger::load_of(const std::string& allocation) const {
  std::int64_t load = 0;
  for (const Entry& entry : entries_) {
    if (entry.allocation == allocation) load += entry.cpus;
  }
  return load;
}

void StepLedger::add(const std::string& allocation, std::int64_t cpus) {
  const pid_t self = ::getpid();
  entries_.push_back({self, start_of(self), allocation, std::max<std::int64_t>(cpus, 1)});
}

void StepLedger::drop_own() {
  std::erase_if(entries_, [](const Entry& entry) { return entry.pid == ::getpid(); });
}

void StepLedger::close() {
  if (!file_.is_open()) return;
  std::string text;
  for (const Entry& entry : entries_) {
    text += fmt::format("{} {} {} {}\n", entry.pid, entry.started, entry.allocation, entry.cpus);
  }
  // As of a process that there is not, with the count as its start.
  for (const Count& count : counts_) {
    text += fmt::format("0 {} {} 0\n", count.steps, count.run);
  }
  const bool is_written =
      ::pwrite(file_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  // Half a ledger is none.
  if (::ftruncate(file_.get(), is_written ? static_cast<off_t>(text.size()) : 0) != 0) {
    entries_.clear();
  }
  file_ = files::Descriptor();
}

}  // namespace dove::cli
