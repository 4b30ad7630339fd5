#include "slurm/command_cluster.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "files/linux_users.h"
#include "slurm/accounting/sacct.h"
#include "slurm/slurm_json.h"

namespace dove::slurm {
namespace {

constexpr std::size_t kTextMax = 64 << 10;
constexpr std::int64_t kMebibyte = 1 << 20;
constexpr std::chrono::seconds kPartitionsEvery{60};
constexpr std::size_t kScriptMax = 8 << 20;  // Slurm's own max_script_size is half of it
// Each question takes as long while slurmdbd is away.
constexpr std::chrono::seconds kAccountingLimit{3};
constexpr std::chrono::seconds kAccountingAgain{60};
// What salloc says once it has an allocation.
constexpr const char kGranted[] = "Granted job allocation ";

Error refused(const CommandEnd& end, const std::string& program) {
  return Error{ErrorKind::kUnavailable, "slurm_command",
               fmt::format("{} exits with {}: {}", program, end.code, end.said), ""};
}

// What salloc says when there is no room now; everything else is a matter of rights or settings.
bool is_about_room(std::string_view said) {
  for (const std::string_view words :
       {"Requested nodes are busy", "Immediate execution impossible", "node(s) are not available",
        "Required node not available", "Nodes required for job are DOWN, DRAINED"}) {
    if (said.find(words) != std::string_view::npos) return true;
  }
  return false;
}

// The id in "salloc: Granted job allocation 6"; 0: there is none.
std::int64_t id_after(std::string_view words, std::string_view said) {
  const std::size_t at = said.find(words);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = said.substr(at + words.size());
  std::int64_t id = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), id);
  return id;
}

// What both say of a placeholder.
void add_request(const Ask& ask, std::vector<std::string>& words) {
  words.insert(words.end(),
               {"--priority=TOP", "--job-name=" + ask.name, fmt::format("--comment={}", kMark),
                "--nodelist=" + ask.node, "--nodes=1", "--ntasks=1",
                fmt::format("--cpus-per-task={}", std::max(ask.cpus, 1)),
                fmt::format("--mem={}M", std::max<std::int64_t>(
                                             (ask.memory_bytes + kMebibyte - 1) / kMebibyte, 1)),
                fmt::format("--time={}", ask.limit_minutes), "--chdir=/"});
  if (!ask.gres.empty()) words.push_back("--gres=" + ask.gres);
  if (!ask.reservation.empty()) words.push_back("--reservation=" + ask.reservation);
  if (!ask.partitions.empty()) {
    words.push_back(fmt::format("--partition={}", fmt::join(ask.partitions, ",")));
  }
}

void add_user(const Ask& ask, std::vector<std::string>& words) {
  words.push_back("--uid=" + ask.user);
  const passwd* const entry = ::getpwnam(ask.user.c_str());
  if (entry != nullptr) words.push_back(fmt::format("--gid={}", entry->pw_gid));
}

using Known = files::LinuxLookUp::Answer;

Known is_known(const std::string& name) {
  if (name.empty() || name.front() == '-') return Known::kNobody;
  return files::look_up(name).answer;
}

bool is_linux_user(const std::string& name) { return is_known(name) == Known::kFound; }

Error no_linux_user(const std::string& name) {
  const char* const code = is_known(name) == Known::kUnsure ? "users_not_known" : kUser_refused;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"this machine"};
  return Error{ErrorKind::kDenied, code,
               fmt::format("there is no Linux user \"{}\" on {}, where dove slurm runs: create the "
                           "account there as on Slurm's nodes, or correct `linux_user` of the User",
                           name, host.data()),
               ""};
}

struct Lasting {
  std::string_view said;  // by Slurm
  const char* remedy;
};
constexpr Lasting kLasting[] = {
    {"Invalid account or account/partition combination",
     "give this user an account in Slurm that the partition allows (`sacctmgr add user`)"},
    {"Invalid user id", "create the Linux account on slurmctld's machine"},
    {"Invalid qos specification", "give this user a default QOS in Slurm (`sacctmgr modify user`)"},
    {"User's group not permitted to use this partition",
     "add this user to a group in the partition's AllowGroups"},
    {"Requested time limit is invalid", "submit it with a shorter time limit"},
};

