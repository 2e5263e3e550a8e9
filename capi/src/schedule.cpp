#include "halftone/schedule.h"

#include <cstdio>

#include "arguments.h"
#include "core/foreign_function.h"
#include "guard.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

void require_at_least(int64_t value, int64_t least, const char* argument) {
  if (value < least) {
    fail(Code::kInvalidArgument, argument, "%s=%lld, expected at least %lld", argument, static_cast<long long>(value),
         static_cast<long long>(least));
  }
}

void require_share(double value, const char* argument) {
  if (!(value >= 0.0 && value <= 1.0))
    fail(Code::kInvalidArgument, argument, "%s=%g is outside [0, 1]", argument, value);
}

// The host's function, called on the thread that steps or asks.
class CallbackSchedule final : public optim::HostSchedule {
 public:
  CallbackSchedule(htone_schedule_fn callback, void* user) : callback_(callback), user_(user) {}
  ~CallbackSchedule() override {
    if (destroy_) destroy_(user_);
  }

  // From now on `user` is this object's to destroy.
  void own_user(void (*destroy)(void* user)) noexcept { destroy_ = destroy; }

  double factor(int64_t position) const override {
    double factor = NAN;
    const htone_status status = callback_(position, &factor, user_);
    if (status != HTONE_OK) {
      char message[96];
      std::snprintf(message, sizeof message, "the schedule's callback answered %s at position %lld",
                    htone_status_name(status), static_cast<long long>(position));
      throw Error(Code::kCallback, status, "", message);
    }
    if (!(factor >= 0.0 && std::isfinite(factor))) {
      fail(Code::kInvalidArgument, "", "the schedule's callback gave factor=%g at position %lld, expected %s", factor,
           static_cast<long long>(position), "a finite number of at least 0");
    }
    return factor;
  }

 private:
  ForeignFunction<std::remove_pointer_t<htone_schedule_fn>> callback_;
  void* user_;
  ForeignFunction<void(void* user)> destroy_;
};

}  // namespace

htone_status htone_schedule_create_constant(htone_schedule** out) {
  return guard([&] { wrap(out, make_ref<ScheduleSettings>(Schedule{})); });
}

htone_status htone_schedule_create_cosine(int64_t total_steps, double final_factor, htone_schedule** out) {
  return guard([&] {
    require_at_least(total_steps, 1, "total_steps");
    require_share(final_factor, "final_factor");
    Schedule schedule;
    schedule.kind = ScheduleKind::kCosine;
    schedule.total_steps = total_steps;
    schedule.final_factor = final_factor;
    wrap(out, make_ref<ScheduleSettings>(schedule));
  });
}

htone_status htone_schedule_create_step(int64_t step_size, double gamma, htone_schedule** out) {
  return guard([&] {
    require_at_least(step_size, 1, "step_size");
    if (!(gamma > 0.0 && gamma <= 1.0)) fail(Code::kInvalidArgument, "gamma", "gamma=%g is outside (0, 1]", gamma);
    Schedule schedule;
    schedule.kind = ScheduleKind::kStep;
    schedule.total_steps = step_size;
    schedule.final_factor = gamma;
    wrap(out, make_ref<ScheduleSettings>(schedule));
  });
}

htone_status htone_schedule_create_callback(htone_schedule_fn callback, void* user, void (*destroy)(void* user),
                                            htone_schedule** out) {
  return guard([&] {
    if (callback == nullptr) fail(Code::kInvalidArgument, "callback", "callback is NULL");
    const Ref<CallbackSchedule> host = make_ref<CallbackSchedule>(callback, user);
    wrap(out, make_ref<ScheduleSettings>(optim::ScheduleRule{{.kind = ScheduleKind::kGiven}, host}));
    host->own_user(destroy);
  });
}

htone_status htone_schedule_create_warmup(int64_t warmup_steps, double start_factor, htone_schedule* after,
                                          htone_schedule** out) {
  return guard([&] {
    require_at_least(warmup_steps, 1, "warmup_steps");
    require_share(start_factor, "start_factor");
    optim::ScheduleRule rule = unwrap(after, "after")->rule;
    if (rule.schedule.warmup_steps > 0) fail(Code::kInvalidArgument, "after", "after begins with a warm-up of its own");
    rule.schedule.warmup_steps = warmup_steps;
    rule.schedule.start_factor = start_factor;
    wrap(out, make_ref<ScheduleSettings>(rule));
  });
}

htone_status htone_schedule_factor(htone_schedule* schedule, int64_t position, double* out_factor) {
  return guard([&] {
    const Ref<ScheduleSettings> source = hold(schedule, "schedule");
    require_at_least(position, 0, "position");
    require(out_factor, "out_factor");
    *out_factor = source->rule.factor(position);
  });
}

htone_status htone_schedule_retain(htone_schedule* schedule) {
  return guard([&] { retain_handle(schedule, "schedule"); });
}

htone_status htone_schedule_release(htone_schedule* schedule) {
  return guard([&] { release_handle(schedule, "schedule"); });
}
