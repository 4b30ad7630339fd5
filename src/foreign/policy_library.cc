#include "foreign/policy_library.h"

#include <dlfcn.h>
#include <dove/policy.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/digest.h"
#include "core/place/limits.h"
#include "core/place/score.h"
#include "core/place/score_board.h"
#include "core/queue/queue_tree.h"
#include "core/state/books.h"
#include "files/guarded_file.h"

namespace dove::foreign {
namespace {

constexpr std::int64_t kRank_max = std::int64_t{1} << 61;
constexpr std::size_t kName_max = 32;

Error refused(const std::string& path, const char* code, const std::string& why) {
  return Error{ErrorKind::kInvalid, code, fmt::format("policy {}: {}", path, why), path};
}

class ForeignOrder : public core::OrderPolicy {
 public:
  ForeignOrder(std::string name, std::int64_t (*ask)(const dove_job*))
      : name_(std::move(name)), rank_(ask) {}

  std::string_view name() const override { return name_; }

  std::int64_t rank(const core::State& state, const core::Job& job) const override {
    const JobSpec& spec = *job.spec;
    const core::Amount amount = core::least_amount(spec);
    dove_job view{};
    view.size = sizeof(view);
    view.priority = job.priority;
    view.id = job.id.value;
    view.name = spec.name.c_str();
    view.user = spec.user.c_str();
    view.project = spec.project.c_str();
    view.queue = spec.queue.c_str();
    view.submitted_at_us = job.submitted_at.us;
    view.time_limit_us = core::time_limit_of(state, spec).us;
    for (const TaskGroup& group : spec.groups) view.tasks += group.tasks;
    view.cores = amount.cores;
    view.gpus_milli = amount.gpus_milli;
    view.memory_bytes = amount.memory_bytes;
    return std::clamp(rank_(&view), -kRank_max, kRank_max);
  }

 private:
  std::string name_;
  std::int64_t (*rank_)(const dove_job*);
};

using ScoreFunction = std::int64_t (*)(const dove_node*, const dove_task*);

class ForeignScorer : public core::Scorer {
 public:
  explicit ForeignScorer(ScoreFunction ask) : score_(ask) {}

  core::Score score(const core::FreeState& node, const core::TaskShape& task) const override {
    dove_node there{};
    there.size = sizeof(there);
    there.devices = static_cast<std::int32_t>(node.devices_milli.size());
    there.devices_milli = node.devices_milli.data();
    there.cpu_milli = node.cpu_milli;
    there.memory_bytes = node.memory_bytes;
    there.cpu_milli_total = node.node_class.cpu_milli;
    there.memory_bytes_total = node.node_class.memory_bytes;
    dove_task wanted{};
    wanted.size = sizeof(wanted);
    wanted.devices = task.devices;
    wanted.device_milli = task.device_milli;
    wanted.cpu_milli = task.cpu_milli;
    wanted.memory_bytes = task.memory_bytes;
    return {std::clamp(score_(&there, &wanted), -kRank_max, kRank_max), core::kAnyDevice};
  }

 private:
  ScoreFunction score_;
};

class ForeignScore : public core::ScorePolicy {
 public:
  ForeignScore(std::string name, ScoreFunction ask) : name_(std::move(name)), score_(ask) {}

  std::string_view name() const override { return name_; }
  std::unique_ptr<const core::Scorer> prepare(std::span<const core::MixEntry>,
                                              std::span<const core::NodeClass>) const override {
    return std::make_unique<ForeignScorer>(score_);
  }