// What is to be done about a refusal that lasts until somebody does it; nullptr: it may pass.
// Limits of accounting are such: most count what runs.
const char* remedy_of(std::string_view said) {
  for (const Lasting& one : kLasting) {
    if (said.find(one.said) != std::string_view::npos) return one.remedy;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> placeholder_command(const Ask& ask, bool for_user) {
  std::vector<std::string> words{"salloc", "--no-shell", "--immediate=1"};
  add_request(ask, words);
  if (for_user) add_user(ask, words);
  return words;
}

std::vector<std::string> sleeper_command(const Ask& ask) {
  std::vector<std::string> words{"sbatch", "--parsable", "--no-requeue", "--export=NIL",
                                 "--output=/dev/null"};
  add_request(ask, words);
  if (is_linux_user(ask.user)) add_user(ask, words);
  words.emplace_back("--wrap=exec sleep infinity");
  return words;
}

CommandCluster::CommandCluster(Run run) : run_(std::move(run)) {
  if (!run_) run_ = run_command;
}

Result<CommandEnd> CommandCluster::run(const std::vector<std::string>& command) const {
  return run_({.words = command, .output_max = kTextMax});
}

Result<SlurmVersion> CommandCluster::version() {
  if (version_) return *version_;
  TRY_ASSIGN(const CommandEnd end, run({"sinfo", "--version"}));
  if (end.code != 0) return refused(end, "sinfo");
  TRY_ASSIGN(version_, read_version(end.output));
  return *version_;
}

Result<std::vector<NodeSeen>> CommandCluster::observe_nodes() {
  TRY_ASSIGN(const SlurmVersion commands, version());
  const std::vector<std::string> words = commands.nodes_command();
  TRY_ASSIGN(const CommandEnd end, run_({.words = words, .output_max = kJsonBytesMax}));
  if (end.code != 0) return refused(end, words.front());
  return read_nodes(end.output);
}

Result<Observed> CommandCluster::observe() {
  Observed seen;
  Result<std::vector<NodeSeen>> nodes = observe_nodes();
  if (!nodes.ok()) version_.reset();  // Slurm may have been upgraded
  TRY_ASSIGN(seen.nodes, std::move(nodes));
  if (reservations_.is_due(seen.nodes)) {
    TRY_ASSIGN(std::vector<ReservationSeen> all, read_reservations());
    reservations_.keep(std::move(all), seen.nodes, std::time(nullptr));
  }
  reservations_.add_to(seen);
  TRY_ASSIGN(seen.jobs, observe_jobs(seen.nodes));
  return seen;
}

Result<std::vector<ReservationSeen>> CommandCluster::read_reservations() const {
  TRY_ASSIGN(const CommandEnd end, run_({.words = {"env", "SLURM_TIME_FORMAT=%s", "scontrol",
                                                   "show", "reservation", "--oneliner"},
                                         .output_max = kJsonBytesMax}));
  if (end.code != 0) return refused(end, "scontrol");
  return read_reservation_lines(end.output);
}

Result<std::vector<JobSeen>> CommandCluster::observe_jobs(const std::vector<NodeSeen>& nodes) {
  // Since 23.02 it leaves out those that have ended, unless they are asked for.
  TRY_ASSIGN(const CommandEnd jobs,
             run_({.words = {"squeue", "--states=all", "--json"}, .output_max = kJsonBytesMax}));
  if (jobs.code != 0) return refused(jobs, "squeue");
  return read_jobs(jobs.output, nodes);
}

Result<std::int64_t> CommandCluster::allocate(const Ask& ask, bool for_user) const {
  TRY_ASSIGN(const CommandEnd end, run_({.words = placeholder_command(ask, for_user),
                                         .output_max = kTextMax,
                                         .enough = kGranted}));
  const std::int64_t id = id_after(kGranted, end.said);
  if (end.code == 0 && id > 0) return id;
  if (id > 0) TRY(run({"scancel", std::to_string(id)}));
  if (is_about_room(end.said)) {
    return Error{ErrorKind::kConflict, "no_room", "Slurm has no room: " + end.said, ""};
  }
  return refused(end, "salloc");
}

// As they were a minute ago at most, or when they could last be read.
const std::vector<PartitionSeen>& CommandCluster::partitions() {
  const auto now = std::chrono::steady_clock::now();
  if (partitions_read_at_ && now - *partitions_read_at_ < kPartitionsEvery) return partitions_;
  const Result<CommandEnd> end =
      run_({.words = {"scontrol", "show", "partition", "--oneliner"}, .output_max = kJsonBytesMax});
  if (end.ok() && end->code == 0) {
    partitions_ = read_partition_lines(end->output);
    partitions_read_at_ = now;
  }
  return partitions_;
}

// Slurm may have been upgraded since.
bool CommandCluster::is_other_version() {
  const std::optional<SlurmVersion> before = std::exchange(version_, std::nullopt);
  return version().ok() && version_ != before;
}

Result<std::int64_t> CommandCluster::allocate_for_user(const Ask& ask) {
  TRY_ASSIGN(const SlurmVersion commands, version());
  if (commands.allocates_for_users()) return allocate(ask, true);
  return ask.is_users ? submit_sleeper(ask) : allocate(ask, false);
}

Result<std::int64_t> CommandCluster::allocate(const Ask& ask) {
  if (ask.waits) return submit_sleeper(ask);
  if (!is_linux_user(ask.user)) return allocate(ask, false);
  Result<std::int64_t> id = allocate_for_user(ask);
  const auto is_refused = [&id] { return !id.ok() && id.error().code == "slurm_command"; };
  if (is_refused() && is_other_version()) id = allocate_for_user(ask);
  // The user may have no account in Slurm; the devices are to be held all the same.
  const bool may_be_ours = !ask.is_users && version_ && version_->allocates_for_users();
  if (is_refused() && may_be_ours) id = allocate(ask, false);
  return id;
}

// An allocation that waits for its start ends soon after it when its salloc is gone, and a user's
// salloc may not say where in the queue it stands: it is a batch job.
Result<std::int64_t> CommandCluster::submit_sleeper(const Ask& ask) const {
  TRY_ASSIGN(const CommandEnd end, run(sleeper_command(ask)));
  const std::int64_t id = id_after("", end.output);
  if (end.code != 0 || id == 0) return refused(end, "sbatch");
  return id;
}

Result<std::int64_t> CommandCluster::ask(const Ask& ask) {
  if (ask.is_users && !is_linux_user(ask.user)) return no_linux_user(ask.user);
  Result<std::int64_t> id = Error{};
  bool lasts = ask.is_users;  // every tier's refusal so far
  bool has_limit = true;      // the one that is wanted
  for (const Ask& each : ask_in_partitions(ask, partitions())) {
    id = allocate(each);
    has_limit = each.limit_minutes == ask.limit_minutes;
    if (id.ok() || id.error().code != "slurm_command") break;
    lasts = lasts && remedy_of(id.error().message) != nullptr;
  }
  if (!id.ok() && id.error().code == "slurm_command" && lasts) {
    return Error{ErrorKind::kDenied, kUser_refused,
                 fmt::format("Slurm refuses a job of {}: {}; {}", ask.user, id.error().message,
                             remedy_of(id.error().message)),
                 ""};
  }
  if (!id.ok()) return id;
  Result<void> done;
  const bool is_batch = ask.waits || (ask.is_users && version_ && !version_->allocates_for_users());
  // One that waits would never start with a limit beyond its partition's.
  if (!has_limit && !is_batch) done = set_limit(*id, ask.limit_minutes);
  if (done.ok() && !ask.is_marked_by_gate)
    done = mark(std::to_string(*id), placeholder_mark(ask.name));
  if (done.ok()) return id;
  TRY(release(*id));
  return done.error();
}

Result<void> CommandCluster::mark(const std::string& handle, const std::string& text) {
  TRY_ASSIGN(const CommandEnd end,
             run({"scontrol", "update", "JobId=" + handle, "AdminComment=" + text}));
  if (end.code == 0) return {};
  return Error{ErrorKind::kDenied, "not_administrator",
               fmt::format("the placeholder cannot be marked ({}); run dove slurm as root or as "
                           "SlurmUser",
                           end.said),
               ""};
}

// What the command line says comes before what the script says.
Result<std::optional<UserSignal>> CommandCluster::user_signal(const std::string& handle) {
  std::optional<UserSignal> said = accounted_signal(handle);
  if (said) return said;
  TRY_ASSIGN(const CommandEnd script,
             run_({.words = {"scontrol", "write", "batch_script", handle, "-"},
                   .output_max = kScriptMax}));
  if (script.code != 0) return refused(script, "scontrol");
  return signal_of_script(script.output);
}

std::optional<UserSignal> CommandCluster::accounted_signal(const std::string& handle) {
  const auto now = std::chrono::steady_clock::now();
  if (accounting_failed_at_ && now - *accounting_failed_at_ < kAccountingAgain) return {};
  const Result<std::string> line =
      ask_sacct(run_, {"--format=SubmitLine", "--jobs=" + handle}, kAccountingLimit, kTextMax);
  accounting_failed_at_ = line.ok() ? std::nullopt : std::optional(now);
  return line.ok() ? signal_of_command(std::string_view(*line).substr(0, line->find('\n')))
                   : std::nullopt;
}

Result<std::int64_t> CommandCluster::warn(const std::string& handle) {
  TRY_ASSIGN(const std::optional<UserSignal> signal, user_signal(handle));
  if (!signal) return 0;
  std::vector<std::string> words{"scancel", "--signal=" + signal->name};
  if (signal->is_of_script) words.push_back("--batch");
  words.push_back(handle);
  TRY_ASSIGN(const CommandEnd end, run(words));
  if (end.code != 0) return refused(end, "scancel");
  return signal->before_s;
}

Result<void> CommandCluster::requeue(const std::string& handle, const std::string& why) {
  if (!why.empty()) {
    TRY_ASSIGN(const CommandEnd said,
               run({"scontrol", "update", "JobId=" + handle, "AdminComment=" + why}));
    if (said.code != 0) return refused(said, "scontrol");
  }
  // It may have ended since it was last seen, and Slurm would run a finished job again.
  TRY_ASSIGN(const CommandEnd end, run({"scontrol", "requeue", "Incomplete", handle}));
  if (end.code == 0) return {};
  return refused(end, "scontrol");
}

Result<void> CommandCluster::release(std::int64_t job) {
  TRY_ASSIGN(const CommandEnd end, run({"scancel", std::to_string(job)}));
  if (end.code == 0 || end.said.find("Invalid job id") != std::string::npos) return {};
  return refused(end, "scancel");
}

Result<void> CommandCluster::suspend(std::int64_t job) {
  TRY_ASSIGN(const CommandEnd end, run({"scontrol", "suspend", std::to_string(job)}));
  if (end.code == 0) return {};
  return refused(end, "scontrol");
}

Result<void> CommandCluster::set_limit(std::int64_t job, std::int64_t limit_minutes) {
  const std::string limit = limit_minutes == 0 ? "UNLIMITED" : std::to_string(limit_minutes);
  TRY_ASSIGN(const CommandEnd end,
             run({"scontrol", "update", "JobId=" + std::to_string(job), "TimeLimit=" + limit}));
  if (end.code == 0) return {};
  return refused(end, "scontrol");
}

Result<void> CommandCluster::set_drain(const std::string& node, const std::string& reason) {
  std::vector<std::string> command{"scontrol", "update", "NodeName=" + node};
  if (reason.empty()) {
    command.push_back("State=UNDRAIN");
  } else {
    command.insert(command.end(), {"State=DRAIN", "Reason=" + reason});
  }
  TRY_ASSIGN(const CommandEnd end, run(command));
  if (end.code == 0) return {};
  return refused(end, "scontrol");
}

}  // namespace dove::slurm
