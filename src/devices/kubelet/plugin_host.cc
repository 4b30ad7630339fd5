#include "devices/kubelet/plugin_host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "telemetry/log.h"

namespace dove::devices::kubelet {
namespace {

constexpr const char kVersion[] = "v1beta1";
constexpr const char kRegister[] = "/v1beta1.Registration/Register";
constexpr const char kService[] = "/v1beta1.DevicePlugin/";
constexpr const char kSocket[] = "kubelet.sock";
constexpr int kWaiting_max = 64;
constexpr int kDials_max = 20;
constexpr std::chrono::milliseconds kDialAgain{250};
constexpr std::size_t kCallers_max = 64;
constexpr std::size_t kPlugins_max = 64;

std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// A socket that is connected to `path`; -1 and errno.
int connect_to(const std::string& path) {
  const std::optional<sockaddr_un> address = address_of(path);
  if (!address) {
    errno = ENAMETOOLONG;
    return -1;
  }
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  // Local sockets connect at once, or not at all.
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0) return fd;
  const int reason = errno;
  ::close(fd);
  errno = reason;
  return -1;
}

bool is_resource_name(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos || slash == 0 || name.size() > 253) return false;
  if (slash + 1 == name.size() || name.find('/', slash + 1) != std::string::npos) return false;
  for (const char c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain && c != '/' && c != '.' && c != '-' && c != '_') return false;
  }
  return true;
}

Error failed(const std::string& resource, const std::string& why) {
  return Error{ErrorKind::kUnavailable, "device_plugin",
               fmt::format("the device plug-in of {}: {}", resource, why), resource};
}

}  // namespace

struct PluginHost::Plugin {
  std::string resource;
  std::string path;
  std::unique_ptr<GrpcLink> link;
  PluginOptions options;
  std::vector<ListedDevice> devices;
  bool is_lost = false;
  int dials = 0;
  wire::Timer dial_again;
};

struct PluginHost::Caller {
  std::unique_ptr<GrpcLink> link;
};

PluginHost::PluginHost(wire::Loop& loop, PluginHostOptions options,
                       std::function<void(std::vector<PluginDevices>)> changed)
    : loop_(loop), options_(std::move(options)), changed_(std::move(changed)) {}

PluginHost::~PluginHost() {
  listen_watch_.cancel();
  for (const auto& [resource, plugin] : plugins_) plugin->link.reset();
  if (listener_ < 0) return;
  ::close(listener_);
  ::unlink((options_.directory + "/" + kSocket).c_str());
}

Result<void> PluginHost::start() {
  const std::string path = options_.directory + "/" + kSocket;
  const auto wrong = [&](const std::string& why) {
    return Error{ErrorKind::kInvalid, "device_plugins",
                 fmt::format("{}: {}; give another directory with --device-plugins", path, why),
                 path};
  };
  std::error_code error;
  std::filesystem::create_directories(options_.directory, error);
  if (error) return wrong(error.message());
  if (const int other = connect_to(path); other >= 0) {
    ::close(other);
    return wrong("a kubelet or another agent listens there");
  }
  const std::optional<sockaddr_un> address = address_of(path);
  if (!address) return wrong("the path is too long for a socket");
  ::unlink(path.c_str());
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0 ||
      ::bind(listener_, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(listener_, kWaiting_max) != 0) {
    return wrong(std::strerror(errno));
  }
  listen_watch_ = loop_.watch_readable(listener_, [this] { accept(); });
  return {};
}

void PluginHost::accept() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (callers_.size() >= kCallers_max) {
    ::close(fd);
    return;
  }
  auto caller = std::make_unique<Caller>();
  caller->link = GrpcLink::server(
      loop_, fd,
      [this](const std::string& path, const std::string& message, std::string*) {
        return serve(path, message);
      },
      [this, fd] { callers_.erase(fd); });
  callers_[fd] = std::move(caller);
}

GrpcStatus PluginHost::serve(const std::string& path, const std::string& message) {
  if (path != kRegister) return {kGrpcUnimplemented, "there is only " + std::string(kRegister)};
  const Result<RegisterRequest> request = read_register_request(message);
  if (!request.ok()) return {kGrpcInvalidArgument, request.error().message};
  return register_plugin(*request);  // the answer, Empty, has no bytes
}

GrpcStatus PluginHost::register_plugin(const RegisterRequest& request) {
  if (request.version != kVersion) {
    return {kGrpcInvalidArgument, "version " + request.version + " is not spoken here; v1beta1 is"};
  }
  if (!is_resource_name(request.resource_name)) {
    return {kGrpcInvalidArgument, "the resource's name is not of the form vendor.com/name"};
  }
  if (request.endpoint.empty() || request.endpoint == kSocket ||
      request.endpoint.find('/') != std::string::npos) {
    return {kGrpcInvalidArgument, "the endpoint is the name of a socket beside this one"};
  }
  if (plugins_.size() >= kPlugins_max && plugins_.count(request.resource_name) == 0) {
    return {kGrpcInvalidArgument, "there are too many plug-ins here"};
  }
  telemetry::log(telemetry::Level::kInfo, "device_plugin",
                 {{"resource", request.resource_name}, {"endpoint", request.endpoint}});
  auto plugin = std::make_shared<Plugin>();
  plugin->resource = request.resource_name;
  plugin->path = options_.directory + "/" + request.endpoint;
  if (const auto former = plugins_.find(plugin->resource); former != plugins_.end()) {
    former->second->is_lost = true;
    plugin->devices = former->second->devices;  // until it lists its own, as it is about to
  }
  plugins_[plugin->resource] = plugin;
  loop_.post([this, weak = std::weak_ptr<Plugin>(plugin)] {
    if (const auto known = weak.lock()) dial(known);
  });
  return {};
}

