// The names of the files that hold a store's entries. A pure function.
#pragma once

#include <string>

namespace halftone {

// "world/3" becomes "key.world%2F3": letters, digits, '-' and '_' stay, every other byte becomes its hexadecimal
// number. So no key leaves the folder, and none has the name of another file in it. Throws INVALID_ARGUMENT for a key
// that is null, or too long for the name of a file.
std::string file_name_of(const char* key);

}  // namespace halftone
