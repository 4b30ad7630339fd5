#include "devices/kubelet/messages.h"

#include <fmt/format.h>

#include <functional>
#include <limits>
#include <string_view>

namespace dove::devices::kubelet {
namespace {

constexpr unsigned kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;
constexpr std::size_t kItems_max = 65'536;

struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;  // of a number
  std::string_view bytes;   // of a text or message
};

Error malformed() {
  return Error{ErrorKind::kInvalid, "device_plugin",
               "a device plug-in sent bytes that are no message of the protocol v1beta1", ""};
}

bool read_varint(std::string_view& text, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !text.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// Each field in turn.
Result<void> read_fields(std::string_view text,
                         const std::function<Result<void>(const Field&)>& use) {
  for (std::size_t items = 0; !text.empty(); ++items) {
    std::uint64_t tag = 0;
    Field field;
    if (items == kItems_max || !read_varint(text, tag)) return malformed();
    field.number = tag >> 3;
    std::uint64_t size = 0;
    switch (tag & 7) {
      case kVarint:
        if (!read_varint(text, field.value)) return malformed();
        break;
      case kFixed64:
      case kFixed32:
        size = (tag & 7) == kFixed64 ? 8 : 4;
        if (text.size() < size) return malformed();
        text.remove_prefix(size);
        break;
      case kBytes:
        if (!read_varint(text, size) || size > text.size()) return malformed();
        field.bytes = text.substr(0, size);
        text.remove_prefix(size);
        break;
      default:
        return malformed();
    }
    TRY(use(field));
  }
  return {};
}

Result<void> read_pair(std::string_view bytes, std::map<std::string, std::string>& out) {
  std::string key;
  std::string value;
  TRY(read_fields(bytes, [&](const Field& field) -> Result<void> {
    if (field.number == 1) key = field.bytes;
    if (field.number == 2) value = field.bytes;
    return {};
  }));
  out[key] = value;
  return {};
}

Result<ListedDevice> read_device(std::string_view bytes) {
  ListedDevice device;
  TRY(read_fields(bytes, [&](const Field& field) -> Result<void> {
    if (field.number == 1) device.id = field.bytes;
    if (field.number == 2) device.is_healthy = field.bytes == "Healthy";
    if (field.number != 3) return {};
    return read_fields(field.bytes, [&](const Field& node) -> Result<void> {
      if (node.number != 1 || device.numa_node >= 0) return {};
      device.numa_node = 0;  // what is zero is not written
      return read_fields(node.bytes, [&](const Field& id) -> Result<void> {
        if (id.number != 1 || id.value > 1023) return {};
        device.numa_node = static_cast<std::int32_t>(id.value);
        return {};
      });
    });
  }));
  if (device.id.empty() || device.id.size() > 256) return malformed();
  return device;
}

Result<PluginMount> read_mount(std::string_view bytes) {
  PluginMount mount;
  TRY(read_fields(bytes, [&](const Field& field) -> Result<void> {
    if (field.number == 1) mount.container_path = field.bytes;
    if (field.number == 2) mount.host_path = field.bytes;
    if (field.number == 3) mount.read_only = field.value != 0;
    return {};
  }));
  if (!mount.container_path.starts_with('/') || !mount.host_path.starts_with('/')) {
    return malformed();
  }
  return mount;
}

Result<PluginFile> read_file(std::string_view bytes) {
  PluginFile file;
  TRY(read_fields(bytes, [&](const Field& field) -> Result<void> {
    if (field.number == 1) file.container_path = field.bytes;
    if (field.number == 2) file.host_path = field.bytes;
    return {};
  }));
  if (!file.host_path.starts_with('/')) return malformed();
  if (file.container_path.empty()) file.container_path = file.host_path;
  return file;
}

Result<void> read_container(std::string_view bytes, Allocation& out) {
  return read_fields(bytes, [&](const Field& field) -> Result<void> {
    if (field.number == 1) return read_pair(field.bytes, out.environment);
    if (field.number == 4) return read_pair(field.bytes, out.annotations);
    if (field.number == 2) {
      TRY_ASSIGN(PluginMount mount, read_mount(field.bytes));
      out.mounts.push_back(std::move(mount));
    } else if (field.number == 3) {
      TRY_ASSIGN(PluginFile file, read_file(field.bytes));
      out.files.push_back(std::move(file));
    } else if (field.number == 5) {
      return read_fields(field.bytes, [&](const Field& name) -> Result<void> {
        if (name.number == 1) out.cdi_devices.emplace_back(name.bytes);
        return {};
      });
    }
    return {};
  });
}

void write_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void write_text(std::uint64_t number, const std::string& text, std::string& out) {
  write_varint(number << 3 | kBytes, out);
  write_varint(text.size(), out);
  out += text;
}

}  // namespace

Result<RegisterRequest> read_register_request(const std::string& bytes) {
  RegisterRequest request;
  TRY(read_fields(bytes, [&](const Field& field) -> Result<void> {
    if (field.number == 1) request.version = field.bytes;
    if (field.number == 2) request.endpoint = field.bytes;
    if (field.number == 3) request.resource_name = field.bytes;
    return {};
  }));
  return request;
}

Result<PluginOptions> read_plugin_options(const std::string& bytes) {
  PluginOptions options;
  TRY(read_fields(bytes, [&](const Field& field) -> Result<void> {
    if (field.number == 1) options.pre_start_required = field.value != 0;
    return {};
  }));
  return options;
}

Result<std::vector<ListedDevice>> read_device_list(const std::string& bytes) {
  std::vector<ListedDevice> devices;
  TRY(read_fields(bytes, [&](const Field& field) -> Result<void> {
    if (field.number != 1) return {};
    TRY_ASSIGN(ListedDevice device, read_device(field.bytes));
    devices.push_back(std::move(device));
    return {};
  }));
  return devices;
}

std::string pre_start_request(const std::vector<std::string>& ids) {
  std::string bytes;
  for (const std::string& id : ids) write_text(1, id, bytes);
  return bytes;
}

std::string allocate_request(const std::vector<std::string>& ids) {
  std::string bytes;
  write_text(1, pre_start_request(ids), bytes);  // of the same form, for one container
  return bytes;
}

Result<Allocation> read_allocation(const std::string& bytes) {
  Allocation allocation;
  TRY(read_fields(bytes, [&](const Field& field) -> Result<void> {
    if (field.number != 1) return {};
    return read_container(field.bytes, allocation);
  }));
  return allocation;
}

}  // namespace dove::devices::kubelet
