// What goes into the readers of job files, and what comes out: plain values with their places.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "model/ids.h"
#include "model/time.h"
#include "text/place.h"

namespace dove::jobfiles {

constexpr std::size_t kFileBytesMax = 4 << 20;

using text::at_place;
using text::Place;  // file: as given in Source::name, or "command line", or "environment"
using text::to_text;

// Something accepted that has no effect, or another effect than its author may think.
// code is stable and for machines: "no_effect", "unknown_key", "read_as", "joined", ...
struct Warning {
  Place place;
  std::string code;
  std::string message;
};

// "job.sh:3:9: warning: ...".
std::string to_text(const Warning& warning);

// A file that the original tool would have generated beside the job file, byte for byte.
struct GeneratedFile {
  std::string path;  // relative to the job's directory
  std::string content;
  std::uint32_t mode = 0644;
};

// What the submitting command itself was asked to do: nothing of it is part of the job.
struct Behaviour {
  bool test_only = false;
  bool parsable = false;
  bool wait = false;
  bool quiet = false;
  bool help = false;
  bool usage = false;
  bool version = false;
  int verbose = 0;
};

struct ParsedJob {
  codec::Submission submission;
  std::vector<Warning> warnings;
  std::vector<GeneratedFile> generated;  // tuxiv: what tcloud would have written; else empty
  Behaviour behaviour;
  // tuxiv: bash text that makes and enters the environment, "" for none; exec.script holds it
  // quoted. With DOVE_ENVIRONMENT_CHECK=1 it only says whether the machine can have it.
  std::string environment = {};
  // Options of the command line by their long names; "*" when nothing is in the API's own words.
  std::set<std::string> typed = {};
  // The part of exec.script that is the same in every job of its kind; people need not see it.
  std::string boilerplate = {};
};

enum class Format {
  kAuto,    // by name (tuxiv.conf, tuxiv.config, .yaml, .yml, .json), else by a first line "#!"
  kTuxiv,   // TACC's tuxiv.conf
  kSbatch,  // a script with #SBATCH lines
  kWrap,    // text is a command line for /bin/sh, as of sbatch --wrap
  kNative,  // the API's submission object as YAML or JSON
};

struct Source {
  std::string name;  // for places and for ExecSpec::source_name
  std::string text;
  Format format = Format::kAuto;
  std::vector<std::string> arguments;  // sbatch: what follows the script on the command line
};

// One option as written by somebody: the long name without dashes, and its value ("" for none).
struct Option {
  std::string name;
  std::string value;
  Place place;
};

struct Context {
  std::string user;
  std::string host;              // that the submitter is on; "": not known
  std::string home;              // of the user; tuxiv's conda and environments live below it
  std::string workdir;           // absolute; where the job runs unless the file says otherwise
  std::string physical_workdir;  // the same without links; "": not known
  std::string userdir;  // tuxiv's USERDIR; empty: workdir's parent + "/USERDIR" is not guessed, but
                        // <home>/USERDIR taken
  Instant now;          // for --begin; 0 is refused there
  std::int32_t utc_offset_s = 0;  // local time of the submitter = UTC + this
  // From the command line, names in full or abbreviated; they win over the environment, which wins
  // over the file.
  std::vector<Option> options;
  // The submitter's. SBATCH_* are options (sbatch and wrap only); all others but DOVE_*, SLURM_*
  // go into the job as --export says (sbatch and wrap only; default ALL).
  std::map<std::string, std::string> environment;
  // For --nodefile and --export-file. Absent: those options are refused.
  std::function<Result<std::string>(const std::string& path)> read_file;
  // The job id of an array's element, for dependencies written "ID_INDEX". Absent: refused.
  std::function<Result<JobId>(JobId array, std::int32_t index)> find_element;
};

}  // namespace dove::jobfiles
