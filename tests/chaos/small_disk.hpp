// A disk in memory that can be filled to the last byte. Mounting one takes root; it stands in a
// mount namespace of this process, so that it goes with the process, however that ends.
#pragma once

#include <string>

namespace drom::chaos {

class SmallDisk {
 public:
  explicit SmallDisk(std::string folder);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  const std::string& folder() const { return folder_; }
  void fill() const;
  void make_room() const;

 private:
  std::string folder_;
  bool mounted_ = false;
};

}  // namespace drom::chaos
