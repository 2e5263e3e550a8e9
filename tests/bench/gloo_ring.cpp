#include "bench/gloo_ring.h"

#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

namespace halftone {

struct GlooRing::State {
  State(int rank, int size, const std::string& folder) : store(folder), context(rank, size) {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = "127.0.0.1";
    device = gloo::transport::tcp::CreateDevice(attributes);
    context.connectFullMesh(store, device);
  }

  gloo::rendezvous::FileStore store;
  std::shared_ptr<gloo::transport::Device> device;
  gloo::rendezvous::Context context;
};

GlooRing::GlooRing(int rank, int size, const std::string& folder)
    : state_(std::make_unique<State>(rank, size, folder)) {}

GlooRing::~GlooRing() = default;

void GlooRing::sum(float* values, int64_t count) {
  // The context lives as long as this object.
  gloo::AllreduceOptions options(std::shared_ptr<gloo::Context>(std::shared_ptr<void>(), &state_->context));
  options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
  options.setOutput(values, static_cast<size_t>(count));
  options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
  gloo::allreduce(options);
}

}  // namespace halftone
