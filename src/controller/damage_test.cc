// What random damage does to a controller's data: the controller does not start, and says which
// file and what to do, or it starts with the very state that was written. DOVE_DAMAGES says how
// many (make test-corruption: 2000), DOVE_SEED which.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "controller/controller_fixture.h"
#include "controller/ledger.h"
#include "core/state/hash.h"
#include "policies/standard.h"
#include "store/chain/chain.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::controller {
namespace {

namespace fs = std::filesystem;

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

const std::string kExec = "{\"command\":[\"" + std::string(700, 'x') + "\"]}";

std::string exec_digest() { return store::hex_of(store::Chain().of(kExec)); }

// Jobs come, run and end; snapshots are made on the way, and what is old is forgotten.
void live(const std::string& directory, int jobs, std::uint64_t records_kept,
          const std::string& copy_at_work = "") {
  auto store = store::SqliteStore::open(directory, store::OpenMode::kWrite);
  ASSERT_TRUE(store.ok()) << store.error().message;
  FakeBackend backend;
  ControllerOptions options = test_options(policies::standard_policies());
  options.hash_every_batches = 8;
  options.snapshot_every_records = 40;
  options.records_kept = records_kept;
  Controller controller(**store, **store, backend, options);
  ASSERT_TRUE(controller.open().ok());
  controller.start();
  const NodeId node = controller.state().nodes.empty() ? add_node(controller, "n1", 1) : NodeId(1);
  ASSERT_TRUE(submit_and_wait(controller, NodeConnected{node, "boot"}).ok());
  for (int i = 0; i < jobs; ++i) {
    Input input = submission(small_job());
    auto& submitted = std::get<JobSubmitted>(input.events.front().event);
    JobSpec spec = *submitted.spec;
    spec.exec_digest = exec_digest();
    submitted.spec = std::make_shared<const JobSpec>(std::move(spec));
    input.blobs = {{exec_digest(), kExec}};
    const auto answer = submit_and_wait(controller, std::move(input));
    ASSERT_TRUE(answer.ok());
    if (i % 3 == 0) continue;
    const JobId job = answer->first_job;
    ASSERT_TRUE(submit_and_wait(controller, PlacementStarted{job, 1, node}).ok());
    ASSERT_TRUE(submit_and_wait(controller, PlacementEnded{job, 1, node, {TaskExit{}}, 0, 0}).ok());
  }
  if (!copy_at_work.empty()) fs::copy(directory, copy_at_work);
  controller.stop();
}

constexpr char kRefused[] = "refused";
constexpr char kHealed[] = "healed";

struct Start {
  std::optional<Error> refused;
  std::uint64_t hash = 0;
  Seq head;
  Epoch epoch;
  std::string exec;
};

// As a server does before it says that it is ready, and what it looks at behind that.
Start start(const std::string& directory) {
  Start made;
  const auto run = [&]() -> Result<void> {
    store::SqliteOptions options;
    options.verifies_tail = false;
    TRY_ASSIGN(auto store, store::SqliteStore::open(directory, store::OpenMode::kWrite, options));
    TRY_ASSIGN(made.epoch, store->begin_epoch("test"));
    Ledger ledger(policies::standard_policies());
    TRY(ledger.recover(*store, *store));
    made.hash = core::state_hash(ledger.state());
    made.head = ledger.state().head;
    if (made.epoch < ledger.state().epoch) {
      return Error{ErrorKind::kInternal, "term_back", "a term of before is given again", ""};
    }
    TRY_ASSIGN(const std::optional<std::string> exec, store->blob(exec_digest()));
    if (!exec)
      return Error{ErrorKind::kCorrupt, "blob_damaged", "log.sqlite: a blob is missing", ""};
    made.exec = *exec;
    TRY(store->verify());
    return {};
  };
  const Result<void> done = run();
  if (!done.ok()) made.refused = done.error();
  return made;
}

class Damager {
 public:
  explicit Damager(std::uint64_t seed) : random_(seed) {}

  // Changes one file of the directory, and says how.
  std::string damage(const fs::path& directory, const fs::path& other) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(directory)) {
      if (entry.is_regular_file() && entry.file_size() > 0 && entry.path().filename() != "lock" &&
          !entry.path().string().ends_with("-shm")) {
        files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());
    const fs::path file = files[below(files.size())];
    return change(file, other / file.filename()) + " " + file.filename().string();
  }

