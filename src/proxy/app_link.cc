#include "proxy/app_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "wire/http.h"

namespace dove::proxy {
namespace {

using nlohmann::json;

constexpr std::size_t kTextBytesMax = 1 << 20;

std::string text_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

AppLink::AppLink(const Open& open, LinkUser& user) : user_(&user) {
  wire::WebSocketCallbacks callbacks;
  callbacks.on_text = [this](std::string_view text) { hear(text); };
  callbacks.on_bytes = [this](std::string_view message) { hear_piece(message); };
  callbacks.on_closed = [this](const Error& closed) { end(error_of_answer(closed)); };
  socket_ = open(std::move(callbacks));
}

void AppLink::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, wire::kPiece_bytes);
    sent_.add(piece.size());
    socket_->send_bytes(wire::piece_bytes(wire::Channel::kStdin, piece));
    bytes.remove_prefix(piece.size());
  }
}

void AppLink::took(std::size_t bytes) {
  if (bytes == 0 || over_) return;
  received_.take(static_cast<std::int64_t>(bytes));
  if (const std::size_t said = passed_.add(bytes); said > 0) {
    socket_->send_text(fmt::format(R"({{"took":{}}})", said));
  }
}

void AppLink::hear_piece(std::string_view message) {
  if (over_) return;
  const Result<wire::Piece> piece = wire::read_piece(message);
  const bool fits = piece.ok() && piece->channel == wire::Channel::kStdout && open_ &&
                    received_.add(piece->bytes.size());
  if (!fits || user_ == nullptr) {
    return end(Error{ErrorKind::kInternal, "bad_message", "the app's end broke the protocol", ""});
  }
  if (!piece->bytes.empty()) user_->link_bytes(piece->bytes);
}

void AppLink::hear(std::string_view text) {
  if (over_) return;
  const Result<json> said = codec::parse_json(text, kTextBytesMax);
  if (!said.ok() || !said->is_object()) return;
  if (said->contains("begun")) {
    open_ = true;
    if (user_ != nullptr) user_->link_opened();
  } else if (const auto error = said->find("error"); error != said->end() && error->is_object()) {
    end(Error{ErrorKind::kUnavailable, text_of(*error, "code"), text_of(*error, "message"), ""});
  } else if (const auto took = said->find("took"); took != said->end()) {
    if (!took->is_number_integer() || !sent_.take(took->get<std::int64_t>())) {
      return end(
          Error{ErrorKind::kInternal, "bad_message", "the app's end broke the protocol", ""});
    }
    if (user_ != nullptr) user_->link_room();
  } else if (said->contains("end") || said->contains("over")) {
    end(Error{ErrorKind::kUnavailable, "app_ended", "the app closed the connection", ""});
  }
}

void AppLink::end(const Error& error) {
  if (std::exchange(over_, true)) return;
  if (user_ != nullptr) user_->link_closed(error);
}

Error error_of_problem(int status, const std::string& body) {
  const Result<json> said = codec::parse_json(body, kTextBytesMax);
  Error error{wire::kind_of_status(status), fmt::format("http_{}", status), "", ""};
  if (!said.ok() || !said->is_object()) return error;
  if (const std::string code = text_of(*said, "code"); !code.empty()) error.code = code;
  error.message = text_of(*said, "detail");
  return error;
}

Error error_of_answer(const Error& closed) {
  if (!closed.code.starts_with("http_")) return closed;
  return error_of_problem(std::atoi(closed.code.c_str() + 5), closed.message);
}

}  // namespace dove::proxy
