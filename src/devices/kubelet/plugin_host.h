// PluginHost: vendors' device plug-ins, as the kubelet has them. A plug-in registers at our socket;
// we dial its own, watch its list of devices, and ask it what a task needs that was given some.
//
// A plug-in that goes (its socket, its stream, its process) takes its devices with it until it
// registers again, which plug-ins do when they are restarted or when our socket is made anew. A
// later registration for the same resource takes the former one's place. Every call has a limit.
// GetPreferredAllocation is not asked: which devices a job gets is the ledger's decision.
//
// Source: Kubernetes' device-plug-in API v1beta1. Loop thread only.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "devices/kubelet/grpc_link.h"
#include "devices/kubelet/messages.h"
#include "wire/loop.h"

namespace dove::devices::kubelet {

struct PluginHostOptions {
  std::string directory;  // "/var/lib/kubelet/device-plugins": kubelet.sock and theirs are in it
  std::chrono::milliseconds call_limit{10'000};
};

// The devices of one resource.
struct PluginDevices {
  std::string resource;
  std::vector<ListedDevice> devices;  // as listed last; none while the plug-in is away
};

class PluginHost {
 public:
  // `changed` is called when devices came, went or changed their health.
  PluginHost(wire::Loop& loop, PluginHostOptions options,
             std::function<void(std::vector<PluginDevices>)> changed);
  ~PluginHost();

  // Makes the directory and listens. Fails when a kubelet, or another agent, does so there already.
  Result<void> start();

  // What a task needs that was given these devices of the resource; PreStartContainer is called too
  // where the plug-in wants it. `done` is called once, later.
  void allocate(const std::string& resource, const std::vector<std::string>& ids,
                std::function<void(Result<Allocation>)> done);

 private:
  struct Plugin;  // one registration, with its link
  struct Caller;  // a connection to our socket

  void accept();
  GrpcStatus serve(const std::string& path, const std::string& message);
  GrpcStatus register_plugin(const RegisterRequest& request);
  void dial(const std::shared_ptr<Plugin>& plugin);
  void list(const std::shared_ptr<Plugin>& plugin);
  void listed(const std::shared_ptr<Plugin>& plugin, const std::string& message);
  void lost(const std::shared_ptr<Plugin>& plugin, const std::string& why);
  void tell();
  // One answer within the limit.
  void ask(const std::shared_ptr<Plugin>& plugin, const std::string& method,
           const std::string& message, std::function<void(Result<std::string>)> done);

  wire::Loop& loop_;
  const PluginHostOptions options_;
  std::function<void(std::vector<PluginDevices>)> changed_;
  int listener_ = -1;
  wire::FdWatch listen_watch_;
  std::map<int, std::unique_ptr<Caller>> callers_;
  std::map<std::string, std::shared_ptr<Plugin>> plugins_;  // by resource
};

}  // namespace dove::devices::kubelet
