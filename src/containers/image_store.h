// ImageStore: the root directories that containers are made from, on this node.
//
// An image is named by what a job says: NAME[:TAG] is an OCI layout, NAME.tar an OCI archive and
// NAME/ a root directory, all in the administrator's directory of images; docker://HOST/NAME:TAG is
// brought by skopeo where that is allowed. umoci unpacks a layout once per digest, into
// `sha256_…/rootfs` of the store. An absolute path is a squash file, as enroot makes them: it is
// read and unpacked as the user who asks for it, into `sqsh_…/rootfs`, for that user alone, again
// whenever it has changed. What no container has used for `keep_for` is removed. A root directory
// is used as it is. Nothing in the store is ever written to by a container.
//
// The administrator's directory may be on a file system that hangs. Only prepare() looks at it, in
// a work that `aside` runs beside the loop; all else uses what was found then.
//
// Sources: OCI image specification 1.0 (image-layout.md, config.md); enroot's /etc/environment and
// /etc/rc (github.com/NVIDIA/enroot, doc/image-format.md). Loop thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "containers/child.h"
#include "containers/image_source.h"
#include "wire/loop.h"

namespace dove::containers {

struct Image {
  std::string root;  // directory
  std::string key;   // "sha256_…", or "" of a root directory
  std::map<std::string, std::string> environment;
  std::string workdir = "/";
  bool is_owned = false;  // its files belong to whoever owns `root`, and mean root's
};

struct ImageStoreOptions {
  std::string images;        // the administrator's directory
  std::string store;         // the agent's own
  bool pulls = false;        // docker:// is allowed
  std::string contain = {};  // the dove-contain executable
  std::chrono::hours keep_for{24 * 14};
  std::chrono::seconds unpack_limit{1'800};
  // Runs `look` beside the loop, then calls `done` from it; with false as soon as `limit` has
  // passed. Unset: looks run at once.
  std::function<void(std::chrono::milliseconds limit, std::function<void()> look,
                     std::function<void(bool in_time)> done)>
      aside = {};
  std::chrono::milliseconds look_limit{120'000};
};

class ImageStore {
 public:
  ImageStore(wire::Loop& loop, ImageStoreOptions options);
  ~ImageStore();

  // The image as prepare() found it; kUnavailable: prepare() it first. Other errors say what is
  // wrong with the name. Counts as a use of it. `reader` reads squash files: "UID:GID:GROUP,…", or
  // "": this process.
  Result<Image> find(const std::string& name, const std::string& reader = "") const;
  // The image that a container was made from, by Image::key, whatever its name means by now; of a
  // root directory without the path.
  Result<Image> held(const std::string& key) const;
  // The words of an image that is here that come before a program; none: it has no entry point.
  Result<std::vector<std::string>> entrypoint(const std::string& name,
                                              const std::string& reader = "") const;
  // Looks at the image, brings and unpacks what is missing, then calls `done`, perhaps at once.
  // Requests for the same image wait for one another. kTimeout: the administrator's directory has
  // not answered.
  void prepare(const std::string& name, const std::string& reader,
               std::function<void(Result<void>)> done);
  // Removes what nobody used for long, except for the keys in use, and what was left half made.
  void collect(const std::vector<std::string>& in_use);

 private:
  struct Known {
    ImageSeen image;
    std::uint64_t look = 0;  // its number
  };
  struct Work;

  Result<ImageSeen> known(const std::string& name) const;
  void keep(const std::string& name, ImageSeen image);
  Error no_answer() const;
  void arrange(const std::string& name, const ImageSource& source, const std::string& reader,
               std::function<void(Result<void>)> done);
  std::string layout_of(const ImageSource& source) const;
  Result<std::string> digest_of(const ImageSeen& seen) const;
  std::string unpacked(const std::string& digest) const;
  std::string squash_link(const std::string& path, const std::string& reader) const;
  Result<Image> find_squash(const std::string& path, const std::string& reader) const;
  void unsquash(const std::string& key, const std::string& path, const std::string& reader);
  void bring(const std::string& name, const ImageSource& source);
  void unpack(const std::string& name, const ImageSource& source);
  void finish(const std::string& name, const Result<void>& result);
  void remove(const std::string& path);

  wire::Loop& loop_;
  const ImageStoreOptions options_;
  std::map<std::string, Known> seen_;  // by name
  std::uint64_t looks_ = 0;
  std::map<std::string, std::unique_ptr<Work>> under_way_;  // by name
  std::map<std::string, std::unique_ptr<Child>> removals_;  // by path
};

}  // namespace dove::containers
