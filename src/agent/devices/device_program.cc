// The half of device_rules.h that is for cgroup v2: a program for the kernel's own machine, which
// it runs whenever a process of the group opens or makes a device file.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "agent/devices/device_rules.h"
#include "files/descriptor.h"

namespace dove::agent {
namespace {

constexpr std::size_t kAttached_max = 64;  // the kernel's own limit, for one group

int bpf(bpf_cmd command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

std::uint64_t address(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }

// Builds it, one rule after another. Register 1 holds the question at the start.
class Program {
 public:
  Program() {
    load(kAccess, offsetof(bpf_cgroup_dev_ctx, access_type));
    load(kMajor, offsetof(bpf_cgroup_dev_ctx, major));
    load(kMinor, offsetof(bpf_cgroup_dev_ctx, minor));
    add({BPF_ALU64 | BPF_MOV | BPF_X, kType, kAccess, 0, 0});
    add({BPF_ALU64 | BPF_AND | BPF_K, kType, 0, 0, 0xffff});
    add({BPF_ALU64 | BPF_RSH | BPF_K, kAccess, 0, 0, 16});
    unless_equal(kAccess, BPF_DEVCG_ACC_MKNOD, 2);  // making one opens nothing
    answer(1);
  }
  void allow(const DeviceRule& rule) {
    const bool any = rule.minor == kAnyMinor;
    const int rest = any ? 3 : 4;
    unless_equal(kType, rule.type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR, rest);
    unless_equal(kMajor, rule.major, rest - 1);
    if (!any) unless_equal(kMinor, static_cast<std::uint32_t>(rule.minor), 2);
    answer(1);
  }
  const std::vector<bpf_insn>& finish(bool allows_others) {
    answer(allows_others ? 1 : 0);
    return code_;
  }

 private:
  static constexpr std::uint8_t kAnswer = 0, kQuestion = 1, kAccess = 2, kType = 3, kMajor = 4,
                                kMinor = 5;
  struct Step {
    int code;
    std::uint8_t to, from;
    int skip;
    std::uint32_t value;
  };
  void add(const Step& step) {
    bpf_insn one{};
    one.code = static_cast<std::uint8_t>(step.code);
    one.dst_reg = step.to & 15U;
    one.src_reg = step.from & 15U;
    one.off = static_cast<std::int16_t>(step.skip);
    one.imm = static_cast<std::int32_t>(step.value);
    code_.push_back(one);
  }
  void load(std::uint8_t to, std::size_t offset) {
    add({BPF_LDX | BPF_MEM | BPF_W, to, kQuestion, static_cast<int>(offset), 0});
  }
  void unless_equal(std::uint8_t left, std::uint32_t right, int skip) {
    add({BPF_JMP | BPF_JNE | BPF_K, left, 0, skip, right});
  }
  void answer(std::uint32_t value) {
    add({BPF_ALU64 | BPF_MOV | BPF_K, kAnswer, 0, 0, value});
    add({BPF_JMP | BPF_EXIT, 0, 0, 0, 0});
  }

  std::vector<bpf_insn> code_;
};

int load_program(const std::vector<DeviceRule>& rules, bool allows_others) {
  Program program;
  for (const DeviceRule& rule : rules) program.allow(rule);
  const std::vector<bpf_insn>& code = program.finish(allows_others);
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  attributes.insns = address(code.data());
  attributes.insn_cnt = static_cast<std::uint32_t>(code.size());
  attributes.license = address("none");  // it calls nothing that would ask for one
  std::strncpy(attributes.prog_name, "dove_devices", sizeof attributes.prog_name - 1);
  return bpf(BPF_PROG_LOAD, attributes);
}

// The program that was loaded last: most tasks of a node are given the same, often no device at
// all, and the kernel's look at a program is most of what it costs.
class LastProgram {
 public:
  LastProgram() = default;
  ~LastProgram() {
    if (program_ >= 0) ::close(program_);
  }
  LastProgram(const LastProgram&) = delete;
  LastProgram& operator=(const LastProgram&) = delete;
  // A descriptor that stays this class's; -1 and errno.
  int of(const std::vector<DeviceRule>& rules) {
    if (program_ >= 0 && rules == rules_) return program_;
    const int fresh = load_program(rules, false);
    if (fresh < 0) return -1;
    if (program_ >= 0) ::close(program_);
    program_ = fresh;
    rules_ = rules;
    return program_;
  }

 private:
  int program_ = -1;
  std::vector<DeviceRule> rules_;
};

int attach(int group, int program) {
  bpf_attr attributes{};
  attributes.target_fd = static_cast<std::uint32_t>(group);
  attributes.attach_bpf_fd = static_cast<std::uint32_t>(program);
  attributes.attach_type = BPF_CGROUP_DEVICE;
  attributes.attach_flags = BPF_F_ALLOW_MULTI;  // beside those of the groups above
  return bpf(BPF_PROG_ATTACH, attributes);
}

int detach(int group, int program) {
  bpf_attr attributes{};
  attributes.target_fd = static_cast<std::uint32_t>(group);
  attributes.attach_bpf_fd = static_cast<std::uint32_t>(program);
  attributes.attach_type = BPF_CGROUP_DEVICE;
  return bpf(BPF_PROG_DETACH, attributes);
}

// Takes off what a former call attached.
void detach_all(int group) {
  std::uint32_t ids[kAttached_max] = {};
  bpf_attr query{};
  query.query.target_fd = static_cast<std::uint32_t>(group);
  query.query.attach_type = BPF_CGROUP_DEVICE;
  query.query.prog_ids = address(ids);
  query.query.prog_cnt = kAttached_max;
  if (bpf(BPF_PROG_QUERY, query) != 0) return;
  for (std::size_t i = 0; i < query.query.prog_cnt && i < kAttached_max; ++i) {
    bpf_attr wanted{};
    wanted.prog_id = ids[i];
    const files::Descriptor program(bpf(BPF_PROG_GET_FD_BY_ID, wanted));
    if (program.get() >= 0) detach(group, program.get());
  }
}

Error cannot(const std::string& what, const std::string& directory) {
  return Error{ErrorKind::kUnavailable, "device_rules",
               fmt::format("{} {}: {}", what, directory, std::strerror(errno)), directory};
}

}  // namespace

Result<void> restrict_v2(const std::string& directory, const std::vector<DeviceRule>& rules) {
  const files::Descriptor group(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (group.get() < 0) return cannot("cannot open the cgroup", directory);
  static thread_local LastProgram last;
  const int program = last.of(rules);
  if (program < 0) return cannot("the kernel accepts no device rules for", directory);
  detach_all(group.get());
  if (attach(group.get(), program) != 0) {
    return cannot("cannot set device rules for", directory);
  }
  return {};
}

Result<void> can_restrict_v2(const std::string& directory) {
  const files::Descriptor group(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (group.get() < 0) return cannot("cannot open the cgroup", directory);
  const files::Descriptor program(load_program({{'c', 1, 3}}, true));  // below it tasks may run
  if (program.get() < 0) return cannot("the kernel accepts no device rules for", directory);
  if (attach(group.get(), program.get()) != 0) {
    return cannot("cannot set device rules for", directory);
  }
  detach(group.get(), program.get());
  return {};
}

}  // namespace dove::agent
