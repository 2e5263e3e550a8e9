#include "halftone/schedule.h"

#include <string>

#include "base/call.h"
#include "core/foreign_function.h"
#include "optim/schedule_handle.h"
#include "scope/callback.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// A caller's function. It runs on the thread that steps or that reads the learning rate.
class CallbackSchedule final : public optim::HostSchedule {
 public:
  CallbackSchedule(htone_schedule_fn callback, void* user) : callback_(callback), user_(user) {}
  ~CallbackSchedule() override {
    if (destroy_) destroy_(user_);
  }

  // From now on this object destroys `user`.
  void own_user(void (*destroy)(void* user)) noexcept { destroy_ = destroy; }

  double factor(int64_t position) const override {
    double factor = NAN;
    const NestedCallback nested;
    const uint64_t errors_before = error_count();
    const htone_status status = callback_(position, &factor, user_);
    if (status != HTONE_OK) {
      const std::string what = "the schedule's callback at position " + std::to_string(position);
      fail_callback(what.c_str(), status, errors_before);
    }
    if (!(factor >= 0.0 && std::isfinite(factor))) {
      fail(Code::kInvalidArgument, "",
           "the schedule's callback gave factor=%g at position %lld, expected a finite number of at least 0", factor,
           static_cast<long long>(position));
    }
    return factor;
  }

 private:
  ForeignFunction<std::remove_pointer_t<htone_schedule_fn>> callback_;
  void* user_;
  ForeignFunction<void(void* user)> destroy_;
};

Ref<ScheduleSettings> cosine_schedule(int64_t total_steps, double final_factor) {
  return make_ref<ScheduleSettings>(
      Schedule{.kind = ScheduleKind::kCosine, .total_steps = total_steps, .final_factor = final_factor});
}

double decay_factor(double gamma) {
  if (!(gamma > 0.0 && gamma <= 1.0)) fail(Code::kInvalidArgument, "gamma", "gamma=%g is outside (0, 1]", gamma);
  return gamma;
}

Ref<ScheduleSettings> step_schedule(int64_t step_size, double gamma) {
  return make_ref<ScheduleSettings>(
      Schedule{.kind = ScheduleKind::kStep, .total_steps = step_size, .final_factor = gamma});
}

Ref<ScheduleSettings> warmup_schedule(int64_t warmup_steps, double start_factor, optim::ScheduleRule rule) {
  if (rule.schedule.warmup_steps > 0) fail(Code::kInvalidArgument, "after", "after begins with a warm-up of its own");
  rule.schedule.warmup_steps = warmup_steps;
  rule.schedule.start_factor = start_factor;
  return make_ref<ScheduleSettings>(rule);
}

int64_t checked_position(int64_t position, ArgumentName name) { return at_least(position, 0, name); }

}  // namespace

htone_status htone_schedule_create_constant(htone_schedule** out) {
  return Call([] { return make_ref<ScheduleSettings>(Schedule{}); }, out);
}

htone_status htone_schedule_create_cosine(int64_t total_steps, double final_factor, htone_schedule** out) {
  return Call(cosine_schedule, as<positive>(total_steps), as<probability>(final_factor), out);
}

htone_status htone_schedule_create_step(int64_t step_size, double gamma, htone_schedule** out) {
  return Call(step_schedule, as<positive>(step_size), as<decay_factor>(gamma), out);
}

htone_status htone_schedule_create_callback(htone_schedule_fn callback, void* user, void (*destroy)(void* user),
                                            htone_schedule** out) {
  return guard([&] {
    if (callback == nullptr) fail(Code::kInvalidArgument, "callback", "callback is NULL");
    require_memory(out, "out");
    const Ref<CallbackSchedule> owner = make_ref<CallbackSchedule>(callback, user);
    give_handle(out, make_ref<ScheduleSettings>(optim::ScheduleRule{{.kind = ScheduleKind::kGiven}, owner}));
    owner->own_user(destroy);
  });
}

htone_status htone_schedule_create_warmup(int64_t warmup_steps, double start_factor, htone_schedule* after,
                                          htone_schedule** out) {
  return Call(warmup_schedule, as<positive>(warmup_steps), as<probability>(start_factor), after, out);
}

htone_status htone_schedule_factor(htone_schedule* schedule, int64_t position, double* out_factor) {
  return Call(&optim::ScheduleRule::factor, schedule, as<checked_position>(position), out_factor);
}
