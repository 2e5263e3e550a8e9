// Tests of a kernel that make the same call on the CPU and on the CUDA device, and compare all tensors. Used from one
// thread.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "cuda_device.h"
#include "device_copies.h"
#include "room_fixture.h"
#include "tolerance.h"

namespace halftone {

class BothDevicesTest : public RoomTest {
 protected:
  // Gets the views in the order of the tensors.
  using Call = std::function<Status(const Kernels&, Stream&, const std::vector<View>&)>;

  // Each call gets copies of the tensors. `growth` as in is_close.
  void expect_same_on_both(const std::vector<HostTensor>& tensors, const Call& call, double growth) {
    std::vector<HostTensor> here = tensors, there = tensors;
    std::vector<View> views_here, views_there;
    for (const HostTensor& tensor : here) views_here.push_back(tensor.view());
    ASSERT_TRUE(call(device().device->kernels(), device().device->stream(), views_here).ok());
    DeviceCopies copies(*cuda_device(context()).device);
    for (const HostTensor& tensor : there) views_there.push_back(copies.send(tensor));
    const int64_t waits = cuda_waits();
    ASSERT_TRUE(call(copies.kernels(), copies.stream(), views_there).ok());
    EXPECT_EQ(cuda_waits(), waits);
    ASSERT_TRUE(copies.fetch().ok());
    for (size_t t = 0; t < here.size(); ++t) {
      EXPECT_TRUE(there[t].guards_hold()) << "tensor " << t;
      for (int64_t i = 0; i < here[t].numel(); ++i) {
        ASSERT_TRUE(is_close(there[t].get(i), here[t].get(i), here[t].view().dtype, growth))
            << "tensor " << t << " element " << i << ": " << there[t].get(i) << ", not " << here[t].get(i);
      }
    }
  }

  static HostTensor filled(DType dtype, const Shape& shape, const Shape& strides, double low = -1, double high = 1) {
    HostTensor tensor(dtype, shape, strides);
    tensor.fill_uniform(low, high, static_cast<uint32_t>(tensor.numel()));
    return tensor;
  }
  static HostTensor filled(DType dtype, const Shape& shape, double low = -1, double high = 1) {
    return filled(dtype, shape, contiguous_strides(shape), low, high);
  }
};

}  // namespace halftone