 private:
  std::string name_;
  ScoreFunction score_;
};

// Whoever can write the file, or put another in its place, can be the server. Libraries are often
// links to the one of their version, so these are followed: the file that is looked at is loaded.
Result<std::string> checked_file(const std::string& path) {
  if (path.empty() || path.front() != '/') {
    return refused(path, "policy_path", "give the file with its whole path");
  }
  std::error_code trouble;
  const std::string real = std::filesystem::canonical(path, trouble);
  if (trouble) return refused(path, "policy_path", trouble.message());
  Result<std::string> file = files::guarded_file(real);
  if (file.ok()) return file;
  const bool is_there = file.error().kind != ErrorKind::kNotFound;
  return refused(path, is_there ? "policy_unsafe" : "policy_path", file.error().message);
}

Result<std::string> digest_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (!file.good() && !file.eof()) return refused(path, "policy_path", "cannot be read");
  Digest digest;
  digest.add(bytes);
  return fmt::format("{:016x}", digest.value());
}

Result<void> check_table(const std::string& path, const dove_policy* table,
                         const core::Policies& known) {
  if (table == nullptr) {
    return refused(path, "policy_version",
                   fmt::format("it does not speak version {} of api/dove/policy.h: build it anew",
                               DOVE_POLICY_VERSION));
  }
  if (table->version != DOVE_POLICY_VERSION || table->size < sizeof(dove_policy)) {
    return refused(
        path, "policy_version",
        fmt::format("it says that it is of version {} and {} bytes; needed are {} and {}",
                    table->version, table->size, DOVE_POLICY_VERSION, sizeof(dove_policy)));
  }
  const std::string_view name = table->name == nullptr ? "" : table->name;
  const bool is_name = !name.empty() && name.size() <= kName_max &&
                       std::all_of(name.begin(), name.end(), [](char c) {
                         return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
                       });
  if (!is_name) {
    return refused(path, "policy_name",
                   "its name has to be 1 to 32 lower-case letters, digits and \"_\"");
  }
  if (core::find_order(known, name) != nullptr || core::find_score(known, name) != nullptr) {
    return refused(path, "policy_name", fmt::format("there is a policy \"{}\" already", name));
  }
  if (table->rank == nullptr && table->score == nullptr) {
    return refused(path, "policy_empty", "it neither ranks jobs nor scores nodes");
  }
  return {};
}

}  // namespace

struct PolicyLibrary::Impl {
  std::string name;
  std::unique_ptr<ForeignOrder> order;
  std::unique_ptr<ForeignScore> score;
};

PolicyLibrary::PolicyLibrary(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PolicyLibrary::~PolicyLibrary() = default;

Result<std::unique_ptr<PolicyLibrary>> PolicyLibrary::load(const std::string& path,
                                                           const core::Policies& known) {
  TRY_ASSIGN(const std::string file, checked_file(path));
  TRY_ASSIGN(const std::string digest, digest_of(file));
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return refused(path, "policy_load", why == nullptr ? "it cannot be loaded" : why);
  }
  const auto entry =
      reinterpret_cast<const dove_policy* (*)(std::uint32_t)>(dlsym(library, "dove_policy_table"));
  if (entry == nullptr) {
    return refused(path, "policy_load",
                   "it exports no function dove_policy_table (api/dove/policy.h)");
  }
  const dove_policy* table = entry(DOVE_POLICY_VERSION);
  TRY(check_table(path, table, known));
  auto impl = std::make_unique<Impl>();
  impl->name = fmt::format("{}/{}", table->name, digest);
  if (table->rank != nullptr) impl->order = std::make_unique<ForeignOrder>(impl->name, table->rank);
  if (table->score != nullptr) {
    impl->score = std::make_unique<ForeignScore>(impl->name, table->score);
  }
  return std::unique_ptr<PolicyLibrary>(new PolicyLibrary(std::move(impl)));
}

const std::string& PolicyLibrary::name() const { return impl_->name; }
const core::OrderPolicy* PolicyLibrary::order() const { return impl_->order.get(); }
const core::ScorePolicy* PolicyLibrary::score() const { return impl_->score.get(); }

core::Policies with_libraries(const core::Policies& own,
                              const std::vector<std::unique_ptr<PolicyLibrary>>& libraries) {
  core::Policies all = own;
  for (const auto& library : libraries) {
    if (library->order() != nullptr) all.orders.push_back(library->order());
    if (library->score() != nullptr) all.scores.push_back(library->score());
  }
  return all;
}

}  // namespace dove::foreign
