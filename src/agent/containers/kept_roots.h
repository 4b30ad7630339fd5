// The root directories of containers that outlive their tasks: named ones, until their attempt is
// over, and those that are to be written as a squash file, until it is written.
//
// dove-contain mounts them (contain/layers.h). A file beside each names its image and its attempt,
// so that a restarted agent finds those that nothing needs any more. Loop thread only.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "agent/tasks/task.h"
#include "base/result.h"
#include "containers/child.h"
#include "wire/loop.h"

namespace dove::agent {

class KeptRoots {
 public:
  // `contain` is the dove-contain executable.
  KeptRoots(wire::Loop& loop, std::string directory, std::string contain);
  KeptRoots(const KeptRoots&) = delete;
  KeptRoots& operator=(const KeptRoots&) = delete;

  // Where the task's is kept; "": it is not.
  std::string path(const TaskPlan& plan) const;
  // Whether it was mounted.
  bool was_made(const std::string& path) const;
  // Writes down what it is, before it is mounted; again does nothing.
  Result<void> note(const TaskPlan& plan);
  // See Runner::image_of.
  Result<std::string> image_of(const std::string& attempt, const ContainerSpec& container) const;
  void drop(const std::string& path);
  void drop_all(const std::string& attempt);
  // Drops those whose attempts are not on disk any more.
  void sweep();

 private:
  std::string named(const std::string& attempt, const std::string& name) const;

  wire::Loop& loop_;
  const std::string directory_;
  const std::string contain_;
  std::map<std::string, std::unique_ptr<containers::Child>> drops_;  // by path
};

}  // namespace dove::agent
