#include "gzip_file.h"

#include <errno.h>
#include <string.h>

#include "failure.h"
#include "regular_file.h"

static const char kExpected[] = "expected a gzip-compressed file";

/* For inflateInit2: the largest window, with a gzip header and trailer around the data. */
enum { kGzipWindowBits = 15 + 16 };

/* Reads the next compressed bytes; if avail_in stays 0, the file has ended. */
static bool refill(gzip_file* gzip) {
  gzip->stream.next_in = gzip->input;
  gzip->stream.avail_in = (uInt)fread(gzip->input, 1, sizeof gzip->input, gzip->file);
  if (!ferror(gzip->file)) return true;
  print_error("%s: %s", gzip->path, strerror(errno));
  return false;
}

/* Decompresses until `size` bytes are available or the file ends. */
static bool unpack(gzip_file* gzip, void* bytes, size_t size, size_t* out_count) {
  z_stream* stream = &gzip->stream;
  stream->next_out = bytes;
  stream->avail_out = (uInt)size;
  while (stream->avail_out > 0 && !gzip->ended) {
    if (stream->avail_in == 0 && !refill(gzip)) return false;
    if (stream->avail_in == 0) break;
    const int code = inflate(stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) {
      print_error("%s: cannot be unpacked: %s", gzip->path, stream->msg == NULL ? zError(code) : stream->msg);
      return false;
    }
    gzip->ended = code == Z_STREAM_END;
  }
  *out_count = size - stream->avail_out;
  return true;
}

bool gzip_file_open(gzip_file* gzip, const char* path) {
  int64_t size;
  if (!regular_file_check("", path, kExpected, &size)) return false;
  memset(gzip, 0, sizeof *gzip);
  gzip->path = path;
  gzip->file = fopen(path, "rb");
  if (gzip->file == NULL) {
    print_error("%s: %s; %s", path, strerror(errno), kExpected);
    return false;
  }
  bool done = refill(gzip);
  if (done && (gzip->stream.avail_in < 2 || gzip->input[0] != 0x1f || gzip->input[1] != 0x8b)) {
    print_error("%s: is not gzip-compressed; %s", path, kExpected);
    done = false;
  }
  if (done && inflateInit2(&gzip->stream, kGzipWindowBits) != Z_OK) {
    print_error("%s: no memory to unpack it", path);
    done = false;
  }
  if (!done) fclose(gzip->file);
  return done;
}

bool gzip_file_read(gzip_file* gzip, void* bytes, size_t size, const char* what) {
  size_t count;
  if (!unpack(gzip, bytes, size, &count)) return false;
  if (count == size) return true;
  print_error("%s: ends after %zu bytes of the %s; expected %zu", gzip->path, count, what, size);
  return false;
}

bool gzip_file_expect_end(gzip_file* gzip) {
  uint8_t extra;
  size_t count;
  if (!unpack(gzip, &extra, 1, &count)) return false;
  if (count == 0 && !gzip->ended) {
    print_error("%s: ends before its checksum", gzip->path);
  } else if (count > 0 || gzip->stream.avail_in > 0 || fgetc(gzip->file) != EOF) {
    print_error("%s: goes on after what its header tells of", gzip->path);
  } else {
    return true;
  }
  return false;
}

void gzip_file_close(gzip_file* gzip) {
  inflateEnd(&gzip->stream);
  fclose(gzip->file);
}
