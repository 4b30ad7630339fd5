// GateFolder: the files that the gate's Lua writes (deploy/slurm/job_submit.lua).
//
// "poke": something was submitted. "hold.ID", "release.ID": its user held the job, or let it go.
// The folder is root's or SlurmUser's, and nobody else may write there. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "files/descriptor.h"

namespace dove::slurm {

class GateFolder {
 public:
  // It is root's, our own user's or SlurmUser's, who is asked for only then.
  // Errors: kInvalid gate_folder, when it is not there, we cannot write in it or others may; those
  // of `slurm_user`.
  static Result<GateFolder> open(const std::string& path,
                                 const std::function<Result<uid_t>()>& slurm_user);

  // Readable when a file was written since was_poked().
  int poll_fd() const { return watch_.get(); }
  bool was_poked();

  // By job: true: held by its user, false: let go.
  std::map<std::int64_t, bool> holds() const;
  // The word is kept elsewhere, or its job is gone.
  void forget(std::int64_t job, bool held) const;

 private:
  GateFolder(files::Descriptor folder, files::Descriptor watch);

  files::Descriptor folder_;
  files::Descriptor watch_;
};

}  // namespace dove::slurm
