#include "agent/tasks/task.h"

namespace dove::agent {

void Runner::prepare(const std::string& image, std::function<void(Result<void>)> done) {
  if (image.empty()) return done({});
  done(Error{ErrorKind::kInvalid, "no_containers",
             "this node runs no containers: its agent does not run as root, or is told not to "
             "(--container-runtime)",
             "image"});
}

}  // namespace dove::agent
