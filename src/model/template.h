// Templates: parts of a job that somebody wrote down for others to use.
//
// Declared, as the rest of declared.h. `job` is the JSON object of a submission with some of its
// fields; the server checks it where it is declared, and again in each job that is made of it.
#pragma once

#include <string>
#include <vector>

#include "model/labels.h"

namespace dove {

// A session that people start by its name: what runs, what it needs, how it is reached.
struct App {
  std::string name;
  std::string title;  // for people
  // Who may start it: members of the project, else of the domain; everybody when both are empty.
  std::string domain;
  std::string project;
  std::string job;  // its `app` has a port or a socket
  Labels labels = {};
  bool operator==(const App&) const = default;
};

// What jobs have that do not say otherwise: on the cluster (neither domain nor project), in a
// domain, or in a project. The nearest level wins, except over fields that a wider level has
// locked.
struct Settings {
  std::string name;
  std::string domain;
  std::string project;
  std::string job;
  std::vector<std::string> locked;  // fields of `job`, ascending: nobody below says otherwise
  Labels labels = {};
  bool operator==(const Settings&) const = default;
};

}  // namespace dove
