#include "chaos/small_disk.hpp"

#include <sched.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>

namespace drom::chaos {
namespace {
std::string filler(const std::string& folder) { return folder + "/filler"; }
}  // namespace

SmallDisk::SmallDisk(std::string folder) : folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_);
  mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
             ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
             ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=64m") == 0;
}

SmallDisk::~SmallDisk() {
  if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
}

void SmallDisk::fill() const {
  std::ofstream file(filler(folder_), std::ios::binary | std::ios::app);
  const std::string block(4096, 'x');
  while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
}

void SmallDisk::make_room() const { std::filesystem::remove(filler(folder_)); }

}  // namespace drom::chaos
