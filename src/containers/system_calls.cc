#include "containers/system_calls.h"

#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <nlohmann/json.hpp>

namespace dove::containers {
namespace {

using Json = nlohmann::json;

constexpr const char* kRefused[] = {
    // mounts and namespaces
    "mount", "umount", "umount2", "pivot_root", "move_mount", "open_tree", "fsopen", "fsconfig",
    "fsmount", "fspick", "mount_setattr", "unshare", "setns", "open_by_handle_at",
    "name_to_handle_at",
    // the kernel itself
    "init_module", "finit_module", "delete_module", "create_module", "query_module",
    "get_kernel_syms", "kexec_load", "kexec_file_load", "reboot", "syslog", "bpf",
    "perf_event_open", "lookup_dcookie", "userfaultfd", "iopl", "ioperm", "vm86", "vm86old",
    "modify_ldt", "_sysctl", "sysfs", "uselib", "ustat", "nfsservctl", "vhangup", "kcmp",
    // the machine's resources and clocks
    "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "settimeofday", "stime",
    "clock_settime", "clock_settime64", "sethostname", "setdomainname",
    // keys belong to users of the machine, not to containers
    "add_key", "request_key", "keyctl",
    // calls that a filter does not see
    "io_uring_setup", "io_uring_enter", "io_uring_register",
    // other processes' memory
    "process_vm_writev", "process_vm_readv", "process_madvise", "ptrace"};

// The kinds of socket that reach neither a network nor a neighbour that the job may reach.
constexpr std::uint64_t kSocketFamilies[] = {AF_PACKET, AF_VSOCK, AF_ALG, AF_XDP, AF_KEY};

constexpr std::uint64_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                         CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

Json rule(Json names, int error, Json arguments) {
  Json rule{{"names", std::move(names)}, {"action", "SCMP_ACT_ERRNO"}, {"errnoRet", error}};
  if (!arguments.empty()) rule["args"] = std::move(arguments);
  return rule;
}

Json argument(int index, std::uint64_t value) {
  return Json{{"index", index}, {"value", value}, {"op", "SCMP_CMP_EQ"}};
}

}  // namespace

Json system_calls_json() {
  Json rules = Json::array();
  rules.push_back(rule(kRefused, EPERM, Json::array()));
  for (const std::uint64_t family : kSocketFamilies) {
    rules.push_back(rule({"socket"}, EPERM, Json::array({argument(0, family)})));
  }
  // SOCK_RAW is refused by missing capabilities; AF_NETLINK is what programs list interfaces with.
  for (std::uint64_t bit = 1; bit <= kNewNamespaces; bit <<= 1) {
    if ((kNewNamespaces & bit) == 0) continue;
    rules.push_back(
        rule({"clone"}, EPERM,
             Json::array({Json{
                 {"index", 0}, {"value", bit}, {"valueTwo", bit}, {"op", "SCMP_CMP_MASKED_EQ"}}})));
  }
  // Its flags are in memory, which a filter cannot read; libraries fall back to clone.
  rules.push_back(rule({"clone3"}, ENOSYS, Json::array()));
  Json architectures = Json::array();
#if defined(__x86_64__)
  architectures.push_back("SCMP_ARCH_X86_64");
#elif defined(__aarch64__)
  architectures.push_back("SCMP_ARCH_AARCH64");
#endif
  return Json{{"defaultAction", "SCMP_ACT_ALLOW"},
              {"architectures", std::move(architectures)},
              {"syscalls", std::move(rules)}};
}

}  // namespace dove::containers
