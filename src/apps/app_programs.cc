#include "apps/app_programs.h"

#include <nlohmann/json.hpp>

#include "apps/desktop_program.h"

namespace dove::apps {
namespace {

// Name of each app's socket in DOVE_SOCKETS.
constexpr char kSocket[] = "app";

constexpr char kNotebook[] = R"sh(
program=$1
shift
if ! command -v "$program" >/dev/null 2>&1; then
  echo "there is no program '$program' on $(hostname 2>/dev/null || echo this node)" >&2
  exit 127
fi
[ "$(id -u)" != 0 ] || set -- --allow-root "$@"
exec "$program" lab --no-browser --ServerApp.sock="$DOVE_SOCKETS/app" --ServerApp.sock_mode=0600 \
  --ServerApp.token= --ServerApp.password= "$@"
)sh";

constexpr char kCode[] = R"sh(
program=$1
shift
if ! command -v "$program" >/dev/null 2>&1; then
  echo "there is no program '$program' on $(hostname 2>/dev/null || echo this node)" >&2
  exit 127
fi
[ $# -gt 0 ] || set -- .
exec "$program" --socket "$DOVE_SOCKETS/app" --socket-mode 600 --auth none --disable-telemetry \
  --disable-update-check "$@"
)sh";

constexpr char kTensorBoard[] = R"py(
import os
import sys

try:
    from tensorboard import program
    from werkzeug import serving
except ImportError as missing:
    print(f"there is no TensorBoard for {sys.executable}: {missing}", file=sys.stderr)
    sys.exit(127)


class Server(program.TensorBoardServer):
    def __init__(self, app, flags):
        self.server = serving.make_server("unix://" + os.environ["DOVE_SOCKETS"] + "/app", 0, app, threaded=True)

    def serve_forever(self):
        self.server.serve_forever()

    def get_url(self):
        return "http://localhost:1/"  # written to a file for others, who want a port

    def print_serving_message(self):
        pass


board = program.TensorBoard(server_class=Server)
# Its fast loader would serve the data on a port of loopback, to every user of the node.
board.configure(argv=["tensorboard", "--load_fast=false", "--logdir", *sys.argv[1:]])
sys.exit(board.main())
)py";

}  // namespace

const std::vector<AppProgram>& app_programs() {
  static const std::vector<AppProgram> kPrograms = {
      {"notebook", "JupyterLab", "Run JupyterLab in a job and forward a port of this machine to it",
       "jupyter",
       "install it where the job runs (pip install jupyterlab), name its file with --program, or "
       "an "
       "image that has it with --image",
       "", "/api", "/lab", "jupyter", false, false, kNotebook},
      {"code", "code-server, an editor",
       "Run code-server, an editor, in a job and forward a port of this machine to it",
       "code-server",
       "install it where the job runs (https://coder.com/docs/code-server/install), name its file "
       "with --program, or an image that has it with --image",
       "[DIRECTORY]", "/healthz", "/", "code_server", false, false, kCode},
      {"tensorboard", "TensorBoard",
       "Run TensorBoard in a job and forward a port of this machine to it", "python3",
       "install it where the job runs (pip install tensorboard), name the Python that has it with "
       "--program, or an image with --image",
       "LOGDIR|JOB", "/", "/", "", true, true, kTensorBoard},
      {"desktop", "Linux desktop",
       "Run a graphical Linux desktop in a job and forward a port of this machine to it", "python3",
       "install what it needs where the job runs (apt-get install python3 novnc "
       "tigervnc-standalone-server openbox xterm), or name an image that has it with --image",
       "[SESSION]", "/activity", "/", "/activity", true, false, kDesktop},
  };
  return kPrograms;
}

std::vector<std::string> app_command(const AppProgram& app, const std::string& program,
                                     const std::vector<std::string>& arguments) {
  std::vector<std::string> command;
  if (app.is_python) {
    command = {program, "-c", app.text};
  } else {
    command = {"/bin/sh", "-c", app.text, app.name, program};
  }
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

std::size_t program_at(const AppProgram& app) { return app.is_python ? 0 : 4; }

nlohmann::json app_job(const AppProgram& app, const std::string& program,
                       const std::vector<std::string>& arguments) {
  return {{"command", app_command(app, program.empty() ? app.program : program, arguments)},
          {"name", app.name},
          {"app",
           {{"name", app.name},
            {"socket", kSocket},
            {"health", app.health},
            {"path", app.path},
            {"activity", app.activity}}}};
}

}  // namespace dove::apps
