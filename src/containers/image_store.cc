#include "containers/image_store.h"

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
#include "telemetry/log.h"
#include "wire/secret.h"

namespace dove::containers {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char kRegistry[] = "docker://";
constexpr const char kTagName[] = "org.opencontainers.image.ref.name";
constexpr const char kPartSuffix[] = ".part";
constexpr const char kFailed[] = " failed: ";  // between the program and what it said (Child)
constexpr std::size_t kJsonBytesMax = std::size_t{8} << 20;
constexpr std::size_t kEnvironmentBytesMax = std::size_t{256} << 10;
constexpr std::size_t kHashLetters = 32;

Error bad_image(const std::string& message) {
  return Error{ErrorKind::kInvalid, "bad_image", message, "image"};
}

Result<Json> read_json(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return bad_image(fmt::format("cannot read {}: it is not an OCI layout", path));
  return codec::parse_json(text.str(), kJsonBytesMax);
}

bool plain_name(const std::string& name) {
  if (name.empty() || name.front() == '/' || name.front() == '-') return false;
  const fs::path path(name);
  return std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

// "a/b:c" as a name of one file.
std::string file_name(std::string text) {
  for (char& c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '.' || c == '-';
    if (!plain) c = '_';
  }
  return text;
}

// What the image itself says, from the configuration that umoci made of it.
Result<void> read_config(const std::string& path, Image& image) {
  TRY_ASSIGN(const Json config, read_json(path));
  try {
    const Json process = config.value("process", Json::object());
    const std::string workdir = process.value("cwd", "");
    if (!workdir.empty()) image.workdir = workdir;
    for (const Json& entry : process.value("env", Json::array())) {
      const auto text = entry.get<std::string>();
      const std::size_t end = text.find('=');
      if (end != std::string::npos) image.environment[text.substr(0, end)] = text.substr(end + 1);
    }
  } catch (const Json::exception& e) {
    return bad_image(fmt::format("{}: {}", path, e.what()));
  }
  return {};
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

bool has_file(const std::string& root, const char* path) {
  const int fd = open_inside(root, path);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

// enroot keeps what the image sets in lines NAME=value.
std::map<std::string, std::string> squash_environment(const std::string& root) {
  std::map<std::string, std::string> environment;
  const int fd = open_inside(root, "etc/environment");
  if (fd < 0) return environment;
  std::string text(kEnvironmentBytesMax, '\0');
  const ssize_t got = ::read(fd, text.data(), text.size());
  ::close(fd);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == 0 || equals == std::string::npos) continue;
    environment[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return environment;
}

}  // namespace

struct ImageStore::Work {
  std::unique_ptr<Child> child;
  std::vector<std::function<void(Result<void>)>> waiting;
};

ImageStore::ImageStore(wire::Loop& loop, ImageStoreOptions options)
    : loop_(loop), options_(std::move(options)) {}

ImageStore::~ImageStore() = default;

Result<ImageStore::Source> ImageStore::source_of(const std::string& name) const {
  Source source;
  if (name.starts_with('/')) return Source{name, "latest", Source::Kind::kSquash};
  if (name.starts_with(kRegistry)) {
    if (!options_.pulls) {
      return bad_image(
          fmt::format("{}: this node brings no images from registries; ask for one of "
                      "its own, or let it with --pull",
                      name));
    }
    return Source{name, "latest", Source::Kind::kRegistry};
  }
  if (!plain_name(name)) {
    return bad_image(
        fmt::format("'{}' names no image: write NAME or NAME:TAG of the node's images, "
                    "docker://HOST/NAME:TAG, or the absolute path of a squash file",
                    name));
  }
  const std::size_t colon = name.rfind(':');
  std::string bare = name;
  if (colon != std::string::npos && name.find('/', colon) == std::string::npos) {
    bare = name.substr(0, colon);
    source.tag = name.substr(colon + 1);
  }
  source.path = options_.images + "/" + bare;
  std::error_code error;
  if (fs::exists(source.path + "/oci-layout", error)) {
    source.kind = Source::Kind::kLayout;
  } else if (fs::is_regular_file(source.path, error) && bare.ends_with(".tar")) {
    source.kind = Source::Kind::kArchive;
  } else if (!fs::is_directory(source.path, error) || source.tag != "latest") {
    return bad_image(
        fmt::format("there is no image {} on this node: {} is neither an OCI layout nor "
                    "a root directory",
                    name, source.path));
  }
  return source;
}

std::string ImageStore::layout_of(const Source& source) const {
  if (source.kind == Source::Kind::kLayout) return source.path;
  return fmt::format("{}/layout-{}", options_.store, file_name(source.path));
}

Result<std::string> ImageStore::digest_of(const Source& source) const {
  const std::string layout = layout_of(source);
  std::error_code error;
  if (source.kind != Source::Kind::kLayout && !fs::exists(layout, error)) {
    return Error{ErrorKind::kUnavailable, "image", "the image has not been brought yet", ""};
  }
  TRY_ASSIGN(const Json index, read_json(layout + "/index.json"));
  try {
    const Json manifests = index.value("manifests", Json::array());
    for (const Json& manifest : manifests) {
      const Json notes = manifest.value("annotations", Json::object());
      if (notes.value(kTagName, "") != source.tag && manifests.size() > 1) continue;
      if (notes.contains(kTagName) && notes.value(kTagName, "") != source.tag) continue;
      return file_name(manifest.at("digest").get<std::string>());
    }
  } catch (const Json::exception& e) {
    return bad_image(fmt::format("{}/index.json: {}", layout, e.what()));
  }
  return bad_image(fmt::format("{} has no image with the tag {}", layout, source.tag));
}

std::string ImageStore::unpacked(const std::string& digest) const {
  return fmt::format("{}/{}", options_.store, digest);
}

Result<Image> ImageStore::find(const std::string& name, const std::string& reader) {
  TRY_ASSIGN(const Source source, source_of(name));
  if (source.kind == Source::Kind::kSquash) return find_squash(source.path, reader);
  Image image;
  if (source.kind == Source::Kind::kDirectory) {
    image.root = source.path;
    return image;
  }
  TRY_ASSIGN(image.key, digest_of(source));
  const std::string folder = unpacked(image.key);
  image.root = folder + "/rootfs";
  if (::access(image.root.c_str(), F_OK) != 0) {
    return Error{ErrorKind::kUnavailable, "image", "the image has not been unpacked yet", ""};
  }
  TRY(read_config(folder + "/config.json", image));
  ::utimensat(AT_FDCWD, folder.c_str(), nullptr, 0);
  return image;
}

void ImageStore::prepare(const std::string& name, const std::string& reader,
                         std::function<void(Result<void>)> done) {
  const Result<Source> source = source_of(name);
  if (!source.ok()) return done(source.error());
  // Whether the file is as it was, and may be read, is looked at each time.
  const bool is_squash = source->kind == Source::Kind::kSquash;
  if (!is_squash) {
    const Result<Image> found = find(name);
    if (found.ok()) return done({});
    if (found.error().kind != ErrorKind::kUnavailable) return done(found.error());
  }
  const std::string key = is_squash ? squash_link(name, reader) : name;
  std::unique_ptr<Work>& work = under_way_[key];
  const bool begins = work == nullptr;
  if (begins) work = std::make_unique<Work>();
  work->waiting.push_back(std::move(done));
  if (!begins) return;
  std::error_code error;
  fs::create_directories(options_.store, error);
  if (is_squash) return unsquash(key, source->path, reader);
  if (source->kind == Source::Kind::kLayout || fs::exists(layout_of(*source), error)) {
    unpack(name, *source);
  } else {
    bring(name, *source);
  }
}

std::string ImageStore::squash_link(const std::string& path, const std::string& reader) const {
  const std::string uid = reader.substr(0, reader.find(':'));
  return fmt::format("{}/sqsh_{}", options_.store,
                     wire::sha256_hex(uid + "\n" + path).substr(0, kHashLetters));
}

Result<Image> ImageStore::find_squash(const std::string& path, const std::string& reader) const {
  std::error_code error;
  const fs::path target = fs::read_symlink(squash_link(path, reader), error);
  const std::string folder = options_.store + "/" + target.filename().string();
  Image image;
  image.root = folder + "/rootfs";
  if (error || ::access(image.root.c_str(), F_OK) != 0) {
    return Error{ErrorKind::kUnavailable, "image", "the image has not been unpacked yet", ""};
  }
  image.key = target.filename().string();
  image.is_owned = true;
  image.environment = squash_environment(image.root);
  ::utimensat(AT_FDCWD, folder.c_str(), nullptr, 0);
  return image;
}

// As `reader`, who may not be able to read it, or may have written it to deceive its reader.
void ImageStore::unsquash(const std::string& key, const std::string& path,
                          const std::string& reader) {
  under_way_[key]->child = std::make_unique<Child>(
      loop_, std::vector<std::string>{options_.contain, "unsquash", reader, path, key},
      options_.unpack_limit, [this, key, path](const Result<void>& made) {
        if (made.ok()) return finish(key, {});
        const std::string& said = made.error().message;
        const std::size_t why = said.find(kFailed);
        finish(key,
               bad_image(why == std::string::npos ? said : said.substr(why + sizeof kFailed - 1)));
      });
}

Result<std::vector<std::string>> ImageStore::entrypoint(const std::string& name,
                                                        const std::string& reader) {
  TRY_ASSIGN(const Image image, find(name, reader));
  TRY_ASSIGN(const Source source, source_of(name));
  if (source.kind == Source::Kind::kSquash || source.kind == Source::Kind::kDirectory) {
    // enroot's, which changes directory and runs the entry point with what follows.
    if (!has_file(image.root, "etc/rc")) return std::vector<std::string>{};
    return std::vector<std::string>{"/bin/sh", "/etc/rc"};
  }
  const std::string layout = layout_of(source);
  TRY_ASSIGN(const std::string digest, digest_of(source));
  try {
    const auto blob = [&](std::string text) {
      std::replace(text.begin(), text.end(), ':', '/');
      std::replace(text.begin(), text.end(), '_', '/');
      return read_json(layout + "/blobs/" + text);
    };
    TRY_ASSIGN(const Json manifest, blob(digest));
    TRY_ASSIGN(const Json config, blob(manifest.at("config").at("digest").get<std::string>()));
    const Json words = config.value("config", Json::object()).value("Entrypoint", Json());
    return words.is_array() ? words.get<std::vector<std::string>>() : std::vector<std::string>{};
  } catch (const Json::exception& e) {
    return bad_image(fmt::format("{}: its entry point: {}", layout, e.what()));
  }
}

void ImageStore::bring(const std::string& name, const Source& source) {
  const std::string part = layout_of(source) + kPartSuffix;
  std::error_code error;
  fs::remove_all(part, error);
  const std::string from =
      source.kind == Source::Kind::kRegistry ? source.path : "oci-archive:" + source.path;
  under_way_[name]->child = std::make_unique<Child>(
      loop_, std::vector<std::string>{"skopeo", "copy", "--quiet", from, "oci:" + part + ":latest"},
      options_.unpack_limit, [this, name, source, part](const Result<void>& copied) {
        if (!copied.ok()) return finish(name, copied.error());
        std::error_code moved;
        fs::rename(part, layout_of(source), moved);
        unpack(name, source);
      });
}

void ImageStore::unpack(const std::string& name, const Source& source) {
  const Result<std::string> digest = digest_of(source);
  if (!digest.ok()) return finish(name, digest.error());
  const std::string folder = unpacked(*digest);
  if (::access((folder + "/rootfs").c_str(), F_OK) == 0) return finish(name, {});
  const std::string part = folder + kPartSuffix;
  std::error_code error;
  fs::remove_all(part, error);
  under_way_[name]->child = std::make_unique<Child>(
      loop_,
      std::vector<std::string>{"umoci", "unpack", "--image", layout_of(source) + ":" + source.tag,
                               part},
      options_.unpack_limit, [this, name, part, folder](const Result<void>& made) {
        if (!made.ok()) {
          remove(part);
          return finish(name, made.error());
        }
        std::error_code moved;
        fs::permissions(part, fs::perms(0755), moved);
        fs::rename(part, folder, moved);
        // Another name of the same digest may have been quicker.
        if (moved && ::access((folder + "/rootfs").c_str(), F_OK) != 0) {
          return finish(name, bad_image(fmt::format("{}: {}", folder, moved.message())));
        }
        finish(name, {});
      });
}

void ImageStore::finish(const std::string& name, const Result<void>& result) {
  const auto found = under_way_.find(name);
  // Kept until its callers have been told: this may be called from its child.
  const std::unique_ptr<Work> work = std::move(found->second);
  under_way_.erase(found);
  if (!result.ok()) {
    telemetry::log(telemetry::Level::kWarning, "image_not_prepared",
                   {{"image", name}, {"why", result.error().message}});
  }
  for (const auto& done : work->waiting) done(result);
}

void ImageStore::remove(const std::string& path) {
  if (removals_.contains(path)) return;
  removals_[path] = std::make_unique<Child>(
      loop_, std::vector<std::string>{"rm", "-rf", "--one-file-system", "--", path},
      options_.unpack_limit, [this, path](const Result<void>&) {
        const auto found = removals_.find(path);
        const std::unique_ptr<Child> over = std::move(found->second);
        removals_.erase(found);
      });
}

void ImageStore::collect(const std::vector<std::string>& in_use) {
  std::error_code error;
  const auto oldest = fs::file_time_type::clock::now() - options_.keep_for;
  for (const auto& entry : fs::directory_iterator(options_.store, error)) {
    const std::string name = entry.path().filename().string();
    if (std::find(in_use.begin(), in_use.end(), name) != in_use.end()) continue;
    const bool half_made = name.ends_with(kPartSuffix) && under_way_.empty();
    const auto used = fs::last_write_time(entry.path(), error);
    if (!half_made && (error || used > oldest)) continue;
    telemetry::log(telemetry::Level::kInfo, "image_removed", {{"image", name}});
    remove(entry.path().string());
  }
}

}  // namespace dove::containers
