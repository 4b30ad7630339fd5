#include "server/offer_warnings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>

#include "backends/node_offer.h"
#include "core/state/books.h"
#include "text/hostlist.h"

namespace dove::server {
namespace {

using backends::NodeOffer;

constexpr std::size_t kShown_max = 8;

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool may_have(const Pool& pool, const JobSpec& spec, const core::Node& node) {
  if (node.removed || node.inventory == nullptr || node.contact == Contact::kLost) return false;
  if (!text::any_hostlist_holds(pool.nodes, node.name)) return false;
  if (!spec.nodes_wanted.empty() && !holds(spec.nodes_wanted, node.name)) return false;
  return !holds(spec.nodes_excluded, node.name);
}

// Whether all nodes that the job may have said that they cannot. Ends at the first that can.
bool none_can(const Context& context, const JobSpec& spec,
              const std::function<bool(const NodeOffer&)>& can) {
  const Pool* const pool = core::pool_of(context.state(), spec);
  bool any = false;
  if (pool == nullptr) return false;  // which is refused
  for (const core::Node& node : context.state().nodes) {
    if (!may_have(*pool, spec, node)) continue;
    const NodeOffer* const offer = context.nodes.observed.offer(node.id);
    if (offer == nullptr || can(*offer)) return false;
    any = true;
  }
  return any;
}

// As containers::ImageStore finds it.
bool has_image(const NodeOffer& offer, const std::string& image) {
  if (!offer.has_containers) return false;
  if (!offer.names_all || holds(offer.images, image)) return true;
  const std::size_t colon = image.rfind(':');
  const bool tagged = colon != std::string::npos && image.find('/', colon) == std::string::npos;
  const std::string bare = tagged ? image.substr(0, colon) : image;
  if (holds(offer.images, bare + ":*")) return true;
  if (!tagged) return holds(offer.images, bare + ":latest");
  return image.substr(colon) == ":latest" && holds(offer.images, bare);
}

// "they have debian, torch:2.5 and 3 more".
std::string images_of(const Context& context, const JobSpec& spec) {
  std::set<std::string> names;
  const Pool& pool = *core::pool_of(context.state(), spec);
  for (const core::Node& node : context.state().nodes) {
    if (names.size() > kShown_max || !may_have(pool, spec, node)) continue;
    const NodeOffer* const offer = context.nodes.observed.offer(node.id);
    if (offer == nullptr) continue;
    for (const std::string& name : offer->images) {
      names.insert(name.ends_with(":*") ? name.substr(0, name.size() - 2) : name);
    }
  }
  if (names.empty()) return "they have no images";
  const std::size_t left = names.size() - std::min(names.size(), kShown_max);
  names.erase(std::next(names.begin(), static_cast<std::ptrdiff_t>(names.size() - left)),
              names.end());
  return fmt::format("they have {}{}", fmt::join(names, ", "), left > 0 ? ", and others" : "");
}

std::string image_warning(const Context& context, const JobSpec& spec, const std::string& image) {
  constexpr std::string_view kDocker = "docker://";
  if (image.empty() || image.starts_with('/')) return "";  // a file that its user can read
  const bool is_pulled = image.starts_with(kDocker);
  const bool missing = none_can(context, spec, [&](const NodeOffer& offer) {
    return is_pulled ? offer.pulls : has_image(offer, image);
  });
  if (!missing) return "";
  const std::string pool = "no node of pool " + core::pool_of(context.state(), spec)->name;
  std::string why = fmt::format("{} has the image {} ({})", pool, image, images_of(context, spec));
  const bool contains =
      !none_can(context, spec, [](const NodeOffer& offer) { return offer.has_containers; });
  if (!contains) {
    why = fmt::format("it asks for the image {}, and {} runs containers", image, pool);
  } else if (is_pulled) {
    why = fmt::format("it asks for the image {}, and {} brings images from registries ({})", image,
                      pool, images_of(context, spec));
  }
  return fmt::format("this job cannot start: {}. It fails when its turn comes", why);
}

bool asks_memory(const JobSpec& spec) {
  return std::any_of(spec.groups.begin(), spec.groups.end(), [](const TaskGroup& group) {
    return group.per_task.memory_bytes > 0 || group.per_node.memory_bytes > 0;
  });
}

}  // namespace

std::vector<std::string> offer_warnings(const Context& context, const JobSpec& spec,
                                        const ExecSpec& exec) {
  std::vector<std::string> warnings;
  const std::string image = image_warning(context, spec, exec.container.image);
  if (!image.empty()) warnings.push_back(image);
  if (asks_memory(spec) && exec.container.image.empty() &&
      none_can(context, spec, [](const NodeOffer& offer) { return offer.limits_memory; })) {
    warnings.push_back(fmt::format(
        "memory is reserved but not limited: no node of pool {} keeps a task from taking more than "
        "it asked for (`dove nodes NAME` says why)",
        core::pool_of(context.state(), spec)->name));
  }
  return warnings;
}

}  // namespace dove::server
