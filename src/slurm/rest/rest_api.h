// RestApi: what is asked of a slurmrestd, in the newest version that both speak (rest_version.h).
//
// It asks which those are before its first call, and again when a path is gone. v0.0.38 (Slurm
// 22.05) can cancel a job and change its limit, its comment, its hold and its priority. It has no
// administrator's comment, no list of nodes, no suspension, no requeue, no signal for a batch
// script alone and no node's state, and makes no allocation that runs nothing: these are the
// commands' alone, whatever newer versions can. Changes take a token of root or SlurmUser. Calls
// block, as those of CommandCluster do. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "slurm/rest/rest_version.h"

namespace dove::slurm {

// Where a slurmrestd listens.
struct RestPlace {
  std::string url;
  std::string socket;  // a path; "": it is reached by the URL
};

// "unix:/run/slurmrestd.sock", "http://head:6820", "https://head:6820". Errors: kInvalid.
Result<RestPlace> read_rest_place(const std::string& text);

// An answer of slurmrestd.
struct RestAnswer {
  int status = 0;
  std::string body;
};

struct RestRequest {
  std::string method = "GET";
  std::string target;
  std::string body = {};  // JSON; "": none
};

class RestApi {
 public:
  using Call = std::function<Result<RestAnswer>(const RestRequest& request)>;
  // `call`: one call of slurmrestd; its errors mean that no answer came.
  explicit RestApi(Call call);

  // "nodes", "jobs" or "reservations".
  Result<std::string> get(const char* what) const;

  // As scancel: first SIGTERM, after KillWait SIGKILL. Success too when it had ended.
  Result<void> cancel(std::int64_t job) const;
  // Counted from its start; 0: none.
  Result<void> set_limit(std::int64_t job, std::int64_t limit_minutes) const;
  Result<void> set_comment(std::int64_t job, const std::string& text) const;
  // Lifts its hold, and then gives it that priority.
  Result<void> release(std::int64_t job, std::int64_t priority) const;

 private:
  Result<const RestVersion*> version() const;
  // An answer that is no refusal.
  Result<RestAnswer> call(const RestRequest& request) const;
  // `target` of the request: below the version.
  Result<RestAnswer> ask(RestRequest request) const;
  Result<void> change(std::int64_t job, const char* field, const nlohmann::json& value) const;

  const Call call_;
  mutable const RestVersion* version_ = nullptr;  // none: slurmrestd is to be asked
};

}  // namespace dove::slurm
