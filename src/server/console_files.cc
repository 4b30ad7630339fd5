#include "server/console_files.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>

#include "listener/desk.h"
#include "wire/address.h"

namespace dove::server {
namespace {

std::set<std::string, std::less<>> first_parts(std::span<const listener::Route> routes) {
  std::set<std::string, std::less<>> parts;
  for (const listener::Route& route : routes) parts.emplace(webui::first_part(route.words.path));
  return parts;
}

}  // namespace

ConsoleFiles::ConsoleFiles(std::span<const listener::Route> routes)
    : site_(webui::built_files(), first_parts(routes)) {}

bool ConsoleFiles::answer(const listener::Desk& desk, const wire::Request& request,
                          wire::Responder& responder) const {
  std::optional<wire::Response> answer = site_.answer(request);
  if (!answer.has_value()) return false;
  const std::string who = fmt::format("address {}", wire::network_of(request.peer_address));
  const auto share = desk.throttle->begin(who, desk.loop.monotonic_us());
  responder.counts_at(desk.throttle->unread_of(who));
  responder.send(share.ok() ? std::move(*answer) : wire::problem(share.error()));
  return true;
}

}  // namespace dove::server
