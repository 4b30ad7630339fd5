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
constexpr TextRule kArgumentsRule{1024, TextRule::Kind::kLine};
// A kernel takes 2048 bytes on x86 and arm64, and cuts off the rest: of what the controller adds
// last. That is 300 at most besides the URLs (server/boot/boot_script.h).
constexpr std::size_t kCommandLineMax = 2047;
constexpr std::size_t kOwnArguments = 300;
constexpr std::int64_t kLifetimeMost_s = 3600;

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// A word of a line of the script. iPXE would take "&&" and "||" for the end of its command, and a
// word that begins with "#" for a comment.
bool is_url(std::string_view url, bool is_of_web) {
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos || url.size() == colon + 3) return false;
  const std::string_view scheme = url.substr(0, colon);
  if (is_of_web && scheme != "http" && scheme != "https") return false;
  return !scheme.empty() && scheme.front() != '#' && is_printable(url) &&
         url.find_first_of(" \"'\\|;") == std::string_view::npos;
}

void read_url(JsonFields& fields, const char* field, std::string& url, bool is_of_web) {
  fields.text(field, url, kUrlRule);
  if (url.empty() || is_url(url, is_of_web)) return;
  fields.fail(field, "bad_url",
              fmt::format("is a URL such as {}, without spaces and quotation marks",
                          is_of_web ? "https://10.0.0.1:7717" : "http://10.0.0.2/vmlinuz"));
}

// One, or several with commas between.
void read_controller(JsonFields& fields, std::string& urls) {
  fields.text("controller", urls, kUrlRule);
  if (urls.empty()) return;
  std::string_view rest = urls;
  while (true) {
    const std::size_t comma = rest.find(',');
    if (!is_url(rest.substr(0, comma), /*is_of_web=*/true)) {
      return fields.fail("controller", "bad_url",
                         "is a URL such as https://10.0.0.1:7717, or several with commas "
                         "between, without spaces and quotation marks");
    }
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

// All of IPv4 or of IPv6, however it is written: 2000::/3 has all addresses of IPv6 that are given
// out.
bool holds_everybody(const text::Network& network) {
  constexpr int kBitsBeforeIpv4 = 96;
  constexpr int kBitsOfIpv6Global = 3;
  return network.bits <= kBitsOfIpv6Global ||
         (network.bits <= kBitsBeforeIpv4 && text::network_holds(network, "0.0.0.0"));
}

void check_arguments(JsonFields& fields, const BootConfig& v) {
  const std::string_view arguments = v.arguments;
  const bool ends_command = arguments.find("&&") != std::string_view::npos ||
                            arguments.find("||") != std::string_view::npos ||
                            arguments.find(';') != std::string_view::npos;
  const bool is_comment =
      arguments.starts_with('#') || arguments.find(" #") != std::string_view::npos;
  if (!is_printable(arguments) || ends_command || is_comment) {
    return fields.fail("arguments", "bad_value",
                       "has printable ASCII, without &&, || and ;, which end a command of iPXE, "
                       "and no word that begins with #, which is a comment to iPXE");
  }
  const std::size_t size = arguments.size() + v.controller.size() + v.image.size() + kOwnArguments;
  if (size <= kCommandLineMax) return;
  fields.fail("arguments", "too_long",
              fmt::format("a kernel takes a command line of {} bytes: `arguments`, `controller` "
                          "and `image` have {} together at most",
                          kCommandLineMax, kCommandLineMax - kOwnArguments));
}

void check_networks(JsonFields& fields, const std::vector<std::string>& from) {
  if (from.empty()) {
    return fields.fail("from", "missing_field",
                       "say from which networks machines ask for their token: [10.0.1.0/24]");
  }
  for (const std::string& text : from) {
    const auto network = text::parse_network(text);
    if (network && !holds_everybody(*network)) continue;
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
  read_controller(fields, v.controller);
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
  check_arguments(fields, v);
  check_networks(fields, v.from);
  if (v.token_lifetime < seconds(1) || v.token_lifetime > seconds(kLifetimeMost_s)) {
    fields.fail("token_lifetime", "out_of_range", "is between one second and one hour");
  }
}

}  // namespace dove::codec
