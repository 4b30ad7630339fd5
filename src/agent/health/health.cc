#include "agent/health/health.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/json_health.h"
#include "codec/words.h"
#include "files/text_file.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// A disk is short below the first and in order again from the second on, so that one at the edge
// does not open and close its node in turn.
constexpr std::uint64_t kDiskShort_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kDiskGood_bytes = std::uint64_t{96} << 20;
constexpr std::chrono::milliseconds kFaultsEvery{200};
constexpr std::size_t kFaultsFile_bytes = 1 << 20;
constexpr const char kChecks[] = "checks";  // whether the directory of those programs answers

std::string as_text(const std::string& said) {
  std::string text = said;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

Severity severity_of(int exit_code) {
  switch (exit_code) {
    case 0:
      return Severity::kGood;
    case 1:
      return Severity::kWarning;
    case 3:
      return Severity::kCritical;
    default:
      return Severity::kFault;
  }
}

}  // namespace

struct Health::FaultsFile {
  std::int64_t changed_ns = 0;  // 0: there is none
  std::string text;
};

Health::Health(wire::Loop& loop, HealthOptions options,
               std::function<void(protocol::Report)> report)
    : loop_(loop), options_(std::move(options)), report_(std::move(report)) {}

Health::~Health() = default;

void Health::start() {
  check_all();
  watch_disk();
  if (!options_.faults_path.empty()) check_faults();
}

void Health::found(Finding finding) { tell(finding); }

void Health::tell(const Finding& finding) {
  Finding& last = told_[{finding.check, finding.device}];
  if (last == finding) return;
  last = finding;
  report_(protocol::FindingSaid{finding});
}

void Health::check_all() {
  std::erase_if(over_, [](const auto& entry) { return !entry.second->lingers(); });
  checks_timer_ = loop_.after(options_.every, [this] { check_all(); });
  if (checking_) return;  // each has a time limit
  checking_ = true;
  check_disk();
  // In a process of its own: a shared file system that hangs holds up nobody here.
  if (!options_.shared_directory.empty())
    run("mount", {"/bin/ls", "-d", options_.shared_directory});
  listing_ = !options_.checks_directory.empty();
  if (listing_) {
    list_programs(options_.aside, options_.check_limit, options_.checks_directory,
                  [this, alive = std::weak_ptr<bool>(alive_)](const auto& programs) {
                    if (!alive.expired()) check_with(programs);
                  });
  } else if (running_.empty()) {
    all_ended();
  }
}

void Health::check_with(const Result<std::vector<std::string>>& programs) {
  listing_ = false;
  Finding answers{kChecks, Severity::kGood, Remedy::kNone, -1, ""};
  if (!programs.ok()) {
    answers.severity = Severity::kFault;
    answers.evidence = programs.error().message;
  }
  if (!programs.ok() || told_.contains({answers.check, answers.device})) tell(answers);
  if (programs.ok()) {
    for (const std::string& path : *programs) {
      run("script:" + fs::path(path).filename().string(), {path, options_.node});
    }
  }
  if (running_.empty()) all_ended();
}

// Jobs fill a disk within seconds, and a look at it costs one system call.
void Health::watch_disk() {
  disk_timer_ = loop_.after(options_.disk_every, [this] { watch_disk(); });
  check_disk();
}

void Health::check_disk() {
  Finding finding{"disk", Severity::kGood, Remedy::kNone, -1, ""};
  struct statvfs disk {};
  const std::uint64_t least_bytes = disk_is_short_ ? kDiskGood_bytes : kDiskShort_bytes;
  if (statvfs(options_.data_dir.c_str(), &disk) != 0) {
    finding.severity = Severity::kFault;
    finding.evidence = options_.data_dir + " cannot be read";
  } else if ((disk.f_flag & ST_RDONLY) != 0) {
    finding.severity = Severity::kFault;
    finding.evidence = options_.data_dir + " can only be read";
  } else if (disk.f_bavail * disk.f_frsize < least_bytes) {
    disk_is_short_ = true;
    finding.severity = Severity::kFault;
    finding.evidence =
        fmt::format("{} ran below {} MiB of free space; the node takes jobs again at {} MiB",
                    options_.data_dir, kDiskShort_bytes >> 20, kDiskGood_bytes >> 20);
  } else {
    disk_is_short_ = false;
  }
  tell(finding);
}

