// What a node needs to run tasks: its directory, its membership, what the kernel and the system
// offer, and what it shares with others.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "agent/session/lease.h"
#include "command/command.h"
#include "files/descriptor.h"
#include "files/linux_users.h"
#include "files/text_file.h"
#include "programs/doctor/checks.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kRoomLeast_bytes = 1 << 30;
constexpr std::size_t kLineMax = 4096;
constexpr std::int64_t kLeaseMax_s = 24 * 3600;
constexpr uid_t kSystemUserMax = 999;  // of Debian; logind leaves their files alone

Check check_cgroups() {
  Check check{"agent", "cgroups", Verdict::kGood, "", ""};
  const std::string controllers =
      files::text_or_empty("/sys/fs/cgroup/cgroup.controllers", kLineMax);
  if (controllers.empty()) {
    check.verdict = Verdict::kWarning;
    check.evidence = "version 1, or none: limits of memory and devices may not hold";
    check.remedy = "docs/operate/systemd.md; boot with systemd.unified_cgroup_hierarchy=1";
    return check;
  }
  std::string missing;
  for (const char* name : {"cpuset", "cpu", "memory", "pids"}) {
    if (controllers.find(name) == std::string::npos) missing += fmt::format(" {}", name);
  }
  check.evidence = missing.empty() ? "version 2" : "version 2, without" + missing;
  if (missing.empty()) return check;
  check.verdict = Verdict::kWarning;
  check.remedy = "docs/operate/systemd.md";
  return check;
}

// Looking up people may ask a service that hangs; then tasks of users cannot start.
Check check_users() {
  Check check{"agent", "users", Verdict::kGood, "the directory of users answers", ""};
  command::Wanted wanted;
  wanted.words = {"getent", "passwd", "root"};
  wanted.limit = std::chrono::seconds(5);
  const Result<command::End> end = command::run(wanted);
  const std::string absent = files::absent_service();
  if (!end.ok()) {
    check.evidence = "it has not answered within 5 s";
  } else if (!absent.empty()) {
    check.evidence = absent + " does not run";
  } else if (end->code != 0) {
    check.evidence = "it does not know root";
  } else {
    return check;
  }
  check.verdict = Verdict::kFault;
  check.remedy = "look at nsswitch.conf, sssd and the network";
  return check;
}

Check check_clock() {
  Check check{"agent", "clock", Verdict::kGood, "kept by the system", ""};
  command::Wanted wanted;
  wanted.words = {"timedatectl", "show", "-p", "NTPSynchronized", "--value"};
  wanted.limit = std::chrono::seconds(5);
  const Result<command::End> end = command::run(wanted);
  if (!end.ok() || end->code != 0) {
    check.verdict = Verdict::kUnknown;
    check.evidence = "timedatectl does not say whether it is kept right";
  } else if (!end->output.starts_with("yes")) {
    check.verdict = Verdict::kWarning;
    check.evidence = "nobody keeps it right";
    check.remedy = "apt install systemd-timesyncd; timedatectl";
  }
  return check;
}

Check check_forwarding() {
  const std::string on = files::text_or_empty("/proc/sys/net/ipv4/ip_forward", kLineMax);
  const bool is_on = on.starts_with('1');
  return {"agent", "ip_forward", is_on ? Verdict::kGood : Verdict::kWarning,
          is_on ? "on" : "off: gang networks of containers have no way out",
          is_on ? "" : "sysctl -w net.ipv4.ip_forward=1; docs/operate/network.md"};
}

// An agent of root keeps secrets of tasks in /run; that of another user in /dev/shm, which logind
// empties of a person's files when they have signed out (agent/secrets/task_secrets.h).
Check check_secrets(const std::string& data) {
  Check check{"agent", "secrets", Verdict::kGood, "kept where they stay", ""};
  struct stat facts {};
  if (::stat(data.c_str(), &facts) != 0) return check;
  if (facts.st_uid <= kSystemUserMax) return check;
  command::Wanted wanted;
  wanted.words = {"busctl",
                  "get-property",
                  "org.freedesktop.login1",
                  "/org/freedesktop/login1",
                  "org.freedesktop.login1.Manager",
                  "RemoveIPC"};
  wanted.limit = std::chrono::seconds(5);
  const Result<command::End> end = command::run(wanted);
  if (!end.ok() || end->code != 0 || !end->output.starts_with("b true")) return check;
  check.verdict = Verdict::kWarning;
  check.evidence = fmt::format(
      "systemd-logind removes files of user {} from /dev/shm when they have signed out, and with "
      "them the secrets of running tasks",
      facts.st_uid);
  check.remedy = "RemoveIPC=no in /etc/systemd/logind.conf, then systemctl restart systemd-logind";
  return check;
}

