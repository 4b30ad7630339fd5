// AppPrograms: the apps that are built in: JupyterLab, code-server, TensorBoard, a Linux desktop.
// `dove notebook` and its like run them, and the console starts them.
//
// Each serves on a Unix socket in the task's own directory, which its user alone may enter: so no
// other user of the node gets in, though the app asks for no password.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dove::apps {

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
  bool wants_logs;       // its first argument is the directory whose logs it shows
  const char* text;
};

const std::vector<AppProgram>& app_programs();

// How a program that is missing ends its task, as a shell has it.
inline constexpr int kNoProgram = 127;

// The task's command: no argument is read by a shell.
std::vector<std::string> app_command(const AppProgram& app, const std::string& program,
                                     const std::vector<std::string>& arguments);
// Which word of it is the program.
std::size_t program_at(const AppProgram& app);

// The job that runs it, as JSON: fields of a submission. `program`: "" for the app's own.
nlohmann::json app_job(const AppProgram& app, const std::string& program,
                       const std::vector<std::string>& arguments);

}  // namespace dove::apps