void Health::run(const std::string& check, std::vector<std::string> argv) {
  // One that hangs is enough: its finding stands until it is gone.
  const bool hangs = std::any_of(over_.begin(), over_.end(),
                                 [&](const auto& each) { return each.first == check; });
  if (hangs) return;
  running_[check] = std::make_unique<ScriptRun>(
      loop_, std::move(argv), options_.check_limit, [this, check](ScriptEnd end) {
        over_.emplace_back(check, std::move(running_[check]));
        running_.erase(check);
        Finding finding{check, severity_of(end.exit_code), Remedy::kNone, -1, ""};
        if (finding.severity != Severity::kGood) finding.evidence = as_text(end.said);
        check_ended(std::move(finding));
      });
}

void Health::check_ended(Finding finding) {
  tell(finding);
  if (running_.empty() && !listing_) all_ended();
}

void Health::all_ended() {
  checking_ = false;
  if (!testing_) return;
  testing_ = false;
  std::string bad;
  for (const auto& [key, finding] : told_) {
    const bool lasts =
        finding.severity >= Severity::kFault && (emulated_.count(key) > 0 || key.second < 0);
    if (!lasts) continue;
    bad += fmt::format("{}{}: {}", bad.empty() ? "" : "; ", finding.check, finding.evidence);
  }
  const std::string good = fmt::format("{} checks passed", told_.size());
  report_(protocol::Tested{bad.empty(), bad.empty() ? good : bad});
  // What is still so is told again: the controller has closed all it knew.
  if (bad.empty()) told_.clear();
}

// Like the operator's directories, it may be where nothing answers.
void Health::check_faults() {
  const auto file = std::make_shared<FaultsFile>();
  const auto look = [file, path = options_.faults_path, seen = faults_seen_] {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) return;
    file->changed_ns = std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
    if (file->changed_ns != seen) file->text = files::text_or_empty(path, kFaultsFile_bytes);
  };
  const auto looked = [this, file, alive = std::weak_ptr<bool>(alive_)](bool in_time) {
    if (alive.expired()) return;
    if (in_time) take_faults(*file);
    faults_timer_ = loop_.after(kFaultsEvery, [this] { check_faults(); });
  };
  if (options_.aside) {
    return options_.aside(options_.faults_path, options_.check_limit, look, looked);
  }
  look();
  looked(true);
}

void Health::take_faults(const FaultsFile& file) {
  if (file.changed_ns == faults_seen_) return;
  faults_seen_ = file.changed_ns;
  const Result<Json> list = codec::parse_json(file.text, kFaultsFile_bytes);
  std::map<Key, Finding> now;
  if (list.ok() && list->is_array()) {
    for (const Json& item : *list) {
      const Result<Finding> finding = codec::read_finding(item);
      if (finding.ok()) now[{finding->check, finding->device}] = *finding;
    }
  }
  for (const auto& [key, finding] : emulated_) {
    if (now.count(key) == 0) tell({key.first, Severity::kGood, Remedy::kNone, key.second, ""});
  }
  for (const auto& [key, finding] : now) tell(finding);
  emulated_ = std::move(now);
}

void Health::test() {
  if (testing_) return;
  testing_ = true;
  if (!checking_) check_all();
}

void Health::remedied(const std::string& name, bool done, const std::string& why) {
  report_(protocol::RemedyOver{name, done, why});
}

void Health::remedy(const std::string& name) {
  if (hook_ != nullptr || looks_at_hook_) return;
  looks_at_hook_ = true;
  const std::string hook = options_.hooks_directory + "/" + name;
  const auto is_there = std::make_shared<bool>(false);
  const auto look = [is_there, hook] { *is_there = access(hook.c_str(), X_OK) == 0; };
  const auto looked = [this, is_there, name, hook,
                       alive = std::weak_ptr<bool>(alive_)](bool in_time) {
    if (alive.expired()) return;
    looks_at_hook_ = false;
    if (!in_time) return remedied(name, false, no_answer_from(hook, options_.check_limit));
    if (*is_there) return run_hook(name, hook);
    remedied(name, false, fmt::format("there is no program {} in the hooks of the agent", name));
  };
  if (options_.hooks_directory.empty()) return looked(true);
  if (options_.aside) return options_.aside(hook, options_.check_limit, look, looked);
  look();
  looked(true);
}

void Health::run_hook(const std::string& name, const std::string& hook) {
  telemetry::log(telemetry::Level::kInfo, "remedy", {{"node", options_.node}, {"hook", hook}});
  hook_ = std::make_unique<ScriptRun>(
      loop_, std::vector<std::string>{hook, options_.node}, options_.hook_limit,
      [this, name](ScriptEnd end) {
        over_.emplace_back("hook:" + name, std::move(hook_));
        const bool done = end.exit_code == 0;
        if (done && name == codec::word(Remedy::kReboot)) return;
        const std::string said = as_text(end.said);
        remedied(name, done,
                 said.empty() ? fmt::format("{} ended with {}", name, end.exit_code) : said);
      });
}

}  // namespace dove::agent
