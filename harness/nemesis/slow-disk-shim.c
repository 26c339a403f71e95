/*
 * Makes flushes of single replicas slow: LD_PRELOAD of this library, for a cluster of the nemesis only.
 *
 * BARISTA_SLOW_DISKS names the directory of the cluster. While it has a file `r1.slow` with "2000 /log/", each flush of a file whose path has that part within the directory of r1 takes 2,000 ms longer: fsync, fdatasync, and
 * writes to files that were opened with O_DSYNC, as the segment log does it. What was made slow first is told by a file `r1.slowed`. Anything else passes through.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void tell(const char *base)
{
  char path[4200];
  snprintf(path, sizeof path, "%s.slowed", base);
  int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  if (fd >= 0) close(fd);
}

static void delay(int fd)
{
  const char *directory = getenv("BARISTA_SLOW_DISKS");
  if (directory == NULL) return;
  char link[64], path[4096], base[4100], text[64], part[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = 0;
  size_t prefix = strlen(directory);
  if (strncmp(path, directory, prefix) != 0 || path[prefix] != '/') return;
  const char *rest = strchr(path + prefix + 1, '/');
  if (rest == NULL) return;
  snprintf(base, sizeof base, "%.*s", (int)(rest - path), path);
  char control[4200];
  snprintf(control, sizeof control, "%s.slow", base);
  int file = open(control, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  if (got <= 0) return;
  text[got] = 0;
  long ms = 0;
  if (sscanf(text, "%ld %31s", &ms, part) != 2 || strstr(rest, part) == NULL) return;
  tell(base);
  struct timespec left = { ms / 1000, (ms % 1000) * 1000000L };
  while (nanosleep(&left, &left) != 0) {
  }
}

static void delayWrite(int fd)
{
  int flags = fcntl(fd, F_GETFL);
  if (flags >= 0 && (flags & O_DSYNC) != 0) delay(fd);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fsync(int fd)
{
  delay(fd);
  return REAL(fsync)(fd);
}

int fdatasync(int fd)
{
  delay(fd);
  return REAL(fdatasync)(fd);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
  delayWrite(fd);
  return REAL(pwrite)(fd, data, bytes, at);
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at)
{
  delayWrite(fd);
  return REAL(pwrite64)(fd, data, bytes, at);
}

ssize_t pwritev(int fd, const struct iovec *data, int count, off_t at)
{
  delayWrite(fd);
  return REAL(pwritev)(fd, data, count, at);
}

ssize_t pwritev64(int fd, const struct iovec *data, int count, off64_t at)
{
  delayWrite(fd);
  return REAL(pwritev64)(fd, data, count, at);
}
