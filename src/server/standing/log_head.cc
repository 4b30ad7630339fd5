#include "server/standing/log_head.h"

#include <charconv>
#include <string>
#include <utility>

namespace dove::server {
namespace {

class HeadedResponder : public wire::Responder {
 public:
  HeadedResponder(std::shared_ptr<wire::Responder> inner, HeadSeen head,
                  std::function<void(wire::Response&)> change)
      : inner_(std::move(inner)), head_(std::move(head)), change_(std::move(change)) {}

  void send(wire::Response response) override {
    if (change_) change_(response);
    response.headers.push_back(header());
    inner_->send(std::move(response));
  }
  std::shared_ptr<wire::Outflow> stream(int status, wire::Pairs headers) override {
    headers.push_back(header());
    return inner_->stream(status, std::move(headers));
  }
  bool peer_alive() const override { return inner_->peer_alive(); }
  void counts_at(std::shared_ptr<wire::Backlog> backlog) override {
    inner_->counts_at(std::move(backlog));
  }
  wire::TakenOver take_over() override { return inner_->take_over(); }

 private:
  std::pair<std::string, std::string> header() const {
    return {kLogHead, std::to_string(head_->load())};
  }

  const std::shared_ptr<wire::Responder> inner_;
  const HeadSeen head_;
  const std::function<void(wire::Response&)> change_;
};

}  // namespace

std::shared_ptr<wire::Responder> with_log_head(std::shared_ptr<wire::Responder> responder,
                                               HeadSeen head,
                                               std::function<void(wire::Response&)> change) {
  return std::make_shared<HeadedResponder>(std::move(responder), std::move(head),
                                           std::move(change));
}

Result<Seq> wanted_head(const wire::Request& request) {
  const std::string_view text = request.header(kLogHead);
  if (text.empty()) return Seq();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return Seq(value);
  return Error{ErrorKind::kInvalid, "bad_log_head",
               "Dove-Log-Head is the number that an answer of this cluster had in this header",
               kLogHead};
}

}  // namespace dove::server
