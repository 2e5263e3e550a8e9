#include "draw/path.h"

#include <cstdlib>

namespace halftone_report {

// A number begins with its sign or, after a command, without a space; 0.5 is .5.
void Path::append(long tenths) {
  const char last = data_.back();
  if (tenths >= 0 && (last == '.' || (last >= '0' && last <= '9'))) data_ += ' ';
  if (tenths < 0) data_ += '-';
  const long magnitude = std::labs(tenths);
  if (magnitude >= 10 || magnitude == 0) data_ += std::to_string(magnitude / 10);
  if (magnitude % 10 != 0) data_.append(1, '.').append(1, static_cast<char>('0' + magnitude % 10));
}

void Path::append(char command, long tenths) {
  if (command != last_) data_ += command;
  last_ = command;
  append(tenths);
}

void Path::go(char command, double x, double y) {
  const long to_x = std::lround(x * 10);
  const long to_y = std::lround(y * 10);
  if (command == 'm') last_ = '\0';  // numbers after a move would be lines
  if (command == 'l' && to_y == y_) {
    append('h', to_x - x_);
  } else if (command == 'l' && to_x == x_) {
    append('v', to_y - y_);
  } else {
    append(command, to_x - x_);
    append(to_y - y_);
  }
  if (command == 'm') last_ = 'l', begin_x_ = to_x, begin_y_ = to_y;
  x_ = to_x;
  y_ = to_y;
}

void Path::across(double x) {
  const long to_x = std::lround(x * 10);
  append('h', to_x - x_);
  x_ = to_x;
}

std::string Path::element(const std::string& css_class) const {
  return "<path class=\"" + css_class + "\" d=\"" + data_ + "\"/>";
}

}  // namespace halftone_report
