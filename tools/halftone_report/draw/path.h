// The data of an SVG path in few bytes: relative coordinates in tenths, without zeros and spaces that can be left out.
#pragma once

#include <cmath>
#include <string>

namespace halftone_report {

class Path {
 public:
  void move(double x, double y) { go('m', x, y); }
  void line(double x, double y) { go('l', x, y); }
  // A line to the right or left.
  void across(double x);
  void close() { last_ = '\0', data_ += 'z', x_ = begin_x_, y_ = begin_y_; }

  bool is_empty() const { return data_.empty(); }
  // A <path> with the data.
  std::string element(const std::string& css_class) const;

 private:
  void go(char command, double x, double y);
  void append(char command, long tenths);
  void append(long tenths);

  std::string data_;
  char last_ = '\0';    // the command that the next numbers continue
  long x_ = 0, y_ = 0;  // tenths
  long begin_x_ = 0, begin_y_ = 0;
};

}  // namespace halftone_report
