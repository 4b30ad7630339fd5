// Session: from a job that serves an app to its URL on this machine. It waits until the job runs
// and says why it does not, waits until the app answers, and forwards a port here to it for as long
// as this command lives.
//
// Include only from .cc files of this part.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/client/endpoint.h"
#include "cli/client/forward_client.h"

namespace dove::cli {

struct SessionWanted {
  std::string command;  // "dove notebook": begins messages
  std::string name;     // of the app
  ForwardTarget target;
  std::string health = "/";
  std::string path = "/";
  std::string remedy;  // where the app's program is missing; "": not known
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;              // of this machine; 0: any that is free
  std::chrono::seconds patience{120};  // from the job's start to the app's answer
  // Where the server has a proxy, its URL is printed and nothing is led to this machine.
  bool takes_proxy = false;
  bool is_new = false;   // the job was submitted for this: an interrupt before it runs cancels it
  bool cancels = false;  // ... and one at any time
};

// Until it is interrupted (128 + signal) or the job has ended; with a proxy until the app answers.
// Errors: the app never answered, or the job ended before: with the last lines of its log.
Result<int> serve_session(const Endpoint& endpoint, const SessionWanted& wanted);

}  // namespace dove::cli