 private:
  std::size_t below(std::size_t most) { return random_() % most; }

  std::string change(const fs::path& file, const fs::path& of_another) {
    std::string text = text_of(file);
    const std::size_t at = below(text.size());
    const std::size_t page = at / 4096 * 4096;
    const std::size_t length = std::min<std::size_t>(4096, text.size() - page);
    switch (below(7)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        write_text(file, text);
        return "bit at " + std::to_string(at) + " of";
      case 1:
        text.resize(at);
        write_text(file, text);
        return "cut at " + std::to_string(at) + ":";
      case 2:  // the second half of a page was not written
        text.replace(page + length / 2, length - length / 2,
                     std::string(length - length / 2, '\0'));
        write_text(file, text);
        return "torn page at " + std::to_string(page) + " of";
      case 3:
        text.replace(page, length, std::string(length, '\0'));
        write_text(file, text);
        return "zeros at " + std::to_string(page) + " of";
      case 4: {  // a block of the disk has another one's bytes
        const std::size_t from = below(text.size()) / 4096 * 4096;
        const std::string block = text.substr(from, length);
        text.replace(page, block.size(), block);
        write_text(file, text);
        return "bytes of " + std::to_string(from) + " at " + std::to_string(page) + " of";
      }
      case 5:
        fs::remove(file);
        return "without";
      default:
        if (!fs::exists(of_another)) {
          fs::remove(file);
          return "without";
        }
        fs::copy_file(of_another, file, fs::copy_options::overwrite_existing);
        return "an earlier";
    }
  }

  std::mt19937_64 random_;
};

// The directories of one life: as a stop leaves them, and as a power cut does.
class Damage : public ::testing::Test {
 protected:
  Damage() {
    std::string pattern = (fs::temp_directory_path() / "dove-damage-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    live(data(), 20, 5'000'000);
    fs::copy(data(), root_ / "earlier");
    live(data(), 25, 60, root_ / "running");
    fs::copy(data(), root_ / "stopped");
    whole_ = start(data());
    EXPECT_FALSE(whole_.refused.has_value());
  }
  ~Damage() override { fs::remove_all(root_); }

  std::string data() const { return root_ / "data"; }

  // In a process of its own: a CHECK that fails is damage taken, too.
  std::string verdict(const std::string& directory) const {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const std::string said = judge(start(directory), directory);
      (void)!::write(ends[1], said.data(), said.size());
      ::_exit(0);
    }
    ::close(ends[1]);
    std::string said;
    char text[4096];
    for (ssize_t got = 0; (got = ::read(ends[0], text, sizeof text)) > 0;) {
      said.append(text, static_cast<std::size_t>(got));
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? said : "it crashed: " + said;
  }

  std::string judge(const Start& made, const std::string& directory) const {
    if (made.refused) {
      const std::string& says = made.refused->message;
      const bool names = says.find(directory) != std::string::npos ||
                         says.find("log.sqlite") != std::string::npos ||
                         says.find("record") != std::string::npos;
      return names ? kRefused : "refused without a place: " + made.refused->code + ": " + says;
    }
    if (made.exec != kExec) return "a blob that jobs run is not what it was";
    if (made.head != whole_.head) return "it starts with another end of the log";
    if (made.hash != whole_.hash) return "it starts with another state";
    return made.epoch < whole_.epoch ? "it begins a term again" : kHealed;
  }

  fs::path root_;
  Start whole_;
};

TEST_F(Damage, IsFoundOrHealedAndNeverTaken) {
  const std::uint64_t count = number_of("DOVE_DAMAGES", 60);
  const std::uint64_t seed = number_of("DOVE_SEED", std::random_device()());
  SCOPED_TRACE("DOVE_SEED=" + std::to_string(seed));
  Damager damager(seed);
  int healed = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string copy = root_ / "copy";
    fs::remove_all(copy);
    fs::copy(root_ / (i % 2 == 0 ? "stopped" : "running"), copy);
    const std::string how = damager.damage(copy, root_ / "earlier");
    const std::string said = verdict(copy);
    healed += said == kHealed ? 1 : 0;
    EXPECT_TRUE(said == kHealed || said == kRefused)
        << "damage " << i << ", " << how << ": " << said;
  }
  RecordProperty("seed", std::to_string(seed));
  std::printf("%llu damages, seed %llu: %d healed or harmless, none taken\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(seed),
              healed);
}

}  // namespace
}  // namespace dove::controller
