// The options of sbatch that a container takes, by the names that Slurm's plug-in pyxis gave them.
#include <fmt/format.h>

#include <charconv>

#include "jobfiles/container_options.h"
#include "jobfiles/option_setters.h"
#include "jobfiles/words.h"

namespace dove::jobfiles {
namespace {

ContainerSpec& container(Draft& draft) { return draft.submission.exec.container; }

Result<std::int32_t> port_of(const std::string& text) {
  std::int32_t port = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, port);
  if (read.ec != std::errc() || read.ptr != end || port < 1 || port > 65'535) {
    return invalid(fmt::format("\"{}\": write [NODE_PORT:]PORT", shown(text)));
  }
  return port;
}

Result<PublishedPort> published_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  PublishedPort port;
  TRY_ASSIGN(port.port, port_of(colon == std::string::npos ? text : text.substr(colon + 1)));
  TRY_ASSIGN(port.node_port, port_of(text.substr(0, colon)));
  if (port.node_port < 1'024) return invalid("give a port of the node from 1024 on");
  return port;
}

}  // namespace

Result<void> set_container_option(Draft& draft, const Option& option) {
  const ContainerPlace place{draft.context->home, draft.context->workdir};
  std::map<std::string, std::string>& environment = draft.submission.exec.environment;
  if (option.name == "container-image") environment.try_emplace(kContainerEnv);
  if (option.name == "container-env") environment[kContainerEnv] = option.value;
  return set_container(option.name, option.value, place, container(draft));
}

Result<void> set_container_network(Draft& draft, const Option& option) {
  ContainerNetwork& network = container(draft).network;
  if (option.value == "gang") {
    network = ContainerNetwork::kGang;
  } else if (option.value == "host") {
    network = ContainerNetwork::kHost;
  } else if (option.value == "default") {
    network = ContainerNetwork::kDefault;
  } else {
    return invalid("write gang, host or default");
  }
  return {};
}

Result<void> set_container_publish(Draft& draft, const Option& option) {
  container(draft).ports.clear();
  for (std::size_t from = 0; from <= option.value.size();) {
    const std::size_t end = std::min(option.value.find(',', from), option.value.size());
    TRY_ASSIGN(const PublishedPort port, published_of(option.value.substr(from, end - from)));
    container(draft).ports.push_back(port);
    from = end + 1;
  }
  container(draft).network = ContainerNetwork::kGang;
  return {};
}

}  // namespace dove::jobfiles
