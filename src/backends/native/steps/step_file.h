// StepFile: what StepBook knows, kept in the server's data directory over its restarts.
//
// It has a line of JSON for each step that begins or ends; the last one for a step counts. A step
// is not part of the log: a line that is lost, or cannot be written, costs sacct that step and
// nothing else. Loop thread only.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "backends/native/steps/step_book.h"

namespace dove::backends {

class StepFile {
 public:
  // Reads what `path` holds into `book`, and writes down from then on what `book` says. It must
  // outlive `book`'s last use.
  StepFile(std::string path, StepBook& book);
  StepFile(const StepFile&) = delete;
  StepFile& operator=(const StepFile&) = delete;

 private:
  void restore();
  // Writes the file anew with what the book keeps.
  void compact();
  void add(JobId job, AttemptNumber attempt, const StepRecord& step);

  const std::string path_;
  StepBook& book_;
  std::ofstream file_;
  std::int64_t bytes_ = 0;
  std::int64_t doublings_ = 1;
  bool failed_ = false;  // and said
};

}  // namespace dove::backends
