// tuxiv.conf as it is written: its fields with places, and what in it upstream's tool would not
// see.
//
// Upstream (tcloud) drops what has an unexpected type and says nothing. Reading warns about each
// such thing, takes it where its meaning is plain, and marks it, so that the files tcloud generates
// can still be made byte for byte. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "jobfiles/draft.h"
#include "yaml/reader.h"

namespace dove::jobfiles {

struct TuxivItem {
  std::string text;
  Place place;
  bool upstream = true;  // tcloud sees it too
};

struct TuxivFile {
  std::vector<TuxivItem> entrypoint;
  std::string environment_name;  // "" means: named by its dependencies
  Place environment_place;
  std::vector<TuxivItem> channels;
  std::vector<TuxivItem> dependencies;  // conda's names
  std::vector<TuxivItem> pip;           // of a nested `- pip:` list; never upstream
  std::string job_name;
  Place job_name_place;
  std::vector<TuxivItem> general;
  std::vector<TuxivItem> modules;
  std::vector<TuxivItem> env;  // K=V
  std::vector<TuxivItem> datasets;
};

// Warnings go to the draft. Errors: a field of a type that makes no sense, with its place.
Result<TuxivFile> read_tuxiv(const yaml::ValueRef& root, Draft& draft);

}  // namespace dove::jobfiles
