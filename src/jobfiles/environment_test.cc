#include "jobfiles/environment.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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
  EXPECT_NE(output.find("dove: environment old: needs python 2.1, and this node has Python 3"),
            std::string::npos)
      << output;
  EXPECT_EQ(output.find("started"), std::string::npos);
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
}

}  // namespace
}  // namespace dove::jobfiles
