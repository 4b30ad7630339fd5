// AppPrograms: the apps that `dove notebook`, `dove code` and `dove tensorboard` run in a job.
//
// Each serves on a Unix socket in the task's own directory, which its user alone may enter: so no
// other user of the node gets in, though the app asks for no password.
#pragma once

#include <string>
#include <vector>

namespace dove::cli {

struct AppProgram {
  const char* name;      // of the command, of the job, and of its app
  const char* title;     // for people
  const char* summary;   // of the command
  const char* program;   // that --program replaces
  const char* remedy;    // where it is missing
  const char* operand;   // what its first argument is, for the usage line
  const char* health;    // a path that it answers once it serves
  const char* path;      // where a browser begins
  const char* activity;  // who knows whether it is used (AppSpec)
  bool is_python;        // `text` is for `program -c`; else for a shell, with the program as $1
  const char* text;
};

const std::vector<AppProgram>& app_programs();

// Name of each app's socket in DOVE_SOCKETS.
inline constexpr char kAppSocket[] = "app";
// How a program that is missing ends its task, as a shell has it.
inline constexpr int kNoProgram = 127;

// The task's command: no argument is read by a shell.
std::vector<std::string> app_command(const AppProgram& app, const std::string& program,
                                     const std::vector<std::string>& arguments);

}  // namespace dove::cli
