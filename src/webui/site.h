// Site: the web console's files, which are part of the program.
//
// tools/console builds them and writes the table that built_files() gives; a program that was built
// without it has a page that says how to get the console. Values only, any thread.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "wire/http.h"

namespace dove::webui {

struct File {
  std::string_view path;  // "/assets/app-1a2b3c.js"
  std::string_view type;  // of its content
  std::string_view etag;  // quoted; another one whenever a byte differs
  bool is_hashed;         // its name changes with its bytes
  bool is_gzip;
  std::string_view bytes;
};

// Empty: the program was built without the console.
std::span<const File> built_files();

class Site {
 public:
  // `api`: the first parts of the paths that the API answers ("v1", "healthz").
  Site(std::span<const File> files, std::set<std::string, std::less<>> api)
      : files_(files), api_(std::move(api)) {}

  // The answer to a GET or HEAD of a file, and to that of any other path that is not the API's when
  // a person's browser asks: the console reads the path. None: the request is not for the site.
  std::optional<wire::Response> answer(const wire::Request& request) const;

 private:
  wire::Response page(const wire::Request& request) const;

  std::span<const File> files_;
  std::set<std::string, std::less<>> api_;
};

// The first part of a path: "v1" of "/v1/jobs".
std::string_view first_part(std::string_view path);

}  // namespace dove::webui
