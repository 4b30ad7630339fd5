// A library of a policy that does what the environment variable FAKE_POLICY says.
#include <dove/policy.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

std::int64_t rank(const dove_job* job) {
  if (job->size < sizeof(dove_job)) return -1;
  return std::string_view(job->user) == "most" ? INT64_MIN : job->gpus_milli + job->tasks;
}

std::int64_t score(const dove_node* node, const dove_task* task) {
  return node->devices_milli[node->devices - 1] * 1000 + task->device_milli;
}

}  // namespace

extern "C" const dove_policy* dove_policy_table(std::uint32_t version) {
  static struct dove_policy table;
  table = {sizeof(table), version, "fake", rank, score};
  const char* const how = std::getenv("FAKE_POLICY");
  const std::string_view said = how == nullptr ? "" : how;
  if (said == "null") return nullptr;
  if (said == "later") ++table.version;
  if (said == "short") table.size = 8;
  if (said == "nameless") table.name = nullptr;
  if (said == "shouting") table.name = "FAKE";
  if (said == "known") table.name = "fgd";
  if (said == "empty") table.rank = nullptr;
  if (said == "empty" || said == "order") table.score = nullptr;
  return &table;
}
