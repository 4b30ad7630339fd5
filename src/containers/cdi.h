// Cdi: what vendors say has to be done to a container so that their devices work in it.
//
// Specifications are files (JSON or YAML) in directories; a device is named
// "vendor.com/class=name". A later directory's word on a device takes the place of an earlier
// one's; two files of one directory that name the same device are an error for whoever asks for it.
// What this program cannot do for a container is refused, never left out.
//
// Source: Container Device Interface specification 0.8.0 (SPEC.md). Values; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace dove::containers {

struct CdiMount {
  std::string source;  // of the machine
  std::string target;  // inside
  bool writable = false;
};

struct CdiHook {
  std::string when;  // "createContainer" and the like, of the OCI runtime specification
  std::string path;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::int64_t timeout_s = 0;  // 0: none
};

// Done to a container, in the order in which they are written.
struct CdiEdits {
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> devices;  // paths, the same outside and inside
  std::vector<CdiMount> mounts;
  std::vector<CdiHook> hooks;
  std::vector<std::uint32_t> groups;
  void add(const CdiEdits& more);
};

// One file.
struct CdiSpec {
  std::string kind;  // "nvidia.com/gpu"
  CdiEdits all;      // for whichever device
  std::map<std::string, CdiEdits> devices;
};

// `name` is used in messages. Errors name the line, what is wrong there and what to do. At most 8
// MiB.
Result<CdiSpec> parse_cdi_spec(const std::string& text, const std::string& name);

class CdiRegistry {
 public:
  // Reads the *.json, *.yaml and *.yml of each directory; one that is not there is empty.
  static CdiRegistry read(const std::vector<std::string>& directories);

  // Files that say nothing because they are malformed.
  const std::vector<Error>& errors() const { return errors_; }
  // Whether any file is of this kind.
  bool has_kind(const std::string& kind) const;
  // The name of the device of this kind that has `name`, or else that brings the device file `file`
  // with the fewest others; "": there is none.
  std::string find(const std::string& kind, const std::string& name, const std::string& file) const;
  // The edits for devices given by their full names; edits for all devices of a kind come once.
  // Errors: a device is unknown, or two files of a directory name it.
  Result<CdiEdits> edits(const std::vector<std::string>& names) const;

 private:
  struct Known {
    std::size_t file = 0;  // into files_
    std::size_t directory = 0;
    std::string conflict;  // the other file
  };
  struct File {
    std::string path;
    CdiSpec spec;
  };
  std::vector<File> files_;
  std::map<std::string, Known> devices_;  // by full name
  std::vector<Error> errors_;
};

}  // namespace dove::containers
