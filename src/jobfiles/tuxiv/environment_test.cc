#include "jobfiles/tuxiv/environment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "jobfiles/words.h"

namespace dove::jobfiles {
namespace {

namespace fs = std::filesystem;

// Runs the environment of dependency lists for real, in a home of its own.
class Environment : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "dove-environment-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    home_ = pattern;
  }
  void TearDown() override { fs::remove_all(home_); }

  static TuxivFile file(std::vector<std::string> dependencies, std::string name = "") {
    TuxivFile result;
    result.environment_name = std::move(name);
    for (std::string& text : dependencies) {
      result.dependencies.push_back(TuxivItem{std::move(text), Place{"tuxiv.conf", 1, 1}, true});
    }
    return result;
  }

  std::string script(const TuxivFile& file) {
    Context context;
    Draft draft;
    draft.context = &context;
    auto text = environment_script(file, home_, draft);
    EXPECT_TRUE(text.ok()) << text.error().message;
    return text.ok() ? *text : "exit 99";
  }

  // Output of both kinds; status_ is the exit code.
  std::string run(const std::string& text) {
    std::ofstream(home_ + "/task.sh") << text;
    std::string command = "timeout 120 env -i PATH=/usr/bin:/bin HOME=" + shell_quoted(home_) +
                          " /bin/bash " + shell_quoted(home_ + "/task.sh") + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    std::string output;
    std::array<char, 4096> buffer;
    while (std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) {
      output.append(buffer.data(), n);
    }
    status_ = WEXITSTATUS(pclose(pipe));
    return output;
  }

