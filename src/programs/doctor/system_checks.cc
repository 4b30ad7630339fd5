// What the system lets a program have: open files and tasks; and the directory that nodes share.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>

#include "agent/aside/side_threads.h"
#include "command/command.h"
#include "files/text_file.h"
#include "programs/doctor/checks.h"

namespace dove::programs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTextMax = 1 << 20;
constexpr std::int64_t kShortPercent = 70;
constexpr std::int64_t kGonePercent = 95;
constexpr std::int64_t kSharedLeast_bytes = 64 << 20;

struct Use {
  std::int64_t used = 0;
  std::int64_t limit = 0;
  std::string of = {};

  std::int64_t percent() const { return limit <= 0 ? 100 : used * 100 / limit; }
};

// None: the file says no number ("max").
std::optional<std::int64_t> number_in(const std::string& path) {
  std::istringstream words(files::text_or_empty(path, kTextMax));
  std::int64_t number = 0;
  if (words >> number) return number;
  return std::nullopt;
}

// The process that has the file locked; "": none, or one that cannot be seen from here.
std::string locker_of(const std::string& path) {
  struct stat is {};
  if (::stat(path.c_str(), &is) != 0) return "";
  std::istringstream lines(files::text_or_empty("/proc/locks", kTextMax));
  const std::string inode = fmt::format(":{}", is.st_ino);
  for (std::string line; std::getline(lines, line);) {
    // "1: FLOCK  ADVISORY  WRITE 1938 fe:00:10012566 0 EOF"; the device is not stat's everywhere.
    std::istringstream words(line);
    std::string number, kind, how, access, pid, file;
    words >> number >> kind >> how >> access >> pid >> file;
    if (kind != "FLOCK" || !file.ends_with(inode)) continue;
    if (files::text_or_empty("/proc/" + pid + "/comm", kTextMax).starts_with("dove")) return pid;
  }
  return "";
}

Check check_use(const std::string& part, const char* subject, const Use& use,
                const std::string& remedy) {
  Check check{part, subject, Verdict::kGood, fmt::format("{} of {}{}", use.used, use.limit, use.of),
              ""};
  if (use.percent() < kShortPercent) return check;
  check.verdict = use.percent() < kGonePercent ? Verdict::kWarning : Verdict::kFault;
  check.remedy = remedy;
  return check;
}

Check check_open_files(const std::string& part, const std::string& process) {
  std::istringstream lines(files::text_or_empty(process + "/limits", kTextMax));
  constexpr std::string_view kName = "Max open files";
  Use use;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kName)) std::istringstream(line.substr(kName.size())) >> use.limit;
  }
  std::error_code failed;
  for (fs::directory_iterator it(process + "/fd", failed), end; !failed && it != end;
       it.increment(failed)) {
    ++use.used;
  }
  if (failed || use.limit == 0) {
    return {part, "open files", Verdict::kUnknown,
            failed ? failed.message() : "its limit is not known",
            "run dove doctor as root, or as the user that the program runs as"};
  }
  return check_use(part, "open files", use,
                   "LimitNOFILE=1048576 in its unit, or ulimit -n before it starts");
}

// The tightest of the kernel's limit and those of the control groups that it is in.
Check check_tasks(const std::string& part, const std::string& process) {
  std::string load = files::text_or_empty("/proc/loadavg", kTextMax);
  Use tightest;
  tightest.of = " of the machine";
  const std::size_t slash = load.find('/');
  if (slash != std::string::npos) std::istringstream(load.substr(slash + 1)) >> tightest.used;
  tightest.limit = std::min(number_in("/proc/sys/kernel/pid_max").value_or(INT64_MAX),
                            number_in("/proc/sys/kernel/threads-max").value_or(INT64_MAX));
  std::istringstream lines(files::text_or_empty(process + "/cgroup", kTextMax));
  std::string group;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  for (; group.size() > 1; group = group.substr(0, group.rfind('/'))) {
    const auto limit = number_in("/sys/fs/cgroup" + group + "/pids.max");
    const auto used = number_in("/sys/fs/cgroup" + group + "/pids.current");
    const Use use{used.value_or(0), limit.value_or(0), " in " + group};
    if (limit && used && use.percent() > tightest.percent()) tightest = use;
  }
  return check_use(part, "tasks", tightest,
                   "TasksMax=infinity in its unit; sysctl kernel.pid_max kernel.threads-max");
}

}  // namespace

bool is_running(const std::string& locked) { return !locker_of(locked).empty(); }

void check_limits(const std::string& part, const std::string& locked, std::vector<Check>& out) {
  const std::string pid = locker_of(locked);
  if (pid.empty()) return;
  out.push_back(check_open_files(part, "/proc/" + pid));
  out.push_back(check_tasks(part, "/proc/" + pid));
}

// Nothing is asked of a file system that does not answer but by programs that have a time limit.
void check_shared(const std::string& shared, bool is_own, std::vector<Check>& out) {
  Check room = check_disk("agent", shared, kSharedLeast_bytes);
  const bool answers = room.verdict == Verdict::kGood;
  out.push_back(std::move(room));
  Check check{"agent", "shared " + shared, Verdict::kGood, "", ""};
  const std::string mount = agent::mount_of(shared);
  check.evidence = is_own ? "the agent's own" : "mounted at " + mount;
  if (!is_own && mount == "/") {
    check.verdict = Verdict::kWarning;
    check.evidence = "nothing is mounted there: other nodes do not see what is in it";
    check.remedy = "mount it before the agent starts: findmnt -T " + shared;
  }
  if (answers) {
    command::Wanted wanted;
    wanted.words = {"test", "-w", shared};
    wanted.limit = std::chrono::seconds(5);
    const Result<command::End> end = command::run(wanted);
    if (!end.ok() || end->code != 0) {
      check.verdict = ::geteuid() == 0 ? Verdict::kFault : Verdict::kUnknown;
      check.evidence = end.ok() ? "it cannot be written" : end.error().message;
      check.remedy = "look at its mount and its mode: findmnt -T " + shared;
    }
  }
  out.push_back(std::move(check));
}

}  // namespace dove::programs
