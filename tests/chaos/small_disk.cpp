#include "chaos/small_disk.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include <filesystem>

namespace drom::chaos {

SmallDisk::SmallDisk(std::string folder, size_t megabytes)
    : folder_(std::move(folder)), size_("size=" + std::to_string(megabytes) + "m") {
  std::filesystem::create_directories(folder_);
  mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
             ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
             ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, size_.c_str()) == 0;
}

SmallDisk::~SmallDisk() {
  if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
}

bool SmallDisk::resize(const std::string& size) const {
  return ::mount(nullptr, folder_.c_str(), nullptr, MS_REMOUNT, size.c_str()) == 0;
}

bool SmallDisk::fill() const {
  // What is written in between makes the disk too large for its new size.
  for (int i = 0; i < 100; ++i) {
    struct statvfs now{};
    if (::statvfs(folder_.c_str(), &now) != 0) return false;
    const unsigned long long used = (now.f_blocks - now.f_bfree) * now.f_frsize;
    if (resize("size=" + std::to_string(used))) return true;
  }
  return false;
}

void SmallDisk::make_room() const { resize(size_); }

}  // namespace drom::chaos