// Deadlines count from the boot, so an older one may lie anywhere (agent/session/lease.h).
bool is_from_before_boot(int lease, std::int64_t left_s) {
  if (left_s > kLeaseMax_s) return true;
  struct stat facts {};
  if (::fstat(lease, &facts) != 0) return false;
  return facts.st_mtim.tv_sec < std::time(nullptr) - agent::boottime_us() / 1'000'000 - 1;
}

// Until when this node's tasks may run.
Check check_lease(const std::string& data) {
  Check check{"agent", "lease", Verdict::kGood, "there is none yet: no task has run here", ""};
  const std::string path = data + "/lease";
  const files::Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) {
    if (errno == ENOENT) return check;
    check.verdict = Verdict::kUnknown;
    check.evidence = std::strerror(errno);
    check.remedy = "run dove doctor as root, or as the user that the program runs as";
    return check;
  }
  agent::shim::LeaseFile file;
  const bool runs = is_running(data + "/contact");
  if (agent::shim::read_lease(fd.get(), file) == agent::shim::LeaseRead::kDamaged) {
    check.verdict = Verdict::kFault;
    check.evidence = path + " is damaged: tasks end by the deadline that they read before";
    check.remedy = "systemctl restart dove-agent; is the disk sound?";
    return check;
  }
  if (file.deadline_us == 0) return check;
  const std::int64_t left_s = (file.deadline_us - agent::boottime_us()) / 1'000'000;
  const bool is_old = is_from_before_boot(fd.get(), left_s);
  if (is_old) {
    check.evidence = "it is from before a reboot and has no effect";
  } else if (left_s > 0) {
    check.evidence =
        fmt::format("tasks may run for another {} unless it is renewed", span_text(left_s));
  } else {
    check.evidence =
        fmt::format("it was over {} ago, and this node's tasks were ended", span_text(-left_s));
  }
  if (runs && (left_s > 0 || is_old)) return check;
  check.verdict = runs ? Verdict::kFault : Verdict::kWarning;
  check.remedy =
      runs ? "dove doctor cluster; journalctl -u dove-agent" : "systemctl start dove-agent";
  if (!runs) check.evidence = "no agent is seen to run here; " + check.evidence;
  return check;
}

}  // namespace

std::vector<Check> check_agent(const DoctorOptions& options) {
  const std::string& data = options.agent_data;
  std::vector<Check> out;
  if (::access(data.c_str(), R_OK | X_OK) != 0) {
    out.push_back({"agent", "data " + data, Verdict::kFault, std::strerror(errno),
                   "name the agent's directory with --agent-data"});
    return out;
  }
  out.push_back(check_disk("agent", data, kRoomLeast_bytes));
  out.push_back(check_fsync("agent", data));
  out.push_back(check_lease(data));
  if (::access((data + "/agent_token").c_str(), F_OK) != 0) {
    out.push_back({"agent", "membership", Verdict::kFault, "it has never joined",
                   "dove join-token create; docs/operate/systemd.md"});
  }
  for (const char* name : {"agent_token", "agent_key.pem", "contact"}) {
    Check check = check_private("agent", data + "/" + name);
    if (check.evidence != "not there") out.push_back(std::move(check));
  }
  out.push_back(check_certificate("agent", data + "/agent_certificate.pem", options.now_s, 0,
                                  "start the agent: it asks for a new one by its token"));
  out.push_back(check_cgroups());
  out.push_back(check_users());
  out.push_back(check_clock());
  out.push_back(check_forwarding());
  out.push_back(check_secrets(data));
  check_limits("agent", data + "/contact", out);
  const std::string own = data + "/shared";
  if (!options.shared.empty()) {
    check_shared(options.shared, options.shared == own, out);
  } else if (::access(own.c_str(), F_OK) == 0) {
    check_shared(own, true, out);
  }
  return out;
}

}  // namespace dove::programs
