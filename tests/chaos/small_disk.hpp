// A disk in memory that can be filled to the last byte. Mounting one takes root; it stands in a
// mount namespace of this process, so that it goes with the process, however that ends.
#pragma once

#include <string>

namespace drom::chaos {

class SmallDisk {
 public:
  SmallDisk(std::string folder, size_t megabytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  const std::string& folder() const { return folder_; }
  // Takes away all that is free. False: it cannot.
  bool fill() const;
  void make_room() const;

 private:
  bool resize(const std::string& size) const;
  std::string folder_;
  std::string size_;
  bool mounted_ = false;
};

}  // namespace drom::chaos
