#include "agent/containers/container_egress.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "containers/place.h"
#include "files/kept_time.h"
#include "files/text_file.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

// On a busy machine that loads the modules first five seconds are too few.
constexpr int kTrialLimit_ms = 20'000;
constexpr std::chrono::seconds kChildLimit{20};
// Between jobs that follow one another the table stays.
constexpr std::chrono::seconds kLinger{10};
constexpr const char* kNftPlaces[] = {"/usr/sbin/nft", "/usr/local/sbin/nft", "/sbin/nft",
                                      "/usr/bin/nft"};
constexpr std::size_t kText_bytes = 1 << 20;
constexpr const char kKept[] = "/can";
constexpr const char kForward[] = "/proc/sys/net/ipv4/";

std::string find_nft() {
  for (const char* path : kNftPlaces) {
    if (::access(path, X_OK) == 0) return path;
  }
  return "";
}

// The exit status of a program that is waited for; -1: it had none in time.
int run_briefly(std::vector<std::string> argv) {
  std::vector<char*> words;
  for (std::string& word : argv) words.push_back(word.data());
  words.push_back(nullptr);
  pid_t child = -1;
  if (::posix_spawn(&child, words[0], nullptr, nullptr, words.data(), environ) != 0) return -1;
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  pollfd ended{handle, POLLIN, 0};
  if (handle < 0 || ::poll(&ended, 1, kTrialLimit_ms) <= 0) ::kill(child, SIGKILL);
  if (handle >= 0) ::close(handle);
  int status = 0;
  if (::waitpid(child, &status, 0) < 0 || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// The device of the route to the world; "": there is none.
std::string device_out() {
  std::ifstream lines("/proc/net/route");
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string name;
    std::string destination;
    if (words >> name >> destination && destination == "00000000") return name;
  }
  return "";
}

}  // namespace

containers::ControllerPlace controller_place(const std::string& host, std::uint16_t port) {
  containers::ControllerPlace place{"", port, false, host};
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); failed != 0) {
    telemetry::log(telemetry::Level::kWarning, "networks_closed",
                   {{"why",
                     "the controller's address is not known, so gang networks may not reach it; "
                     "restart the agent when its name can be resolved"},
                    {"host", host},
                    {"error", ::gai_strerror(failed)}});
    return place;
  }
  char text[INET_ADDRSTRLEN] = "";
  const auto* const address = reinterpret_cast<const sockaddr_in*>(found->ai_addr);
  if (::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != nullptr) place.address = text;
  ::freeaddrinfo(found);
  return place;
}

ContainerEgress::ContainerEgress(wire::Loop& loop, ContainerEgressOptions options)
    : loop_(loop), options_(std::move(options)) {
  containers::name_egress(options_.directory, egress_);
  egress_.rules = options_.directory + "/rules";
  egress_.routes = options_.routes;
  for (std::string& route : containers::routes_to(options_.controllers)) {
    egress_.routes.push_back(std::move(route));
  }
  std::error_code error;
  fs::create_directories(options_.directory, error);
  fs::permissions(options_.directory, fs::perms::owner_all, error);
  std::ofstream(egress_.rules, std::ios::trunc)
      << containers::rules_text(egress_, options_.controllers);
  const int known = kept();
  if ((std::max(known, 0) & containers::kEgress) != 0) {
    egress_.nft = find_nft();
    tried(known);
    again_ = loop_.after(std::chrono::milliseconds(0), [this] { try_again(); });
  } else {
    tried(run_briefly(trial()));
    try_later();
  }
  if (const std::string why = shortfall(); !why.empty()) {
    telemetry::log(telemetry::Level::kInfo, "networks_closed", {{"why", why}});
  }
}

ContainerEgress::~ContainerEgress() {
  if (linger_.pending()) run_briefly(end_command());
}

std::vector<std::string> ContainerEgress::trial() {
  egress_.nft = find_nft();
  return {options_.contain_path, "try-egress",
          egress_.nft.empty() ? "/nonexistent/nft" : egress_.nft, egress_.rules};
}

// One trial may fail for want of memory or time.
void ContainerEgress::tried(int can) {
  constexpr int kAll = containers::kEgress + containers::kVxlans;
  const bool is_answer = can >= 0 && can <= kAll;
  const int now = (can_out_ ? containers::kEgress : 0) + (can_vxlan_ ? containers::kVxlans : 0);
  const bool is_less = is_answer && (now & ~can) != 0;
  trials_ = can == kAll ? 0 : is_less && can != last_ ? 1 : trials_ + 1;
  if (is_answer && (!is_less || can == last_)) {
    can_out_ = (can & containers::kEgress) != 0;
    can_vxlan_ = (can & containers::kVxlans) != 0;
    could_out_ = could_out_ || can_out_;
    keep();
  }
  last_ = can;
}

