// BootConfigs as JSON, and what their fields may hold.
#include <fmt/format.h>

#include <algorithm>

#include "codec/json_parts.h"
#include "model/job_fields.h"
#include "text/network.h"

namespace dove::codec {
namespace {

constexpr std::size_t kNetworksMax = 256;
constexpr TextRule kUrlRule{1024, TextRule::Kind::kLine};
// A kernel takes 2048 bytes on every architecture; the controller's own arguments follow.
constexpr TextRule kArgumentsRule{1024, TextRule::Kind::kLine};
constexpr std::int64_t kLifetimeMost_s = 3600;

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// A word of a line of the script. iPXE would take "&&" and "||" for the end of its command.
void read_url(JsonFields& fields, const char* field, std::string& url, bool secure_or_plain) {
  fields.text(field, url, kUrlRule);
  if (url.empty()) return;
  const std::size_t colon = url.find("://");
  const std::string_view scheme = std::string_view(url).substr(0, colon);
  const bool is_web = scheme == "http" || scheme == "https";
  if (colon == std::string::npos || url.size() == colon + 3 ||
      (secure_or_plain ? !is_web : scheme.empty()) || !is_printable(url) ||
      url.find_first_of(" \"'\\|;") != std::string::npos) {
    fields.fail(field, "bad_url",
                fmt::format("is a URL such as {}, without spaces and quotation marks",
                            secure_or_plain ? "https://10.0.0.1:7717" : "http://10.0.0.2/vmlinuz"));
  }
}

void check_networks(JsonFields& fields, const std::vector<std::string>& from) {
  if (from.empty()) {
    return fields.fail("from", "missing_field",
                       "say from which networks machines ask for their token: [10.0.1.0/24]");
  }
  for (const std::string& text : from) {
    const auto network = text::parse_network(text);
    // A prefix of no bits, of either family.
    const bool is_all = network && (text == "0.0.0.0/0" || network->bits == 0);
    if (network && !is_all) continue;
    return fields.fail("from", "bad_network",
                       fmt::format("\"{}\" is no network such as 10.0.1.0/24, and not everybody "
                                   "may ask",
                                   text));
  }
}

}  // namespace

Json write(const BootConfig& v) {
  Json object{{"name", v.name},
              {"nodes", v.nodes},
              {"controller", v.controller},
              {"kernel", v.kernel},
              {"initrd", v.initrd},
              {"arguments", v.arguments},
              {"image", v.image},
              {"image_sha256", v.image_sha256},
              {"from", v.from},
              {"from_root", v.from_root},
              {"secret_sha256", v.secret_sha256}};
  put_span(object, "token_lifetime", v.token_lifetime);
  return object;
}

void read(JsonFields& fields, BootConfig& v) {
  fields.texts("nodes", v.nodes, {1024, TextRule::Kind::kName}, kNodesListedMax);
  read_url(fields, "controller", v.controller, true);
  read_url(fields, "kernel", v.kernel, false);
  read_url(fields, "initrd", v.initrd, false);
  read_url(fields, "image", v.image, true);
  fields.text("image_sha256", v.image_sha256, {64, TextRule::Kind::kSha256});
  fields.text("arguments", v.arguments, kArgumentsRule);
  fields.texts("from", v.from, kNameRule, kNetworksMax);
  fields.boolean("from_root", v.from_root);
  fields.text("secret_sha256", v.secret_sha256, {64, TextRule::Kind::kSha256});
  fields.span("token_lifetime", v.token_lifetime);
  if (v.nodes.empty()) {
    return fields.fail("nodes", "missing_field", "say which nodes: [\"gpu-[001-004]\"]");
  }
  if (v.controller.empty()) {
    return fields.fail("controller", "missing_field",
                       "say at which URL the machines reach the controller: https://10.0.0.1:7717");
  }
  if (v.kernel.empty()) return fields.fail("kernel", "missing_field", "say where the kernel is");
  if (v.image.empty() != v.image_sha256.empty()) {
    return fields.fail("image_sha256", "missing_field",
                       "an image has a digest by which the machine checks it: give both or none");
  }
  const std::string_view arguments = v.arguments;
  const bool ends_command = arguments.find("&&") != std::string_view::npos ||
                            arguments.find("||") != std::string_view::npos ||
                            arguments.find(';') != std::string_view::npos;
  if (!is_printable(arguments) || ends_command) {
    return fields.fail("arguments", "bad_value",
                       "has printable ASCII, without &&, || and ;, which end a command of iPXE");
  }
  check_networks(fields, v.from);
  if (v.token_lifetime < seconds(1) || v.token_lifetime > seconds(kLifetimeMost_s)) {
    fields.fail("token_lifetime", "out_of_range", "is between one second and one hour");
  }
}

}  // namespace dove::codec
