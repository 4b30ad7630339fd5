// Runs ../programs/NAME, for the NAME by which it is called, with the loader and the libraries of
// ../lib: a program of another Debian among the files of this one. No script can stand for it,
// because slurmctld runs itself by an open file.
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  char self[4096] = "", loader[4200], libraries[8500], program[8500];
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 127;
  char* name = strrchr(self, '/');
  *name++ = '\0';
  const char* root = dirname(self);
  snprintf(loader, sizeof loader, "%s/lib/loader", root);
  snprintf(libraries, sizeof libraries, "%s/lib/slurm-wlm:%s/lib", root, root);
  snprintf(program, sizeof program, "%s/programs/%s", root, name);
  char** words = calloc(argc + 6, sizeof *words);
  if (words == NULL) return 127;
  char* begin[] = {loader, "--library-path", libraries, "--argv0", argv[0], program};
  memcpy(words, begin, sizeof begin);
  for (int i = 1; i < argc; ++i) words[5 + i] = argv[i];
  execv(loader, words);
  perror(loader);
  return 127;
}
