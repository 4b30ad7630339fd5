#include "sim/explore/process.h"

#include <utility>

#include "sim/explore/line.h"

namespace dove::sim {
namespace {

class Socket : public wire::Listening {
 public:
  Socket(std::shared_ptr<void> server, std::function<void()> close)
      : server_(std::move(server)), close_(std::move(close)) {}
  ~Socket() override { close_(); }
  std::uint16_t port() const override { return 1; }

 private:
  std::shared_ptr<void> server_;
  std::function<void()> close_;
};

}  // namespace

Process::Process(Network& network, Host& host)
    : network_(network), host_(host), alive_(std::make_shared<bool>(true)) {}

Process::~Process() = default;

std::int64_t Process::monotonic_us() const { return network_.agenda().now_us(); }

void Process::after(std::chrono::microseconds delay, std::function<void()> fn) {
  auto call = [weak = std::weak_ptr<bool>(alive_), fn = std::move(fn)] {
    if (!weak.expired()) fn();
  };
  network_.agenda().in(delay.count(), [&host = host_, process = this, call = std::move(call)] {
    Network::run(host, process, call);
  });
}

std::unique_ptr<wire::ClientLine> Process::line(const std::string& host, std::uint16_t /*port*/,
                                                const wire::AsyncClientOptions& options) {
  return std::make_unique<Line>(network_, host_, host, options);
}

std::unique_ptr<wire::Listening> Process::listen(std::uint16_t /*port*/, wire::Handler handler) {
  auto server = std::make_shared<Network::Server>(Network::Server{std::move(handler), alive_});
  network_.hosts_[host_.name] = &host_;
  network_.servers_[host_.name] = server;
  const auto close = [&network = network_, name = host_.name, weak = std::weak_ptr(server)] {
    const auto found = network.servers_.find(name);
    if (found != network.servers_.end() && found->second == weak.lock()) {
      network.servers_.erase(found);
    }
  };
  return std::make_unique<Socket>(server, close);
}

}  // namespace dove::sim
