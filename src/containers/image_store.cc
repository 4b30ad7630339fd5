#include "containers/image_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "telemetry/log.h"
#include "wire/secret.h"

namespace dove::containers {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char kPartSuffix[] = ".part";
constexpr const char kFailed[] = " failed: ";  // between the program and what it said (Child)
constexpr const char kSquashed[] = "sqsh_";
constexpr std::size_t kHashLetters = 32;
// A layout may take any tag, so names are without bound; one that is dropped is looked at again.
constexpr std::size_t kSeenMax = 4'096;

Error not_here(const char* why) { return Error{ErrorKind::kUnavailable, "image", why, ""}; }

// What the image itself says, from the configuration that umoci made of it.
Result<void> read_config(const std::string& path, Image& image) {
  TRY_ASSIGN(const Json config, read_image_json(path));
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

// enroot keeps what the image sets in lines NAME=value.
std::map<std::string, std::string> squash_environment(const std::string& root) {
  std::map<std::string, std::string> environment;
  std::istringstream lines(environment_file(root));
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

std::string ImageStore::layout_of(const ImageSource& source) const {
  if (source.kind == ImageSource::Kind::kLayout) return source.path;
  return fmt::format("{}/layout-{}", options_.store, image_file_name(source.path));
}

Result<std::string> ImageStore::digest_of(const ImageSeen& seen) const {
  if (!seen.digest.empty()) return seen.digest;
  std::error_code error;
  const std::string layout = layout_of(seen.source);
  if (!fs::exists(layout, error)) return not_here("the image has not been brought yet");
  return digest_in(layout, seen.source.tag);
}

std::string ImageStore::unpacked(const std::string& digest) const {
  return fmt::format("{}/{}", options_.store, digest);
}

// Without a look at the administrator's directory.
Result<ImageSeen> ImageStore::known(const std::string& name) const {
  if (!is_listed(name)) {
    ImageSeen other;
    TRY_ASSIGN(other.source, source_elsewhere(name, options_.pulls));
    return other;
  }
  TRY(check_listed(name));
  const auto found = seen_.find(name);
  if (found == seen_.end()) return not_here("the image has not been looked at yet");
  return found->second.image;
}

Result<Image> ImageStore::find(const std::string& name, const std::string& reader) const {
  TRY_ASSIGN(const ImageSeen seen, known(name));
  if (seen.source.kind == ImageSource::Kind::kSquash) return find_squash(seen.source.path, reader);
  if (seen.source.kind == ImageSource::Kind::kDirectory) {
    Image image;
    image.root = seen.source.path;
    return image;
  }
  TRY_ASSIGN(const std::string digest, digest_of(seen));
  return held(digest);
}

Result<Image> ImageStore::held(const std::string& key) const {
  Image image;
  if (key.empty()) return image;
  const std::string folder = unpacked(key);
  image.key = key;
  image.root = folder + "/rootfs";
  if (::access(image.root.c_str(), F_OK) != 0) {
    return not_here("the image has not been unpacked yet");
  }
  image.is_owned = key.starts_with(kSquashed);
  if (image.is_owned) {
    image.environment = squash_environment(image.root);
  } else {
    TRY(read_config(folder + "/config.json", image));
  }
  ::utimensat(AT_FDCWD, folder.c_str(), nullptr, 0);
  return image;
}

void ImageStore::prepare(const std::string& name, const std::string& reader,
                         std::function<void(Result<void>)> done) {
  if (!is_listed(name)) {
    const Result<ImageSource> source = source_elsewhere(name, options_.pulls);
    return source.ok() ? arrange(name, *source, reader, std::move(done)) : done(source.error());
  }
  const auto found =
      std::make_shared<Result<ImageSeen>>(not_here("the image has not been looked at yet"));
  const auto look = [found, images = options_.images, name] { *found = look_at(images, name); };
  const auto looked = [this, found, name, reader, done = std::move(done)](bool in_time) {
    if (!in_time) return done(no_answer());
    if (!found->ok()) return done(found->error());
    const ImageSource source = (*found)->source;
    keep(name, std::move(**found));
    arrange(name, source, reader, done);
  };
  if (options_.aside) return options_.aside(options_.look_limit, look, looked);
  look();
  looked(true);
}

Error ImageStore::no_answer() const {
  return Error{ErrorKind::kTimeout, "no_answer",
               fmt::format("the directory of images, {}, has not answered within {} s; look at its "
                           "mount (findmnt -T {})",
                           options_.images, options_.look_limit.count() / 1000, options_.images),
               ""};
}

void ImageStore::keep(const std::string& name, ImageSeen image) {
  seen_.insert_or_assign(name, Known{std::move(image), ++looks_});
  if (seen_.size() <= kSeenMax) return;
  seen_.erase(std::min_element(seen_.begin(), seen_.end(), [](const auto& a, const auto& b) {
    return a.second.look < b.second.look;
  }));
}

// Whether a squash file is as it was, and may be read, is looked at each time.
void ImageStore::arrange(const std::string& name, const ImageSource& source,
                         const std::string& reader, std::function<void(Result<void>)> done) {
  const bool is_squash = source.kind == ImageSource::Kind::kSquash;
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
  if (is_squash) return unsquash(key, source.path, reader);
  if (source.kind == ImageSource::Kind::kLayout || fs::exists(layout_of(source), error)) {
    unpack(name, source);
  } else {
    bring(name, source);
  }
}

std::string ImageStore::squash_link(const std::string& path, const std::string& reader) const {
  const std::string uid = reader.substr(0, reader.find(':'));
  return fmt::format("{}/{}{}", options_.store, kSquashed,
                     wire::sha256_hex(uid + "\n" + path).substr(0, kHashLetters));
}

Result<Image> ImageStore::find_squash(const std::string& path, const std::string& reader) const {
  std::error_code error;
  const fs::path target = fs::read_symlink(squash_link(path, reader), error);
  if (error) return not_here("the image has not been unpacked yet");
  return held(target.filename().string());
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
                                                        const std::string& reader) const {
  TRY_ASSIGN(const ImageSeen seen, known(name));
  switch (seen.source.kind) {
    case ImageSource::Kind::kDirectory:
    case ImageSource::Kind::kLayout:
      return seen.entrypoint;
    case ImageSource::Kind::kSquash: {
      TRY_ASSIGN(const Image image, find(name, reader));
      return entrypoint_of_root(image.root);
    }
    case ImageSource::Kind::kArchive:
    case ImageSource::Kind::kRegistry:
      break;
  }
  TRY_ASSIGN(const std::string digest, digest_of(seen));
  return entrypoint_in(layout_of(seen.source), digest);
}

void ImageStore::bring(const std::string& name, const ImageSource& source) {
  const std::string part = layout_of(source) + kPartSuffix;
  std::error_code error;
  fs::remove_all(part, error);
  const std::string from =
      source.kind == ImageSource::Kind::kRegistry ? source.path : "oci-archive:" + source.path;
  under_way_[name]->child = std::make_unique<Child>(
      loop_, std::vector<std::string>{"skopeo", "copy", "--quiet", from, "oci:" + part + ":latest"},
      options_.unpack_limit, [this, name, source, part](const Result<void>& copied) {
        if (!copied.ok()) return finish(name, copied.error());
        std::error_code moved;
        fs::rename(part, layout_of(source), moved);
        unpack(name, source);
      });
}

void ImageStore::unpack(const std::string& name, const ImageSource& source) {
  const Result<ImageSeen> seen = known(name);
  const Result<std::string> digest = seen.ok() ? digest_of(*seen) : seen.error();
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
