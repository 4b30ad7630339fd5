#include "programs/follow/follow_run.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstdio>

#include "cli/command.h"
#include "programs/follow/follow_page.h"
#include "programs/follow/follower.h"
#include "programs/service/notice.h"
#include "telemetry/log.h"
#include "wire/loop.h"

namespace dove::programs {
namespace {

int fail(const Error& error) {
  fmt::print(stderr, "dove server: {}\n", error.message);
  return cli::exit_code(error);
}

}  // namespace

int run_follower(const ServerSettings& settings) {
  if (const auto& names = settings.follow.without_effect; !names.empty()) {
    telemetry::log(telemetry::Level::kWarning, "settings_without_effect",
                   {{"settings", fmt::format("{}", fmt::join(names, ", "))},
                    {"why", "a follower decides nothing and lets nobody in"}});
  }
  wire::Loop loop;
  ServiceNotice notice(loop);
  std::optional<Error> ended;
  auto follower = Follower::open(settings, [&](const Error& error) {
    loop.post([&, error] {
      if (!ended) ended = error;
      loop.stop();
    });
  });
  if (!follower.ok()) return fail(follower.error());
  const auto page =
      FollowPage::open(loop, settings, [&follower] { return (*follower)->standing(); });
  if (!page.ok()) return fail(page.error());
  loop.on_signal({SIGTERM, SIGINT}, [&](int) {
    notice.stopping();
    loop.stop();
  });
  const std::string now =
      fmt::format("follows {}; its health is at {}://{}:{}", settings.follow.urls,
                  settings.tls.on ? "https" : "http", settings.host, (*page)->port());
  notice.ready(now, [](const std::function<void()>& alive) { alive(); });
  fmt::print("dove server: {}\n", now);
  std::fflush(stdout);
  loop.run();
  follower->reset();
  return ended ? fail(*ended) : cli::kExitOk;
}

}  // namespace dove::programs
