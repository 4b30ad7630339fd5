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
// Sources: OCI image specification 1.0 (image-layout.md, config.md); enroot's /etc/environment and
// /etc/rc (github.com/NVIDIA/enroot, doc/image-format.md). Loop thread only.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "containers/child.h"
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
};

class ImageStore {
 public:
  ImageStore(wire::Loop& loop, ImageStoreOptions options);
  ~ImageStore();

  // The image, if it is here; kUnavailable: prepare() it first. Other errors say what is wrong with
  // the name. Counts as a use of it. `reader` reads squash files: "UID:GID:GROUP,…", or "": this
  // process.
  Result<Image> find(const std::string& name, const std::string& reader = "");
  // The words of an image that is here that come before a program; none: it has no entry point.
  Result<std::vector<std::string>> entrypoint(const std::string& name,
                                              const std::string& reader = "");
  // Brings and unpacks what is missing, then calls `done`, perhaps at once. Requests for the same
  // image wait for one another.
  void prepare(const std::string& name, const std::string& reader,
               std::function<void(Result<void>)> done);
  // Removes what nobody used for long, except for the keys in use, and what was left half made.
  void collect(const std::vector<std::string>& in_use);

 private:
  struct Source {
    std::string path;  // of a layout, archive or directory; or the reference of a registry
    std::string tag = "latest";
    enum class Kind { kDirectory, kLayout, kArchive, kRegistry, kSquash } kind = Kind::kDirectory;
  };
  struct Work;

  Result<Source> source_of(const std::string& name) const;
  std::string layout_of(const Source& source) const;
  Result<std::string> digest_of(const Source& source) const;
  std::string unpacked(const std::string& digest) const;
  std::string squash_link(const std::string& path, const std::string& reader) const;
  Result<Image> find_squash(const std::string& path, const std::string& reader) const;
  void unsquash(const std::string& key, const std::string& path, const std::string& reader);
  void bring(const std::string& name, const Source& source);
  void unpack(const std::string& name, const Source& source);
  void finish(const std::string& name, const Result<void>& result);
  void remove(const std::string& path);

  wire::Loop& loop_;
  const ImageStoreOptions options_;
  std::map<std::string, std::unique_ptr<Work>> under_way_;  // by name
  std::map<std::string, std::unique_ptr<Child>> removals_;  // by path
};

}  // namespace dove::containers
