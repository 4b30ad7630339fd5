// The networks of gangs on this node: which attempts need them, and their removal.
//
// A network is described in a file for dove-contain, which makes the network with the first of the
// attempt's containers and keeps it mounted beside that file. It is removed here when nothing needs
// it any more; a later step has the same network made again. Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/attempts/order.h"
#include "base/result.h"
#include "containers/network.h"

namespace dove::agent {

// Errors (kInvalid): machines that VXLAN cannot lead to, or two nodes on one machine.
Result<std::shared_ptr<const containers::Network>> network_of(const LaunchOrder& order,
                                                              const std::string& node);

// A mark as the name of a file.
std::string file_name(std::string mark);

class ContainerNetworks {
 public:
  explicit ContainerNetworks(std::string directory);
  ContainerNetworks(const ContainerNetworks&) = delete;
  ContainerNetworks& operator=(const ContainerNetworks&) = delete;

  std::string path(const std::string& attempt) const;
  bool is_there(const std::string& attempt) const;
  // `egress` is the part about egress.
  Result<void> describe(const std::string& attempt, const containers::Network& network,
                        const std::string& egress);
  // A network stays until it was released as often as it was used. An agent that ends releases
  // nothing: its tasks go on.
  void use(const std::string& attempt);
  void release(const std::string& attempt);
  bool any() const { return !used_.empty(); }
  // Removes those of a former life that nobody needs.
  void sweep(const std::function<bool(const std::string& attempt)>& is_needed);

 private:
  static void remove(const std::string& path);

  const std::string directory_;
  std::map<std::string, int> used_;  // by attempt
};

}  // namespace dove::agent
