// Squash files, read and written as the user they are for: `unsquashfs` and `mksquashfs` of
// Debian's squashfs-tools, started with that user's ids. Each is a program of its own, whose exit
// status is 0 or 1 with a line of text; they may take long.
#pragma once

namespace dove::contain {

// unsquash WHO PATH LINK: unpacks PATH into LINK.STAMP/rootfs, where STAMP says which file it was,
// and leads the symbolic link LINK there. Does nothing where it is there already.
int unsquash(char** words);
// save WHO ROOT PATH PART: makes a squash file of the directory ROOT at PATH, by way of PART. All
// files in it are root's, as in those of enroot.
int save(char** words);

}  // namespace dove::contain
