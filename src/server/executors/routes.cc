#include "server/executors/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json_fields.h"

namespace dove::server {
namespace {

constexpr std::size_t kRoutesMax = 16;
constexpr std::size_t kNamesMax = 1'000;
constexpr int kWhole = 100;

Error bad(const std::string& message, std::string field) {
  return Error{ErrorKind::kInvalid, "bad_route", message, std::move(field)};
}

Result<Route> read_route(const std::string& name, const nlohmann::json& given) {
  Route route;
  route.executor = name;
  const nlohmann::json object = given.is_object() ? given : nlohmann::json{{"percent", given}};
  codec::Failure failure;
  codec::JsonFields fields(object, "executor." + name, failure);
  fields.integer("percent", route.percent, 0, kWhole);
  fields.texts("users", route.users, kNameRule, kNamesMax);
  fields.texts("projects", route.projects, kNameRule, kNamesMax);
  fields.texts("queues", route.queues, kNameRule, kNamesMax);
  fields.texts("pools", route.pools, kNameRule, kNamesMax);
  fields.done();
  if (failure.any()) return failure.error();
  return route;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

// SplitMix64's last step (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// 2014). Turns of one project may be every second or every tenth one, which must not show.
std::uint64_t mixed(std::uint64_t turn) {
  turn += 0x9e3779b97f4a7c15U;
  turn = (turn ^ (turn >> 30U)) * 0xbf58476d1ce4e5b9U;
  turn = (turn ^ (turn >> 27U)) * 0x94d049bb133111ebU;
  return turn ^ (turn >> 31U);
}

}  // namespace

bool Route::is_for_all() const {
  return users.empty() && projects.empty() && queues.empty() && pools.empty();
}

bool Route::is_for(const JobSpec& spec) const {
  return holds(users, spec.user) && holds(projects, spec.project) && holds(queues, spec.queue) &&
         holds(pools, spec.pool);
}

Result<std::vector<Route>> read_routes(const nlohmann::json& given) {
  if (given.empty() || given.size() > kRoutesMax) {
    return bad(fmt::format("give 1 to {} executors, such as {{\"slurm\": 30}}, which sends 30 of "
                           "100 jobs to slurm",
                           kRoutesMax),
               "executor");
  }
  std::vector<Route> routes;
  for (const auto& [name, value] : given.items()) {
    TRY_ASSIGN(Route route, read_route(name, value));
    routes.push_back(std::move(route));
  }
  int for_all = 0;
  for (const Route& route : routes) {
    if (route.is_for_all()) for_all += route.percent;
  }
  if (for_all > kWhole) {
    return bad(fmt::format("the shares of all jobs are {} percent together: give 100 at most, and "
                           "our agents run the rest",
                           for_all),
               "executor");
  }
  return routes;
}

std::string route(const std::vector<Route>& routes, const JobSpec& spec, std::uint64_t turn) {
  int drawn = static_cast<int>(mixed(turn) % kWhole);
  for (const Route& route : routes) {
    if (!route.is_for(spec)) continue;
    if (drawn < route.percent) return route.executor;
    drawn -= route.percent;
  }
  return "";
}

}  // namespace dove::server