  // A conda that writes down what it is asked to do.
  void install_conda() {
    fs::create_directories(home_ + "/.Miniconda3/etc/profile.d");
    std::ofstream(home_ + "/.Miniconda3/etc/profile.d/conda.sh")
        << "conda() { echo \"conda $*\" >> \"$HOME/calls\"; }\n"
           "timeout() { shift; \"$@\"; }\n";
  }
  // A program in ~/.local/bin that writes down how it was called, then does `body`.
  void install(const std::string& name, const std::string& body) {
    fs::create_directories(home_ + "/.local/bin");
    const std::string path = home_ + "/.local/bin/" + name;
    std::ofstream(path) << "#!/bin/bash\necho \"" << name << " $*\" >> \"$HOME/calls\"\n" << body;
    fs::permissions(path, fs::perms::owner_all);
  }
  std::string calls() {
    std::ifstream in(home_ + "/calls");
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  std::string home_;
  int status_ = 0;
};

TEST_F(Environment, NothingAskedIsNothingDone) { EXPECT_EQ(script(file({})), ""); }

TEST_F(Environment, AVenvOfWhatTheSystemHasNeedsNoPip) {
  std::string text = script(file({"python"}, "plain"));
  EXPECT_EQ(
      run(text + "\npython -c 'import sys; print(sys.prefix)' \\\n"),
      home_ + "/.dove/environments/" + "plain-" + text.substr(text.find("env_key=") + 8, 8) + "\n");
  EXPECT_EQ(status_, 0);
  // Made once: the second time nothing is run but activate.
  std::string again = run("PATH=/nowhere:$PATH\n" + text + "\ncommand -v python\n");
  EXPECT_TRUE(again.ends_with("/bin/python\n")) << again;
}

TEST_F(Environment, AMissingPythonIsAClearRefusal) {
  std::string output = run(script(file({"python=2.1"}, "old")) + "\necho started\n");
  EXPECT_EQ(status_, 1);
  EXPECT_TRUE(output.starts_with("dove: environment old: needs python 2.1; ")) << output;
  EXPECT_NE(output.find(" has Python 3"), std::string::npos) << output;
  EXPECT_EQ(output.find("started"), std::string::npos);
  // Only the first task of a node says so, and the check of a submission says the same.
  EXPECT_EQ(run("SLURM_LOCALID=1\n" + script(file({"python=2.1"}, "old"))), "");
  EXPECT_EQ(run("DOVE_ENVIRONMENT_CHECK=1\n" + script(file({"python=2.1"}, "old"))), output);
  EXPECT_EQ(status_, 1);
}

TEST_F(Environment, ACheckMakesNothing) {
  EXPECT_EQ(run("DOVE_ENVIRONMENT_CHECK=1\n" + script(file({"python", "numpy"}, "new"))), "");
  EXPECT_EQ(status_, 0);
  EXPECT_FALSE(fs::exists(home_ + "/.dove"));
}

TEST_F(Environment, UvBringsAPythonThatTheNodeLacks) {
  install("uv",
          "[ \"$1\" = venv ] || exit 0\n"
          "mkdir -p \"$4/bin\"; ln -s /usr/bin/python3 \"$4/bin/python\"\n"
          "echo 'PATH=\"$VIRTUAL:$PATH\"' > \"$4/bin/activate\"\n");
  std::string text = script(file({"python=2.1", "numpy=1.9"}, "old"));
  const std::string check = run("DOVE_ENVIRONMENT_CHECK=1\n" + text);
  EXPECT_EQ(status_, 0) << check;
  const std::string output = run(text + "\n" + text);
  EXPECT_EQ(status_, 0) << output;
  const std::string venv =
      home_ + "/.dove/environments/old-" + text.substr(text.find("env_key=") + 8, 8);
  EXPECT_EQ(calls(), "uv venv --python 2.1 " + venv + "\nuv pip install --python " + venv +
                         "/bin/python -r " + venv + "/requirements.txt\n");
}

TEST_F(Environment, MicromambaMakesItWhereMinicondaIsMissing) {
  install("micromamba",
          "case $1 in create) mkdir -p \"$4\" ;;\n"
          "shell) echo 'micromamba() { echo \"entered $*\"; }' ;; esac\n");
  std::string text = script(file({"python=2.1", "compilers"}, "old"));
  const std::string made =
      home_ + "/.dove/environments/old-" + text.substr(text.find("env_key=") + 8, 8) + ".conda";
  EXPECT_EQ(run(text), "entered activate " + made + "\n");
  EXPECT_EQ(run(text), "entered activate " + made + "\n");
  EXPECT_EQ(calls(), "micromamba create -y -p " + made + " -f " + made +
                         ".yaml\nmicromamba shell hook -s bash\nmicromamba shell hook -s bash\n");
}

TEST_F(Environment, CondaCreatesOncePerList) {
  install_conda();
  std::string text = script(file({"python=3.6.9", "opencv"}, "hello"));
  run(text);
  run(text);
  EXPECT_EQ(status_, 0);
  std::string list = home_ + "/.dove/environments/hello.conda.yaml";
  EXPECT_EQ(calls(), "conda env list\nconda env create -n hello -f " + list +
                         "\nconda activate hello\nconda activate hello\n");
  std::ifstream in(list);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}),
            "name: hello\nchannels:\ndependencies:\n  - opencv\n  - python=3.6.9\n");
}

TEST_F(Environment, ANamedOneWithoutAListIsOnlyEntered) {
  install_conda();
  run(script(file({}, "mine")));
  EXPECT_EQ(calls(), "conda activate mine\n");
}

// What the run prints for the directories of environments that there are.
const char* const kListing = "\ncd ~/.dove/environments && echo *\n";

TEST_F(Environment, AnEleventhEvictsTheOneThatWasUsedLeastRecently) {
  const auto named = [&](int number) {
    return script(file({"python"}, fmt::format("e{}-", number)));
  };
  for (int number = 0; number < 10; ++number) run(named(number));
  run(named(0));  // used again: e1 is now the oldest
  const std::string before = run(kListing);
  EXPECT_NE(before.find("e1--"), std::string::npos) << before;
  run(named(10));
  EXPECT_EQ(status_, 0);
  const std::string after = run(kListing);
  EXPECT_EQ(std::count(after.begin(), after.end(), ' '), 9) << after;
  EXPECT_EQ(after.find("e1--"), std::string::npos) << after;
  for (const char* kept : {"e0--", "e2--", "e10--"}) {
    EXPECT_NE(after.find(kept), std::string::npos) << kept << after;
  }
}

