#include "server/standing/agents_port.h"

#include <utility>

namespace dove::server {
namespace {

constexpr std::chrono::seconds kJudge{1};

// Each node has one connection, or two with an agent of a former version, and more for what people
// read. Each has proved to be a node's, and counts as one of that node. Nodes behind one address
// come back together.
wire::ServerLimits limits() {
  wire::ServerLimits limits;
  limits.connections_max = 60'000;
  limits.peer_max = 1'000;
  limits.handshakes_max = 20'000;
  limits.handshakes_peer_max = 5'000;
  limits.stream_buffer_bytes = kOrdersBytesMax;
  return limits;
}

}  // namespace

AgentsPort::AgentsPort(wire::Loop& loop, std::shared_ptr<wire::Tls> tls, Answers answers)
    : loop_(loop), tls_(std::move(tls)), answers_(std::make_shared<Answers>(std::move(answers))) {
  wire::ServerLimits with = limits();
  with.admit = [by = answers_](const wire::Request& head) { return by->admit(head); };
  http_ = std::make_unique<wire::Server>(
      loop, std::move(with),
      [by = answers_](wire::Request request, std::shared_ptr<wire::Responder> responder) {
        by->handler(std::move(request), std::move(responder));
      });
  tls_->let_in([this](const std::string& uri) {
    std::optional<bool> may_enter;
    if (answers_->may_enter != nullptr) may_enter = answers_->may_enter(uri);
    if (may_enter.has_value()) return *may_enter;
    came_.insert(uri);
    judge_later();
    return true;
  });
}

Result<std::unique_ptr<AgentsPort>> AgentsPort::open(wire::Loop& loop, const std::string& host,
                                                     std::uint16_t port,
                                                     std::shared_ptr<wire::Tls> tls,
                                                     Answers answers) {
  std::unique_ptr<AgentsPort> self(new AgentsPort(loop, tls, std::move(answers)));
  TRY(self->http_->listen(host, port, std::move(tls)));
  return self;
}

AgentsPort::~AgentsPort() {
  tls_->let_in([](const std::string&) { return false; });
}

void AgentsPort::answer_by(Answers answers) {
  *answers_ = std::move(answers);
  judge();
}

void AgentsPort::judge() {
  if (answers_->may_enter == nullptr) return;
  std::erase_if(came_, [this](const std::string& uri) {
    const std::optional<bool> may_enter = answers_->may_enter(uri);
    if (may_enter == false) http_->drop(uri);
    return may_enter.has_value();
  });
  judge_later();
}

void AgentsPort::judge_later() {
  if (came_.empty() || answers_->may_enter == nullptr || timer_.pending()) return;
  timer_ = loop_.after(kJudge, [this] { judge(); });
}

void AgentsPort::drop(const std::string& uri) { http_->drop(uri); }

void AgentsPort::shutdown(std::chrono::microseconds grace, std::function<void()> on_done) {
  http_->shutdown(grace, std::move(on_done));
}

}  // namespace dove::server
