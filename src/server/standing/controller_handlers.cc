// The controllers of a cluster, and whose turn it is to lead.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "codec/json_fields.h"
#include "server/context.h"
#include "server/handlers.h"
#include "telemetry/log.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

// As old as the controller's word is, too.
Json refused_json(const ControllerPeer& peer) {
  Json last = Json::array();
  for (const listener::RefusalsSaid::Last& one : peer.refused.last) {
    last.push_back({{"who", one.calls.who},
                    {"address", one.calls.address},
                    {"operation", one.calls.operation},
                    {"code", one.calls.code},
                    {"times", one.calls.times},
                    {"ago_ms", one.ago_ms + peer.ago_us / 1000}});
  }
  return Json{{"calls", peer.refused.calls},
              {"handshakes", peer.refused.handshakes},
              {"last", std::move(last)}};
}

Json json_of(const ControllerPeer& peer) {
  return Json{{"name", peer.name},       {"url", peer.url},
              {"version", peer.version}, {"leads", peer.leads},
              {"folded", peer.folded},   {"seen_ms_ago", peer.ago_us / 1000},
              {"level", peer.level},     {"refused", refused_json(peer)}};
}

Error one_controller() {
  return Error{ErrorKind::kConflict, "one_controller",
               "this cluster has one controller, with its log in its own directory: see "
               "docs/operate/standby.md",
               ""};
}

}  // namespace

void list_controllers(Context& context, CallPtr call) {
  if (!context.controllers.all) return call->fail(one_controller());
  Json all = Json::array();
  for (const ControllerPeer& peer : context.controllers.all()) all.push_back(json_of(peer));
  call->reply(200, Json{{"controllers", std::move(all)}, {"level", context.state().level}});
}

void hand_over(Context& context, CallPtr call) {
  if (!context.controllers.hand_over) return call->fail(one_controller());
  std::string to;
  const Result<void> read =
      call->read_body([&](codec::JsonFields& fields) { fields.text("to", to); });
  if (!read.ok()) return call->fail(read.error());
  const Result<ControllerPeer> next = context.controllers.hand_over(to);
  if (!next.ok()) return call->fail(next.error());
  telemetry::log(telemetry::Level::kInfo, "hand_over_asked",
                 {{"by", call->caller.user}, {"to", next->name}});
  call->reply(202, json_of(*next));
}

void accept_clock(Context& context, CallPtr call) {
  const auto leap = context.desk.controller.leap();
  if (!leap) {
    return call->fail({ErrorKind::kConflict, "clock_followed",
                       "the log follows the clock of the controller's machine: there is nothing to "
                       "accept",
                       ""});
  }
  context.desk.submit(*call, ClockAccepted{},
                      [call](const Result<controller::Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        call->reply(200, Json{{"seq", committed->head.value}});
                      });
}

// A controller that cannot read what is written from then on could never lead again.
void finish_upgrade(Context& context, CallPtr call) {
  const std::int32_t level = context.state().level;
  if (level >= kProgramLevel) {
    return call->fail({ErrorKind::kConflict, "upgrade_finished",
                       fmt::format("the cluster is at level {}, the newest that this version "
                                   "writes: there is nothing to finish",
                                   level),
                       ""});
  }
  if (context.controllers.are_known && !context.controllers.are_known()) {
    return call->fail({ErrorKind::kUnavailable, "controllers_unknown",
                       "this controller could not read yet which others there are: try again", ""});
  }
  const auto all =
      context.controllers.all ? context.controllers.all() : std::vector<ControllerPeer>{};
  for (const ControllerPeer& peer : all) {
    if (peer.level >= kProgramLevel) continue;
    return call->fail({ErrorKind::kConflict, "controller_older",
                       fmt::format("controller {} (dove {}) reads up to level {}, and was seen "
                                   "within the last day: upgrade it first; one that is gone for "
                                   "good is forgotten after a day",
                                   peer.name, peer.version, peer.level),
                       ""});
  }
  context.desk.submit(
      *call, LevelRaised{kProgramLevel}, [call](const Result<controller::Committed>& committed) {
        if (!committed.ok()) return call->fail(committed.error());
        call->reply(200, Json{{"level", kProgramLevel}, {"seq", committed->head.value}});
      });
}

}  // namespace dove::server
