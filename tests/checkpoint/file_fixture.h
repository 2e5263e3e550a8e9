// A temporary folder for each test, and short functions that fill and read its files.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "room_fixture.h"
#include "temporary_folder.h"

namespace halftone {

class FileTest : public RoomTest {
 protected:
  const std::string& folder() const { return folder_.path(); }
  std::string path(const std::string& name) const { return folder_.path(name); }

  static void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  const TemporaryFolder folder_;
};

}  // namespace halftone
