// JobWatch: learns, on a loop, that a job no longer runs.
//
// Include only from .cc files of this part.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/client/task_link.h"
#include "wire/async_client.h"
#include "wire/loop.h"

namespace dove::cli {

class JobWatch {
 public:
  // `over`: called once, with a sentence, when no attempt of the job goes on.
  JobWatch(wire::Loop& loop, const TaskLink& link, std::string job,
           std::function<void(const std::string& how)> over);

  // Asks again for as long as the server cannot be reached.
  void begin();

 private:
  void hear(std::string_view line);

  wire::Loop& loop_;
  const TaskLink link_;
  const std::string job_;
  const std::function<void(const std::string&)> over_;
  wire::AsyncClient client_;
  std::unique_ptr<wire::InStream> stream_;
  int status_ = 0;
  wire::Timer again_;
};

}  // namespace dove::cli
