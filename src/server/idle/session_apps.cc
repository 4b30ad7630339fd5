#include "server/idle/session_apps.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"

namespace dove::server {
namespace {

constexpr std::size_t kApps_max = 10'000;
constexpr std::size_t kBlobBytesMax = 8 << 20;

}  // namespace

Result<const AppSpec*> SessionApps::of(const core::Job& job) {
  const std::string& digest = job.spec->exec_digest;
  if (const auto known = apps_.find(digest); known != apps_.end()) return &known->second;
  TRY_ASSIGN(const listener::Blobs::Bytes blob, blobs_.find(digest));
  TRY_ASSIGN(const nlohmann::json parsed, codec::parse_json(*blob, kBlobBytesMax));
  TRY_ASSIGN(ExecSpec exec, codec::decode_exec(parsed));
  if (apps_.size() >= kApps_max) apps_.clear();
  return &apps_.emplace(digest, std::move(exec.app)).first->second;
}

}  // namespace dove::server
