#include "agent/tasks/task.h"

namespace dove::agent {

void Runner::prepare(const std::string& image, const std::string&,
                     std::function<void(Result<void>)> done) {
  if (image.empty()) return done({});
  done(Error{ErrorKind::kInvalid, "no_containers",
             "this node runs no containers: its agent does not run as root, or is told not to "
             "(--container-runtime)",
             "image"});
}

Result<std::string> Runner::image_of(const std::string&, const ContainerSpec& container) {
  return container.image.empty() ? container.name : container.image;  // prepare() refuses it
}

void Runner::attempt_over(const std::string&) {}

}  // namespace dove::agent
