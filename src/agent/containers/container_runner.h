// ContainerRunner: runs tasks whose job names an image in a container. The others are passed on to
// the runner of plain processes, whose shims run containers too.
//
// One container per task, with a root directory of its own that vanishes with it. dove-contain
// assembles it and the machine's OCI runtime (runc, crun) starts it. The runtime exits once the
// task runs: the task's parent is the shim. Root inside is nobody outside; a task of a mapped Linux
// user runs as that user. When the task has ended its container is deleted before the end is
// reported, so that nothing is left; a named root directory stays until its attempt is over. Loop
// thread only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/aside/side_threads.h"
#include "agent/containers/container_egress.h"
#include "agent/containers/container_network.h"
#include "agent/containers/container_plan.h"
#include "agent/containers/kept_roots.h"
#include "agent/tasks/process_runner.h"
#include "agent/tasks/task.h"
#include "containers/child.h"
#include "containers/image_store.h"
#include "containers/runtime.h"
#include "wire/loop.h"

namespace dove::agent {

struct ContainerRunnerOptions {
  std::string contain_path;                 // the dove-contain executable
  std::string data_dir;                     // below it: containers, images
  std::string python_directory;             // of the package `dove`; "": none
  std::string runtime = "auto";             // "runc", "crun", a path
  std::string images;                       // the administrator's directory of images
  bool pulls = false;                       // from registries too
  std::chrono::hours images_kept{24 * 14};  // that no container has used meanwhile
  std::vector<VolumeRoot> volume_roots;     // volumes must lie in one of these
  std::int64_t scratch_bytes = std::int64_t{4} << 30;
  std::string hostname;
  CdiNames cdi;
  std::vector<std::string> routes;  // of gangs' networks to the world
  std::vector<containers::ControllerPlace> controllers = {};
  std::chrono::milliseconds look_limit{120'000};  // for the directory of images to answer
};

class ContainerRunner : public Runner {
 public:
  // `processes` outlives it.
  ContainerRunner(wire::Loop& loop, ProcessRunner& processes, ContainerRunnerOptions options);
  ~ContainerRunner() override;

  const ContainerEgress& egress() const { return egress_; }

  void prepare(const std::string& image, const std::string& linux_user,
               std::function<void(Result<void>)> done) override;
  Result<std::string> image_of(const std::string& attempt, const ContainerSpec& container) override;
  void attempt_over(const std::string& attempt) override;
  Result<std::unique_ptr<RunningTask>> start(const TaskPlan& plan,
                                             TaskCallbacks callbacks) override;
  Result<std::unique_ptr<RunningTask>> adopt(const TaskPlan& plan,
                                             TaskCallbacks callbacks) override;

 private:
  struct Held;  // a task in a container, until its container has been deleted
  class Task;

  containers::ImageStoreOptions image_options();
  std::string directory_of(const TaskPlan& plan) const;
  bool has_containers(const std::string& attempt) const;
  const Result<containers::Runtime>& runtime();
  std::vector<std::string> enter_command(const TaskPlan& plan, const ContainerIdentity& identity,
                                         const containers::Image& image,
                                         const std::string& log) const;
  Result<void> begin_program(const TaskPlan& plan, const std::string& directory,
                             containers::Bundle& bundle);
  Result<TaskPlan> exec_plan(const TaskPlan& plan, const std::string& directory);
  Result<TaskPlan> launch_plan(const TaskPlan& plan, const std::string& directory);
  TaskCallbacks watch(const std::shared_ptr<Held>& held);
  void ended(const std::shared_ptr<Held>& held, TaskEnd end);
  void save_or_remove(const std::shared_ptr<Held>& held);
  void remove(const std::shared_ptr<Held>& held);
  void removed(const std::shared_ptr<Held>& held, const Result<void>& done);
  void collect_images();
  void use_network(const std::string& attempt);
  void release_network(const std::string& attempt);

  wire::Loop& loop_;
  ProcessRunner& processes_;
  const ContainerRunnerOptions options_;
  SideThreads side_;
  containers::ImageStore images_;
  ContainerNetworks networks_;
  ContainerEgress egress_;
  KeptRoots roots_;
  std::optional<Result<containers::Runtime>> runtime_;
  std::map<std::string, std::shared_ptr<Held>> ending_;  // by directory, while they are deleted
  wire::Timer collect_timer_;
};

}  // namespace dove::agent
