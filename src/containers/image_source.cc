#include "containers/image_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "codec/json.h"

namespace dove::containers {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char kRegistry[] = "docker://";
constexpr const char kRefName[] = "org.opencontainers.image.ref.name";
constexpr std::size_t kImageJsonBytesMax = std::size_t{8} << 20;
constexpr std::size_t kEnvironmentBytesMax = std::size_t{256} << 10;

bool plain_name(const std::string& name) {
  if (name.empty() || name.front() == '/' || name.front() == '-') return false;
  const fs::path path(name);
  return std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

// A file of an image, which may hold links that lead anywhere; -1: it is none.
int open_inside(const std::string& root, const char* path) {
  const int base = ::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (base < 0) return -1;
  open_how how{};
  how.flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const int fd = static_cast<int>(::syscall(SYS_openat2, base, path, &how, sizeof how));
  ::close(base);
  struct stat facts {};
  if (fd >= 0 && (::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))) {
    ::close(fd);
    return -1;
  }
  return fd;
}

Result<ImageSource> source_in(const std::string& images, const std::string& name) {
  ImageSource source;
  const std::size_t colon = name.rfind(':');
  std::string bare = name;
  if (colon != std::string::npos && name.find('/', colon) == std::string::npos) {
    bare = name.substr(0, colon);
    source.tag = name.substr(colon + 1);
  }
  source.path = images + "/" + bare;
  std::error_code error;
  if (fs::exists(source.path + "/oci-layout", error)) {
    source.kind = ImageSource::Kind::kLayout;
  } else if (fs::is_regular_file(source.path, error) && bare.ends_with(".tar")) {
    source.kind = ImageSource::Kind::kArchive;
  } else if (!fs::is_directory(source.path, error) || source.tag != "latest") {
    return bad_image(
        fmt::format("there is no image {} on this node: {} is neither an OCI layout nor "
                    "a root directory",
                    name, source.path));
  }
  return source;
}

}  // namespace

Error bad_image(const std::string& message) {
  return Error{ErrorKind::kInvalid, "bad_image", message, "image"};
}

Result<Json> read_image_json(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return bad_image(fmt::format("cannot read {}: it is not an OCI layout", path));
  return codec::parse_json(text.str(), kImageJsonBytesMax);
}

std::string image_file_name(std::string text) {
  for (char& c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '.' || c == '-';
    if (!plain) c = '_';
  }
  return text;
}

bool is_listed(const std::string& name) {
  return !name.starts_with('/') && !name.starts_with(kRegistry);
}

Result<ImageSource> source_elsewhere(const std::string& name, bool pulls) {
  if (name.starts_with('/')) return ImageSource{name, "latest", ImageSource::Kind::kSquash};
  if (!pulls) {
    return bad_image(
        fmt::format("{}: this node brings no images from registries; ask for one of "
                    "its own, or let it with --pull",
                    name));
  }
  return ImageSource{name, "latest", ImageSource::Kind::kRegistry};
}

Result<void> check_listed(const std::string& name) {
  if (plain_name(name)) return {};
  return bad_image(
      fmt::format("'{}' names no image: write NAME or NAME:TAG of the node's images, "
                  "docker://HOST/NAME:TAG, or the absolute path of a squash file",
                  name));
}

Result<ImageSeen> look_at(const std::string& images, const std::string& name) {
  ImageSeen seen;
  TRY(check_listed(name));
  TRY_ASSIGN(seen.source, source_in(images, name));
  if (seen.source.kind == ImageSource::Kind::kDirectory) {
    seen.entrypoint = entrypoint_of_root(seen.source.path);
  } else if (seen.source.kind == ImageSource::Kind::kLayout) {
    TRY_ASSIGN(seen.digest, digest_in(seen.source.path, seen.source.tag));
    seen.entrypoint = entrypoint_in(seen.source.path, seen.digest);
  }
  return seen;
}

Result<std::string> digest_in(const std::string& layout, const std::string& tag) {
  TRY_ASSIGN(const Json index, read_image_json(layout + "/index.json"));
  try {
    const Json manifests = index.value("manifests", Json::array());
    for (const Json& manifest : manifests) {
      const Json notes = manifest.value("annotations", Json::object());
      if (notes.value(kRefName, "") != tag && manifests.size() > 1) continue;
      if (notes.contains(kRefName) && notes.value(kRefName, "") != tag) continue;
      return image_file_name(manifest.at("digest").get<std::string>());
    }
  } catch (const Json::exception& e) {
    return bad_image(fmt::format("{}/index.json: {}", layout, e.what()));
  }
  return bad_image(fmt::format("{} has no image with the tag {}", layout, tag));
}

Result<std::vector<std::string>> entrypoint_in(const std::string& layout,
                                               const std::string& digest) {
  try {
    const auto blob = [&](std::string text) {
      std::replace(text.begin(), text.end(), ':', '/');
      std::replace(text.begin(), text.end(), '_', '/');
      return read_image_json(layout + "/blobs/" + text);
    };
    TRY_ASSIGN(const Json manifest, blob(digest));
    TRY_ASSIGN(const Json config, blob(manifest.at("config").at("digest").get<std::string>()));
    const Json words = config.value("config", Json::object()).value("Entrypoint", Json());
    return words.is_array() ? words.get<std::vector<std::string>>() : std::vector<std::string>{};
  } catch (const Json::exception& e) {
    return bad_image(fmt::format("{}: its entry point: {}", layout, e.what()));
  }
}

std::vector<std::string> entrypoint_of_root(const std::string& root) {
  const int fd = open_inside(root, "etc/rc");
  if (fd < 0) return {};
  ::close(fd);
  return {"/bin/sh", "/etc/rc"};
}

std::string environment_file(const std::string& root) {
  const int fd = open_inside(root, "etc/environment");
  if (fd < 0) return "";
  std::string text(kEnvironmentBytesMax, '\0');
  const ssize_t got = ::read(fd, text.data(), text.size());
  ::close(fd);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

}  // namespace dove::containers
