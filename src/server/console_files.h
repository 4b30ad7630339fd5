// ConsoleFiles: the console's files, which anybody may fetch from any controller.
//
// Loop thread only. Include only from .cc files of this part.
#pragma once

#include <span>

#include "listener/route.h"
#include "webui/site.h"

namespace dove::server {

class ConsoleFiles {
 public:
  // What begins as one of the routes does is the API's.
  explicit ConsoleFiles(std::span<const listener::Route> routes);

  // Whether the request was for one of them: then it is answered, as one of those that its address
  // may ask for at a time.
  bool answer(const listener::Desk& desk, const wire::Request& request,
              wire::Responder& responder) const;

 private:
  const webui::Site site_;
};

}  // namespace dove::server