// Without it the next start waits for a trial.
void ContainerEgress::keep() const {
  const int now = (can_out_ ? containers::kEgress : 0) + (can_vxlan_ ? containers::kVxlans : 0);
  if (now == kept()) return;
  (void)files::write_atomically(options_.directory + kKept,
                                fmt::format("{} {}\n", files::KeptTime::this_boot(), now), 0600);
}

// -1: nothing of this boot.
int ContainerEgress::kept() const {
  std::istringstream words(files::text_or_empty(options_.directory + kKept, kText_bytes));
  std::string boot;
  int can = -1;
  const bool is_whole = static_cast<bool>(words >> boot >> can);
  return is_whole && !boot.empty() && boot == files::KeptTime::this_boot() ? can : -1;
}

void ContainerEgress::try_later() {
  std::chrono::milliseconds wait = options_.again;
  for (int i = 1; i < trials_ && wait < options_.again_most; ++i) wait *= 2;
  if (trials_ == 0) wait = options_.again_when_well;
  again_ = loop_.after(std::min(wait, options_.again_most), [this] { try_again(); });
}

void ContainerEgress::try_again() {
  trial_ = std::make_unique<containers::Child>(
      loop_, trial(), std::chrono::milliseconds(kTrialLimit_ms), [this](const Result<void>&) {
        const std::string before = shortfall();
        tried(trial_->exit_status());
        const std::string why = shortfall();
        if (why != before && why.empty()) telemetry::log(telemetry::Level::kInfo, "networks_open");
        if (why != before && !why.empty()) {
          telemetry::log(telemetry::Level::kWarning, "networks_closed", {{"why", why}});
        }
        try_later();
      });
}

bool ContainerEgress::forwards() const {
  const auto is_on = [](const std::string& name) {
    return files::text_or_empty(kForward + name, kText_bytes).starts_with('1');
  };
  if (is_on("ip_forward")) return true;
  const std::string device = device_out();
  return !device.empty() && is_on("conf/" + device + "/forwarding");
}

std::string ContainerEgress::shortfall() const {
  if (egress_.nft.empty()) {
    return "gang networks have no egress and cannot reach the controller: there is no nft on this "
           "node (on Debian: apt install nftables)";
  }
  if (!can_out_) {
    return "gang networks have no egress and cannot reach the controller: this kernel does not "
           "accept the rules (nft -c -f " +
           egress_.rules + " says why; it needs nf_tables, nf_nat and veth)";
  }
  if (!options_.routes.empty() && !forwards()) {
    return "gang networks have no egress: this node does not forward packets (sysctl -w "
           "net.ipv4.ip_forward=1, and the same in /etc/sysctl.d)";
  }
  return "";
}

std::string ContainerEgress::controller_url() const {
  return can_out_ ? containers::controllers_inside(options_.controllers) : "";
}

std::string ContainerEgress::text() const {
  if (!can_out_) return "";
  containers::Egress now = egress_;
  if (!forwards()) {
    now.routes = containers::routes_to(options_.controllers);
  } else if (!options_.routes.empty()) {
    for (const std::string& one : containers::resolvers_in(resolver())) {
      now.routes.push_back(one + "/32");
    }
  }
  return containers::egress_text(now);
}

std::string ContainerEgress::resolver() const {
  return containers::resolver_text(
      files::text_or_empty("/etc/resolv.conf", kText_bytes),
      files::text_or_empty("/run/systemd/resolve/resolv.conf", kText_bytes));
}

void ContainerEgress::begin(bool any) {
  if (!can_out_) return;
  if (!any) return in_use(false);
  // Networks of a former life: the rules may have changed since.
  child_ = std::make_unique<containers::Child>(
      loop_, std::vector<std::string>{egress_.nft, "-f", egress_.rules}, kChildLimit,
      [](const Result<void>& done) {
        if (done.ok()) return;
        telemetry::log(telemetry::Level::kError, "networks_closed",
                       {{"why", done.error().message}});
      });
}

void ContainerEgress::in_use(bool any) {
  if (!could_out_) return;
  linger_ = any ? wire::Timer() : loop_.after(kLinger, [this] { end(); });
}

std::vector<std::string> ContainerEgress::end_command() const {
  return {options_.contain_path, "end-egress",   egress_.nft,
          egress_.table,         egress_.device, egress_.rules};
}

void ContainerEgress::end() {
  child_ = std::make_unique<containers::Child>(
      loop_, end_command(), kChildLimit, [this](const Result<void>& done) {
        if (done.ok()) return;
        telemetry::log(telemetry::Level::kWarning, "networks_not_removed",
                       {{"table", egress_.table}, {"why", done.error().message}});
      });
}

}  // namespace dove::agent