TEST_F(Environment, OneThatATaskIsInIsNotEvicted) {
  const auto named = [&](int number) {
    return script(file({"python"}, fmt::format("e{}-", number)));
  };
  // The first is entered, and the others are made by programs that its task starts.
  std::string text = named(0);
  for (int number = 1; number <= 11; ++number) text += "\n(" + named(number) + "\n) 8<&-";
  const std::string output = run(text + "\npython -c 'import sys; print(sys.prefix)'" + kListing);
  EXPECT_NE(output.find("/e0--"), std::string::npos) << output;
  EXPECT_EQ(output.find(" e1--"), std::string::npos) << output;
  EXPECT_NE(output.find(" e11--"), std::string::npos) << output;
}

TEST_F(Environment, WhereThereAreNoLocksOneThatIsThereIsEntered) {
  const std::string text = script(file({"python"}, "plain"));
  run(text);
  fs::create_directories(home_ + "/broken");
  std::ofstream(home_ + "/broken/flock") << "#!/bin/sh\nexit 71\n";
  fs::permissions(home_ + "/broken/flock", fs::perms::owner_all);
  const std::string output = run("PATH=$HOME/broken:$PATH\n" + text + "\ncommand -v python\n");
  EXPECT_TRUE(output.ends_with("/bin/python\n") && output.starts_with(home_)) << output;
}

TEST_F(Environment, CondaEnvironmentsThatAreNotOursStay) {
  install_conda();
  for (int number = 0; number < 11; ++number)
    run(script(file({"python"}, fmt::format("c{}", number))));
  run(script(file({}, "mine")));
  EXPECT_NE(calls().find("conda env remove -y -n c0\n"), std::string::npos) << calls();
  EXPECT_EQ(calls().find("remove"), calls().rfind("remove")) << calls();
}

TEST_F(Environment, OrderDoesNotMatter) {
  EXPECT_EQ(environment_name(file({"b=1", "a"})), environment_name(file({"a", "b=1"})));
  auto key = [&](const TuxivFile& f) {
    std::string text = script(f);
    return text.substr(text.find("env_key="), 41);
  };
  EXPECT_EQ(key(file({"b=1", "a"})), key(file({"a", "b=1"})));
}

TEST_F(Environment, CondaNamesBecomePips) {
  auto requirements = [&](const std::string& dependency) {
    std::string text = script(file({dependency}, "x"));
    std::size_t from = text.find("env_requirements='") + 18;
    return text.substr(from, text.find('\'', from) - from);
  };
  EXPECT_EQ(requirements("pytorch=1.9.0"), "torch==1.9.0.*\n");
  EXPECT_EQ(requirements("conda-forge::opencv"), "opencv-python\n");
  EXPECT_EQ(requirements("numpy==1.24.2"), "numpy==1.24.2\n");
  EXPECT_EQ(requirements("numpy=1.24=py311_0"), "numpy==1.24.*\n");
  EXPECT_EQ(requirements("numpy 1.24.2"), "numpy==1.24.2\n");
  EXPECT_EQ(requirements("scipy>=1.4,<2"), "scipy>=1.4,<2\n");
  EXPECT_EQ(requirements("tensorflow-gpu=1.15.*"), "tensorflow==1.15.*\n");
  EXPECT_EQ(requirements("cudatoolkit=11.1"), "");
  EXPECT_EQ(requirements("typing_extensions"), "typing_extensions\n");
}

// The index has a stranger's `compilers`, and anybody may take a free name there.
TEST_F(Environment, PipIsOnlyGivenNamesThatAreKnown) {
  Context context;
  Draft draft;
  draft.context = &context;
  auto text = environment_script(
      file({"compilers", "pkg-config", "libjpeg-turbo", "snappy", "no-such-thing=1.0", "scipy"},
           "x"),
      home_, draft);
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("env_requirements='scipy\n'"), std::string::npos);
  ASSERT_EQ(draft.warnings.size(), 5u);
  EXPECT_EQ(to_text(draft.warnings[0]),
            "tuxiv.conf:1:1: warning: compilers has an effect with conda only: without it the node "
            "must have it");
  EXPECT_EQ(draft.warnings[4].message,
            "no-such-thing has an effect with conda only: no Python package is known to be conda's "
            "no-such-thing, so pip is not asked for it; if it is one, name it as an item of `- "
            "pip:`");
}

}  // namespace
}  // namespace dove::jobfiles
