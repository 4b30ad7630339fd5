#include "containers/image_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "codec/json.h"
#include "telemetry/log.h"

namespace dove::containers {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char kRegistry[] = "docker://";
constexpr const char kTagName[] = "org.opencontainers.image.ref.name";
constexpr const char kPartSuffix[] = ".part";
constexpr std::size_t kJsonBytesMax = std::size_t{8} << 20;

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
                    "or docker://HOST/NAME:TAG",
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

Result<Image> ImageStore::find(const std::string& name) {
  TRY_ASSIGN(const Source source, source_of(name));
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

void ImageStore::prepare(const std::string& name, std::function<void(Result<void>)> done) {
  const Result<Image> found = find(name);
  if (found.ok()) return done({});
  if (found.error().kind != ErrorKind::kUnavailable) return done(found.error());
  std::unique_ptr<Work>& work = under_way_[name];
  const bool begins = work == nullptr;
  if (begins) work = std::make_unique<Work>();
  work->waiting.push_back(std::move(done));
  if (!begins) return;
  const Result<Source> source = source_of(name);
  if (!source.ok()) return finish(name, source.error());
  std::error_code error;
  fs::create_directories(options_.store, error);
  if (source->kind == Source::Kind::kLayout || fs::exists(layout_of(*source), error)) {
    unpack(name, *source);
  } else {
    bring(name, *source);
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
