#include "containers/image_list.h"

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

constexpr int kDepth_max = 4;
constexpr int kEntries_max = 4'096;
constexpr std::size_t kIndexBytes_max = std::size_t{1} << 20;
constexpr const char kTagName[] = "org.opencontainers.image.ref.name";
// Any of them makes a directory the root of an image rather than a folder of images.
constexpr std::string_view kRootNames[] = {"bin", "etc", "usr", "lib", "sbin", "proc", "dev"};

class Lister {
 public:
  explicit Lister(std::string root) : root_(std::move(root)) {}

  ImageList run() {
    walk("", 0);
    std::sort(list_.names.begin(), list_.names.end());
    return std::move(list_);
  }

 private:
  void add(std::string name) {
    if (list_.names.size() >= kImagesListed_max || name.size() > kImageName_bytes) {
      list_.is_whole = false;
      return;
    }
    list_.names.push_back(std::move(name));
  }

  // The images below `folder`, which is "" or ends with a slash.
  void walk(const std::string& folder, int depth) {
    std::error_code error;
    for (fs::directory_iterator each(root_ + "/" + folder, error), end; !error && each != end;
         each.increment(error)) {
      if (++entries_ > kEntries_max) {
        list_.is_whole = false;
        return;
      }
      const std::string name = folder + each->path().filename().string();
      if (name.front() == '-') continue;  // no option names it
      std::error_code gone;
      if (each->is_directory(gone)) {
        add_directory(name, depth);
      } else if (name.ends_with(".tar") && each->is_regular_file(gone)) {
        ++certain_;
        add(name);
      }
    }
  }

  void add_directory(const std::string& name, int depth) {
    const std::string path = root_ + "/" + name;
    std::error_code error;
    if (fs::exists(path + "/oci-layout", error)) {
      ++certain_;
      return add_layout(name, path);
    }
    const bool is_root =
        std::any_of(std::begin(kRootNames), std::end(kRootNames), [&](std::string_view each) {
          std::error_code gone;
          return fs::is_directory(path + "/" + std::string(each), gone);
        });
    if (is_root) {
      ++certain_;
      return add(name);
    }
    if (depth + 1 >= kDepth_max) {
      list_.is_whole = false;
      return;
    }
    const int before = certain_;
    walk(name + "/", depth + 1);
    if (certain_ == before) add(name);
  }

  void add_layout(const std::string& name, const std::string& path) {
    std::ifstream file(path + "/index.json", std::ios::binary);
    std::string text(kIndexBytes_max, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    const Result<Json> index = codec::parse_json(text, kIndexBytes_max);
    if (!index.ok() || !index->is_object()) {
      list_.is_whole = list_.is_whole && text.size() < kIndexBytes_max;
      return;
    }
    try {
      const Json manifests = index->value("manifests", Json::array());
      for (const Json& manifest : manifests) {
        const Json notes = manifest.value("annotations", Json::object());
        const std::string tag = notes.value(kTagName, "");
        if (!tag.empty()) {
          add(name + ":" + tag);
        } else if (manifests.size() == 1) {
          add(name + ":*");
        }
      }
    } catch (const Json::exception&) {
      // ImageStore says what is wrong with it to whoever asks for it.
    }
  }

  const std::string root_;
  ImageList list_;
  int entries_ = 0;
  int certain_ = 0;  // images that are nothing else
};

}  // namespace

ImageList list_images(const std::string& directory) { return Lister(directory).run(); }

}  // namespace dove::containers
