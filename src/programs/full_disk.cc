#include "programs/full_disk.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "programs/server/server_tls.h"
#include "store/postgres/connection.h"
#include "telemetry/clock.h"
#include "wire/server.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kLeastToTry_bytes = 1 << 20;
constexpr std::chrono::seconds kBetweenLooks{1};

}  // namespace

Result<std::unique_ptr<ServerRuntime>> start_once_there_is_room(wire::Loop& loop,
                                                                const ServerSettings& settings) {
  for (;;) {
    Result<std::unique_ptr<ServerRuntime>> started = ServerRuntime::start(loop, settings);
    if (started.ok() || started.error().code != "disk_full") return started;
    const Error full = started.error();
    fmt::print(stderr, "dove server: {}; it waits, and answers its agents\n", full.message);
    const auto answer = [full](const wire::Request&,
                               const std::shared_ptr<wire::Responder>& responder) {
      responder->send(wire::problem(503, full));
    };
    wire::Server meanwhile(loop, {}, answer);
    std::unique_ptr<ServerTls> tls;
    std::optional<server::ApiTls> shown;
    if (settings.tls.on) {
      TRY_ASSIGN(tls, ServerTls::open(loop, settings.tls, settings.data_dir, settings.host,
                                      telemetry::now_us));
      shown = tls->for_api();
      TRY(meanwhile.listen(settings.host, shown->agents_port, shown->agents));
    }
    TRY(meanwhile.listen(settings.host, settings.port, shown ? shown->people : nullptr));
    do {
      loop.run_until([] { return false; }, kBetweenLooks);
    } while (free_bytes(settings.data_dir) < kLeastToTry_bytes);
  }
}

Result<std::unique_ptr<ServerRuntime>> stand_by_once_there_is_a_store(
    wire::Loop& loop, const ServerSettings& settings,
    const std::function<void(bool leads)>& on_turn) {
  std::string said;
  for (;;) {
    auto started = ServerRuntime::stand_by(loop, settings, on_turn);
    if (started.ok()) return started;
    const std::string& code = started.error().code;
    if (code != "store_unreachable" && code != store::kRowHeld) return started;
    if (said != started.error().message) {
      said = started.error().message;
      fmt::print(stderr, "dove server: {}; it waits\n", said);
    }
    loop.run_until([] { return false; }, kBetweenLooks);
  }
}

}  // namespace dove::programs
