#include "backends/native/boards/refusals.h"

#include <nlohmann/json.hpp>

#include "telemetry/log.h"

namespace dove::backends {
namespace {

constexpr std::int64_t kKept_us = 3'600'000'000;

}  // namespace

void RefusalBoard::refused(NodeId node, const std::string& name, const std::string& address,
                           const Error& why, std::int64_t now_us) {
  Refusal& one = refusals_[node];
  const bool is_news =
      one.code != why.code || one.address != address || now_us - one.at_us > kKept_us;
  one = {address, why.code, why.message, now_us, is_news ? 1 : one.tries + 1};
  if (!is_news) return;
  telemetry::log(telemetry::Level::kWarning, "agent_refused",
                 {{"node", name}, {"address", address}, {"code", why.code}, {"why", why.message}});
}

void RefusalBoard::admitted(NodeId node, const std::string& address) {
  const auto found = refusals_.find(node);
  if (found != refusals_.end() && found->second.address == address) refusals_.erase(found);
}

void RefusalBoard::show(NodeId node, std::int64_t now_us, nlohmann::json& object) const {
  const auto found = refusals_.find(node);
  const bool shown = found != refusals_.end() && now_us - found->second.at_us <= kKept_us;
  object["refused"] = nullptr;
  if (!shown) return;
  const Refusal& one = found->second;
  object["refused"] = {{"address", one.address},
                       {"code", one.code},
                       {"why", one.why},
                       {"ago_us", now_us - one.at_us},
                       {"tries", one.tries}};
}

}  // namespace dove::backends