void PluginHost::dial(const std::shared_ptr<Plugin>& plugin) {
  if (plugin->is_lost) return;
  const int fd = connect_to(plugin->path);
  if (fd < 0 && ++plugin->dials < kDials_max) {  // it may listen only after it has registered
    const std::weak_ptr<Plugin> weak = plugin;
    plugin->dial_again = loop_.after(kDialAgain, [this, weak] {
      if (const auto known = weak.lock()) dial(known);
    });
    return;
  }
  if (fd < 0) return lost(plugin, plugin->path + ": " + std::strerror(errno));
  plugin->link = GrpcLink::client(loop_, fd);
  ask(plugin, "GetDevicePluginOptions", "", [this, plugin](const Result<std::string>& answer) {
    if (!answer.ok()) return lost(plugin, answer.error().message);
    const Result<PluginOptions> options = read_plugin_options(*answer);
    if (!options.ok()) return lost(plugin, options.error().message);
    plugin->options = *options;
    list(plugin);
  });
}

void PluginHost::list(const std::shared_ptr<Plugin>& plugin) {
  if (plugin->is_lost) return;
  const std::weak_ptr<Plugin> weak = plugin;
  plugin->link->call(std::string(kService) + "ListAndWatch", "",
                     {[this, weak](const std::string& message) {
                        if (const auto known = weak.lock()) listed(known, message);
                      },
                      [this, weak](const GrpcStatus& status) {
                        if (const auto known = weak.lock()) lost(known, status.message);
                      }});
}

void PluginHost::listed(const std::shared_ptr<Plugin>& plugin, const std::string& message) {
  if (plugin->is_lost) return;
  Result<std::vector<ListedDevice>> devices = read_device_list(message);
  if (!devices.ok()) return lost(plugin, devices.error().message);
  plugin->devices = std::move(devices).value();
  tell();
}

// Its place stays, without devices: it may register again.
void PluginHost::lost(const std::shared_ptr<Plugin>& plugin, const std::string& why) {
  if (plugin->is_lost) return;
  plugin->is_lost = true;
  telemetry::log(telemetry::Level::kWarning, "device_plugin_lost",
                 {{"resource", plugin->resource}, {"why", why}});
  plugin->devices.clear();
  tell();
}

void PluginHost::tell() {
  std::vector<PluginDevices> all;
  for (const auto& [resource, plugin] : plugins_) all.push_back({resource, plugin->devices});
  changed_(std::move(all));
}

void PluginHost::ask(const std::shared_ptr<Plugin>& plugin, const std::string& method,
                     const std::string& message, std::function<void(Result<std::string>)> done) {
  struct Asked {
    std::function<void(Result<std::string>)> done;
    std::string answer;
    wire::Timer limit;
    void end(const Result<std::string>& result) {
      limit.cancel();
      if (const auto told = std::exchange(done, nullptr)) told(result);
    }
  };
  auto asked = std::make_shared<Asked>();
  asked->done = std::move(done);
  const std::string resource = plugin->resource;
  const std::weak_ptr<Asked> weak = asked;
  asked->limit = loop_.after(options_.call_limit, [weak, resource, method] {
    if (const auto late = weak.lock()) {
      late->end(failed(resource, method + " is not answered in time; restart the plug-in"));
    }
  });
  plugin->link->call(
      kService + method, message,
      {[asked](const std::string& answer) { asked->answer = answer; },
       [asked, resource, method](const GrpcStatus& status) {
         if (status.code == kGrpcOk) return asked->end(asked->answer);
         asked->end(failed(resource, fmt::format("{} failed with status {}: {}", method,
                                                 status.code, status.message)));
       }});
}

void PluginHost::allocate(const std::string& resource, const std::vector<std::string>& ids,
                          std::function<void(Result<Allocation>)> done) {
  const auto found = plugins_.find(resource);
  if (found == plugins_.end() || found->second->is_lost || found->second->link == nullptr) {
    loop_.post([resource, done = std::move(done)] {
      done(failed(resource, "it is away; restart it, and see its own log"));
    });
    return;
  }
  const std::shared_ptr<Plugin> plugin = found->second;
  ask(plugin, "Allocate", allocate_request(ids),
      [this, plugin, ids, done = std::move(done)](const Result<std::string>& answer) {
        if (!answer.ok()) return done(answer.error());
        Result<Allocation> allocation = read_allocation(*answer);
        if (!allocation.ok() || !plugin->options.pre_start_required) return done(allocation);
        ask(plugin, "PreStartContainer", pre_start_request(ids),
            [done, allocation](const Result<std::string>& started) {
              if (!started.ok()) return done(started.error());
              done(allocation);
            });
      });
}

}  // namespace dove::devices::kubelet
