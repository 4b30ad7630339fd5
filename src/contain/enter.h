// Enter: from a directory that all containers share to a root directory of one, and into its
// runtime.
//
// Everything is mounted below /run/dove, in a mount namespace that only this container's processes
// have: `root`, an overlay of the image (its owners mapped to the container's ids) and a scratch
// file system of limited size; `sys`; and one `bind<N>` per --bind, in their order. A bind's PATH
// is looked up below its ROOT without following any link, so what a task wrote into a volume cannot
// lead out of it. `owned`: what belongs to the directory's owner belongs to root inside. `huge`: no
// bind but a hugetlbfs of pages of ROOT bytes, PATH bytes in all.
#pragma once

namespace dove::contain {

// Does not return unless it failed; what failed is in the log then, as a line of JSON.
int enter(int argc, char** argv);

}  // namespace dove::contain
